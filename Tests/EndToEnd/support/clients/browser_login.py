# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Logs in through a connection to the service, as a person with a browser does."""

import http.client
import socket
from urllib.parse import urlsplit

from request_client import result


def create(wire, server, grant="authorizationCode", **more):
    params = {"name": "work", "issuer": server.issuer, "clientId": server.client, "grant": grant, "scope": "read"}
    if server.secret:
        params["clientSecret"] = server.secret
    return result(wire.call("oauth.create", {**params, **more}))["credential"]


def begin(wire, **more):
    return result(wire.call("oauth.login", {"credential": "work", **more}))


def wait(wire, seconds=10):
    return result(wire.call("oauth.wait", {"credential": "work", "timeout": seconds}, seconds + 5))


def token(wire):
    return result(wire.call("oauth.token", {"credential": "work"}))["accessToken"]


def fetched(url, method="GET", **fields):
    """What a browser gets: the response, and its body."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    try:
        connection.request(method, parts.path + ("?" + parts.query if parts.query else ""), headers=fields)
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


def approved(server, url):
    """Where the server sends the browser of a person who says yes, or no."""
    assert url.startswith(server.url("/authorize"))
    return fetched(url)[0].getheader("Location")


def is_closed(url):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlsplit(url).port)) != 0
