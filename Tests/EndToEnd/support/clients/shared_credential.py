# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The credential `work` in one or several services: makes it, forgets it, and sends requests with it."""

from credential_process import LONG


def make(service, server, grant="refresh", tokens=None, **more):
    params = {
        "name": "work", "grant": grant, "clientId": server.client, "tokenUrl": server.url("/token"), "persist": "disk",
        "issuer": server.issuer, "scope": "read", "origins": [server.url("/")], **more,
    }
    if tokens:
        params["token"] = {"accessToken": tokens["access_token"], "refreshToken": tokens["refresh_token"]}
    reply = service.call("oauth.create", **params)
    assert "result" in reply, reply


def forget(service):
    assert "result" in service.call("oauth.delete", credential="work")


def start_request(service, server):
    return service.start("data.send", url=server.url("/api"), auth={"oauth": "work"}, timeout=LONG)


def sent(service, server):
    return service.reply(start_request(service, server))["result"]


def origins(service):
    return service.call("oauth.get", credential="work")["result"]["origins"]


def shown(server):
    """What its API was shown."""
    return [one.authorization for one in server.audit if one.path == "/api"]
