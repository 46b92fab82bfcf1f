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
