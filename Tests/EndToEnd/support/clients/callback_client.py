# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What tests of callbacks share: a client that answers, in one way or the other, and waits for a reply meanwhile."""

import base64
import contextlib

import contract


def answer(wire, question, result=None, **error):
    """Answers one question: with a result, or with an error if there is one."""
    said = {"error": error} if error else {"result": {} if result is None else result}
    wire.send({"jsonrpc": "2.0", "id": question["id"], **said})


def converse(wire, method, params, answers, seconds=20.0):
    """A call, and what it asks meanwhile: `answers` maps kinds (`adapt`) to functions of the question's params.

    A function gives the result, or raises `Refuse`. Gives the result of the call, and the params of all questions.
    """
    number = wire.start(method, params)
    asked = []
    while True:
        message = wire.receive(seconds)
        if "method" not in message:
            assert message["id"] == number, message
            return message, asked
        if "id" not in message:
            continue
        kind = message["method"].removeprefix("callback.")
        asked.append((kind, message["params"]))
        try:
            answer(wire, message, answers[kind](message["params"]))
        except Refuse as refusal:
            answer(wire, message, code=1, message=str(refusal))


def come_for(wire, params, answers, seconds=20.0):
    """The same for a client that comes for its questions: starts the request and decides until it is over."""
    number = wire.start("data.start", params)
    request = wire.reply(number, seconds)["result"]["request"]
    asked = []
    while True:
        reply = wire.call("events.next", {"request": request, "wait": seconds}, seconds + 5)["result"]
        for event in reply["events"]:
            if event["method"] != "event.decision":
                continue
            kind, question = event["params"]["kind"], event["params"]["params"]
            asked.append((kind, question))
            decision = {"decision": event["params"]["decision"]}
            try:
                decision["answer"] = answers[kind](question)
            except Refuse as refusal:
                decision["error"] = str(refusal)
            assert wire.call("request.decide", decision)["result"] == {}
        if reply["end"]:
            return wire.call("request.wait", {"request": request}), asked


class Refuse(Exception):
    """The client answers with an error."""


def way(name):
    """How a callback is asked, as members of the params that name it."""
    return {"decide": "pull"} if name == "pull" else {}


def callback(name="mine", how="request", **more):
    """A member that names the client's code."""
    return {"callback": name, **way(how), **more}


def ask(wire, name, params, answers):
    """One request whose callbacks are asked in that way; its response, and the questions."""
    if name == "pull":
        reply, asked = come_for(wire, params, answers)
    else:
        reply, asked = converse(wire, "data.send", params, answers)
    assert "result" in reply, reply
    return reply["result"], asked


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
