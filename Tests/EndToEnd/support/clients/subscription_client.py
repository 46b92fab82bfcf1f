# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Subscriptions of a wire, and what comes of them."""

from request_client import result


def subscribe(wire, *topics, **more):
    """The handle of a new subscription."""
    return result(wire.call("events.subscribe", {"topics": list(topics), **more}))["subscription"]


def watched(wire, number, last="request.finished", count=1, seconds=15.0):
    """What is told until a call has its result and the last topic has come so often; and the reply."""
    events, reply = [], None
    while reply is None or topics(events).count(last) < count:
        message = wire.receive(seconds)
        if message.get("method") == "event.monitor":
            events.append(message["params"])
        elif "method" in message and "id" in message:
            wire.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": 1, "message": "no"}})
        elif "method" not in message and message["id"] == number:
            reply = message
    return events, reply


def told(wire, method, params, **more):
    """The same for a call that is made now, and succeeds."""
    events, reply = watched(wire, wire.start(method, params), **more)
    return events, result(reply)


def topics(events):
    return [event["topic"] for event in events]


def pulled(wire, subscription, last=None, count=1):
    """What waits; with a last topic, what comes until it has come so often."""
    events = []
    while True:
        params = {"subscription": subscription, "wait": 10 if last else 0, "max": 1000}
        batch = result(wire.call("events.next", params, 15.0))
        events += [event["params"] for event in batch["events"]]
        if (last and topics(events).count(last) >= count) or not batch["events"]:
            return events
