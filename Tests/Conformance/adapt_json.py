# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the JSON suite: the sample is the whole of a frame; what is no JSON gets -32700."""

import json

import wire

SECONDS = 10
PROBE = "probe"

_wire = None


def accepts(data):
    """Whether the reply to these bytes is anything but a parse error."""
    global _wire
    if _wire is None or _wire.process.poll() is not None:
        _wire = wire.Wire()
    probe = {"jsonrpc": "2.0", "id": PROBE, "method": "diagnostics.echo"}
    _wire.send(data)
    _wire.send(json.dumps(probe).encode())
    codes = []
    while True:
        reply = _wire.receive(SECONDS)
        if isinstance(reply, dict) and reply.get("id") == PROBE:
            break
        codes += [one.get("error", {}).get("code") for one in (reply if isinstance(reply, list) else [reply])]
    # no reply at all is no acceptance: nothing in the suite is a notification
    return bool(codes) and -32700 not in codes
