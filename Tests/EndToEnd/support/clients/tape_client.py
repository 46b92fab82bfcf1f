# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cassettes of a session, over the wire."""

import json

import contract
import har
from request_client import result


def start(wire, path, **params):
    return result(wire.call("replay.start", {"path": path, **params}))


def stop(wire, **params):
    return result(wire.call("replay.stop", params))


def entries(path):
    with open(path) as file:
        archive = json.load(file)
    assert not list(har.faults(archive)), list(har.faults(archive))
    return archive["log"]["entries"]


def fresh():
    """A service of its own."""
    return contract.Wire()


def entry(url, status, value=None, method="POST", headers=()):
    """An entry as other programs write it; a value is the JSON of the response."""
    fields = [{"name": name, "value": text} for name, text in headers]
    content = {"size": 0, "mimeType": ""}
    if value is not None:
        fields.append({"name": "Content-Type", "value": "application/json"})
        content = {"mimeType": "application/json", "text": json.dumps(value)}
    response = {"status": status, "headers": fields, "content": content}
    return {"request": {"method": method, "url": url, "headers": []}, "response": response}


def write(path, *entries):
    """An archive with these entries."""
    with open(path, "w") as file:
        json.dump({"log": {"version": "1.2", "entries": entries}}, file)
