# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A client with code of its own: replies to the callbacks of the service while it waits for its reply."""

import time


class Refused(Exception):
    """What the client's code raises for an error as its reply: its argument is the error object."""


def call_with_code(wire, method, params, functions, seconds=20.0):
    """A call whose callbacks are served by functions, by the name of the callback; the reply, and the callbacks.

    A function is given the params of the callback, and gives the result; or it raises Refused.
    """
    number, callbacks = wire.start(method, params), []
    end = time.monotonic() + seconds
    while True:
        message = wire.receive(max(0.1, end - time.monotonic()))
        if "method" not in message:
            assert message["id"] == number, message
            return message, callbacks
        if "id" not in message:
            continue
        callbacks.append((message["method"], message["params"]))
        try:
            reply = {"result": functions[message["method"]](message["params"])}
        except Refused as refusal:
            reply = {"error": refusal.args[0]}
        wire.send({"jsonrpc": "2.0", "id": message["id"], **reply})
