# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A client with code of its own: answers the questions of the service while it waits for its reply."""

import time


class Refused(Exception):
    """What the client's code answers when it cannot: its argument is the error object."""


def ask(wire, method, params, answers, seconds=20.0):
    """A call whose questions are answered by functions, by the name of the question; the reply, and what was asked.

    A function is given the params of the question, and gives the result; or it raises Refused.
    """
    number, asked = wire.start(method, params), []
    end = time.monotonic() + seconds
    while True:
        message = wire.receive(max(0.1, end - time.monotonic()))
        if "method" not in message:
            assert message["id"] == number, message
            return message, asked
        if "id" not in message:
            continue
        asked.append((message["method"], message["params"]))
        try:
            answer = {"result": answers[message["method"]](message["params"])}
        except Refused as refusal:
            answer = {"error": refusal.args[0]}
        wire.send({"jsonrpc": "2.0", "id": message["id"], **answer})
