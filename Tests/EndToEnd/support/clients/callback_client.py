# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""For tests of callbacks: a client that replies, in either way, and waits for the result of its call meanwhile."""

import base64
import contextlib

import contract


def reply_to(wire, callback, result=None, **error):
    """Replies to a callback: with an error if members of an error are given, else with a result."""
    said = {"error": error} if error else {"result": {} if result is None else result}
    wire.send({"jsonrpc": "2.0", "id": callback["id"], **said})


def converse(wire, method, params, functions, seconds=20.0):
    """A call, and its callbacks meanwhile: `functions` maps kinds (`adapt`) to functions of the callback's params.

    A function gives the result, or raises `Refuse`. Gives the result of the call, and the params of all callbacks.
    """
    number = wire.start(method, params)
    callbacks = []
    while True:
        message = wire.receive(seconds)
        if "method" not in message:
            assert message["id"] == number, message
            return message, callbacks
        if "id" not in message:
            continue
        kind = message["method"].removeprefix("callback.")
        callbacks.append((kind, message["params"]))
        try:
            reply_to(wire, message, functions[kind](message["params"]))
        except Refuse as refusal:
            reply_to(wire, message, code=1, message=str(refusal))


def come_for(wire, params, functions, seconds=20.0):
    """The same for a client that pulls its callbacks: starts the request and decides until it is over."""
    number = wire.start("data.start", params)
    request = wire.reply(number, seconds)["result"]["request"]
    callbacks = []
    while True:
        reply = wire.call("events.next", {"request": request, "wait": seconds}, seconds + 5)["result"]
        for event in reply["events"]:
            if event["method"] != "event.decision":
                continue
            kind, callback = event["params"]["kind"], event["params"]["params"]
            callbacks.append((kind, callback))
            decision = {"decision": event["params"]["decision"]}
            try:
                decision["answer"] = functions[kind](callback)
            except Refuse as refusal:
                decision["error"] = str(refusal)
            assert wire.call("request.decide", decision)["result"] == {}
        if reply["end"]:
            return wire.call("request.wait", {"request": request}), callbacks


class Refuse(Exception):
    """The client replies with an error."""


def way(name):
    """How a callback is made, as members of the params that name it."""
    return {"decide": "pull"} if name == "pull" else {}


def callback(name="mine", how="request", **more):
    """A member that names the client's code."""
    return {"callback": name, **way(how), **more}


def exchange(wire, name, params, functions):
    """One request whose callbacks are made in that way; its response, and the callbacks."""
    if name == "pull":
        reply, callbacks = come_for(wire, params, functions)
    else:
        reply, callbacks = converse(wire, "data.send", params, functions)
    assert "result" in reply, reply
    return reply["result"], callbacks


@contextlib.contextmanager
def second(path):
    """Another client of the same service."""
    with contract.Wire(path) as wire:
        yield wire


def sent(response):
    """What the origin's /echo saw: its fields by name, and the whole."""
    seen = response["body"]["json"]
    return {name: value for name, value in seen["headers"]}, seen


def credentials(user, password):
    """The Authorization field of RFC 7617."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
