# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Checks values against the assembled contract, `openrpc.json`.

Knows the part of JSON Schema draft 7 that the assembler writes, and nothing else; what it does not know is an
error of the document, never a silent yes. Used by the assembler for the examples, and by the tests for every message.
"""

import re

PREFIX = "#/components/schemas/"
KEYWORDS = {
    "$ref", "additionalProperties", "anyOf", "default", "description", "enum", "examples", "format", "items",
    "maximum", "minimum", "oneOf", "properties", "required", "type", "x-outrider-locked", "x-outrider-needs",
    "x-outrider-secret",
}  # fmt: skip
TYPES = {
    "array": list,
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "string": str,
}
FORMATS = {
    "base64": re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"),
    "date-time": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"),
    "handle": re.compile(r"[a-z]{3}_[A-Za-z0-9]{1,32}"),
    "json-pointer": re.compile(r"(?:/(?:[^~/]|~[01])*)*", re.S),
    "path": re.compile(r"/[^\0]*", re.S),
    "url": re.compile(r"(?:https?|(?:http|https)\+unix)://\S*"),
}
PLACEHOLDER = re.compile(r"<[A-Za-z][A-Za-z0-9]*>")


def is_type(value, name):
    """Whether a value has a JSON type; an integral real counts as an integer, as on the wire."""
    if name in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return False
        return name == "number" or isinstance(value, int) or value.is_integer()
    return isinstance(value, TYPES[name])


def pointer(base, name):
    """The JSON pointer (RFC 6901) of a member of what `base` points at."""
    return "%s/%s" % (base, str(name).replace("~", "~0").replace("/", "~1"))


class Contract:
    """The assembled document, with what the tests ask of it."""

    def __init__(self, document):
        self.document = document
        self.types = document["components"]["schemas"]
        self.methods = {method["name"]: method for method in document["methods"]}
        self.events = {event["name"]: event for event in document["x-outrider-events"]}
        self.callbacks = {callback["name"]: callback for callback in document["x-outrider-callbacks"]}
        self.notifications = {item["name"]: item for item in document["x-outrider-notifications"]}

    def resolve(self, schema):
        """The schema itself, references followed."""
        while "$ref" in schema:
            schema = self.types[schema["$ref"][len(PREFIX) :]]
        return schema

    def params(self, entry):
        """The schema of the whole params object of a method, event or callback."""
        closed = not entry.get("x-outrider-open", False) and entry["name"] in self.methods
        schema = {
            "type": "object",
            "properties": {item["name"]: item["schema"] for item in entry["params"]},
            "required": [item["name"] for item in entry["params"] if item["required"]],
        }
        if "x-outrider-exactlyOne" in entry:
            schema["oneOf"] = [{"required": [name]} for name in entry["x-outrider-exactlyOne"]]
        if "x-outrider-needs" in entry:
            schema["x-outrider-needs"] = entry["x-outrider-needs"]
        return dict(schema, additionalProperties=False) if closed else schema

    def problems(self, value, schema, at="", placeholders=False, sent=False):
        """Yields `pointer: what is wrong`.

        `placeholders` lets the `<any>` and `<name>` of transcripts stand for any value. `sent` allows what a
        client may send but the service never does: null for an optional member, and `_meta`.
        """
        unknown = set(schema) - KEYWORDS
        if unknown:
            raise ValueError("the document uses %s at %s" % (", ".join(sorted(unknown)), at))
        schema = self.resolve(schema)
        if placeholders and isinstance(value, str) and PLACEHOLDER.fullmatch(value):
            return
        if "type" in schema and not is_type(value, schema["type"]):
            yield "%s: must be of type %s" % (at, schema["type"])
            return
        if "anyOf" in schema:
            fitting = [one for one in schema["anyOf"] if is_type(value, self.resolve(one)["type"])]
            if not fitting:
                kinds = [self.resolve(one)["type"] for one in schema["anyOf"]]
                yield "%s: must be of type %s" % (at, " or ".join(kinds))
            elif len(fitting) == 1:
                yield from self.problems(value, fitting[0], at, placeholders, sent)
        if "enum" in schema and value not in schema["enum"]:
            yield "%s: must be one of %s" % (at, ", ".join(schema["enum"]))
        yield from self.scalar_problems(value, schema, at)
        if isinstance(value, list) and "items" in schema:
            for index, item in enumerate(value):
                yield from self.problems(item, schema["items"], pointer(at, index), placeholders, sent)
        if isinstance(value, dict) and schema.get("type") == "object":
            yield from self.object_problems(value, schema, at, placeholders, sent)

    def scalar_problems(self, value, schema, at):
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if "minimum" in schema and value < schema["minimum"]:
                yield "%s: must be at least %s" % (at, schema["minimum"])
            if "maximum" in schema and value > schema["maximum"]:
                yield "%s: must be at most %s" % (at, schema["maximum"])
        form = FORMATS.get(schema.get("format"))
        if form and isinstance(value, str) and not form.fullmatch(value):
            yield "%s: must have the form of a %s" % (at, schema["format"])

    def object_problems(self, value, schema, at, placeholders, sent):
        known = schema.get("properties", {})
        # what is received has no other members than those described; a client ignores the others of later versions
        more = schema.get("additionalProperties", sent or not known)
        partial = placeholders and "..." in value
        if not partial:
            for name in schema.get("required", []):
                if name not in value:
                    yield "%s: is missing" % pointer(at, name)
            ways = [one["required"] for one in schema.get("oneOf", [])]
            if ways and sum(all(value.get(name) is not None for name in way) for way in ways) != 1:
                yield "%s: must have exactly one of %s" % (at, ", ".join(way[0] for way in ways))
            for name, cases in schema.get("x-outrider-needs", {}).items():
                given = value.get(name)
                named = cases.get(given, []) if isinstance(given, str) else []
                for other in [*named, *([] if given is None else cases.get("*", []))]:
                    if value.get(other) is None:
                        yield "%s: is missing" % pointer(at, other)
        for name, item in value.items():
            if (partial and name == "...") or (sent and name == "_meta"):
                continue
            if sent and item is None and name in known and name not in schema.get("required", []):
                continue
            if name in known:
                yield from self.problems(item, known[name], pointer(at, name), placeholders, sent)
            elif more is False:
                yield "%s: is not known" % pointer(at, name)
            elif isinstance(more, dict):
                yield from self.problems(item, more, pointer(at, name), placeholders, sent)
