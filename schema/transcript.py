# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Reads transcripts: what a person would type and see, and what the tests replay.

    // two lines a person would type, and what comes back, in any order within a block
    >> {"jsonrpc":"2.0","id":1,"method":"data.start","params":{"url":"{origin}/json"}}
    << {"jsonrpc":"2.0","id":1,"result":{"request":"<r>"}}

`<any>` matches any value; any other `<name>` is remembered where it first comes back, and stands for that value
afterwards, also in what is sent. A member `"..."` in an expected object allows further members.
`{origin}` and `{tmp}` stand for a server on loopback and for a directory that may be written to.
"""

import json

from validator import PLACEHOLDER

TEXT = {"{origin}": "http://127.0.0.1:8080", "{tmp}": "/tmp"}


class Step:
    """Lines that are sent, then lines that must come back."""

    def __init__(self):
        self.sent = []
        self.expected = []


def parse(text, values=None):
    """The steps of a transcript; `values` says what `{origin}` and `{tmp}` are."""
    for name, value in (values or TEXT).items():
        text = text.replace(name, value)
    steps = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("//"):
            continue
        if line[:3] not in (">> ", "<< "):
            raise ValueError("line %d: starts with neither `>> `, `<< ` nor `//`" % number)
        try:
            message = json.loads(line[3:])
        except ValueError as error:
            raise ValueError("line %d: %s" % (number, error)) from None
        if line.startswith(">>"):
            if not steps or steps[-1].expected:
                steps.append(Step())
            steps[-1].sent.append(message)
        elif not steps:
            raise ValueError("line %d: nothing was sent yet" % number)
        else:
            steps[-1].expected.append(message)
    return steps


def fill(value, remembered):
    """What is sent: names replaced by the values they stand for."""
    if isinstance(value, dict):
        return {key: fill(item, remembered) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, remembered) for item in value]
    if isinstance(value, str) and PLACEHOLDER.fullmatch(value) and value in remembered:
        return remembered[value]
    return value


def match(expected, actual, remembered, at=""):
    """None if the actual message is the expected one, else what differs. Remembers names as it goes."""
    if isinstance(expected, str) and PLACEHOLDER.fullmatch(expected):
        if expected == "<any>" or remembered.setdefault(expected, actual) == actual:
            return None
        return "%s: %r is not the %s seen before" % (at, actual, expected)
    if isinstance(expected, dict) and isinstance(actual, dict):
        names = set(expected) - {"..."}
        if names - set(actual):
            return "%s: lacks %s" % (at, ", ".join(sorted(names - set(actual))))
        if "..." not in expected and set(actual) - names:
            return "%s: has %s besides" % (at, ", ".join(sorted(set(actual) - names)))
        pairs = ((name, expected[name], actual[name]) for name in sorted(names))
    elif isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return "%s: has %d items, not %d" % (at, len(actual), len(expected))
        pairs = zip(range(len(expected)), expected, actual)
    elif isinstance(expected, bool) == isinstance(actual, bool) and expected == actual:
        return None
    else:
        return "%s: is %s, not %s" % (at, shown(actual), shown(expected))
    for name, one, other in pairs:
        problem = match(one, other, remembered, "%s/%s" % (at, name))
        if problem:
            return problem
    return None


def shown(value):
    text = json.dumps(value)
    return text if len(text) < 200 else text[:200] + "…"


def calls(steps):
    """Yields (sent message, expected reply or None) of every call and notification in the steps."""
    replies = {}
    for step in steps:
        for message in step.expected:
            if "method" not in message and "id" in message:
                replies[repr(message["id"])] = message
    for step in steps:
        for message in step.sent:
            if isinstance(message, dict) and "method" in message:
                yield message, replies.get(repr(message.get("id")))


def error_examples(found):
    """The calls of all transcripts that end in an error, with the error."""
    for name in sorted(found):
        for case in found[name]:
            for sent, reply in calls(case["steps"]):
                if reply and "error" in reply and "<" not in json.dumps(reply["error"]):
                    request = {"method": sent["method"], "params": sent.get("params", {})}
                    yield {"name": "%s: %s" % (name, case["case"]), "request": request, "error": reply["error"]}
