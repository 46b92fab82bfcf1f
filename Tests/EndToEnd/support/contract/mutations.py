# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Changes the example of a method in every way that must be accepted or refused, as the contract itself decides."""

import copy
import json

import contract
import validator

WRONG = ["so on", 1.5, True, [[]], {"stranger/~": 1}]
NUMBERS = [1e308, -1e308, -1, 2**63 - 1, -(2**63), 0, 1.5, 5e-324]
# formats that the service checks more closely than the contract describes, or not by -32602
LOOSE = {
    "cache", "document", "handle", "host", "jar", "charset",
    "token", "media-type", "path", "pattern", "proxy", "url",
}  # fmt: skip


class Mutation:
    """Params, where they were changed, and how."""

    def __init__(self, params, at, what, loose=False, known=()):
        self.params, self.at, self.what, self.loose, self.known = params, at, what, loose, set(known)

    def __str__(self):
        return f"{self.at or '/'} {self.what}"

    def problems(self, method):
        """What the contract says is wrong; the pointers only."""
        schema = contract.CONTRACT.params(contract.CONTRACT.methods[method])
        return [line.split(": ")[0] for line in contract.CONTRACT.problems(self.params, schema, sent=True)]


def changed(example, path, change):
    """A copy of the example with the object at the path changed."""
    whole = copy.deepcopy(example)
    inner = whole
    for step in path:
        inner = inner[step]
    change(inner)
    return whole


def mutations(method, values):
    """All mutations of a method's example; `values` are what members get in place of what they have."""
    entry = contract.CONTRACT.methods[method]
    schema = contract.CONTRACT.params(entry)
    for example, path in variants(entry):
        inner = schema["properties"][path[0]] if path else schema
        yield from _inside(example, path, inner, values)


def examples(entry):
    """The example of a method, and what else it could have been."""
    return [example for example, _ in variants(entry)]


def variants(entry):
    """The example of a method, then others with one member in another of its forms, and the path of that member."""
    whole = entry["x-outrider-example"]
    yield whole, []
    yield from ((other, []) for other in entry.get("x-outrider-examples", []))
    for name, value in whole.items():
        schema = {item["name"]: item["schema"] for item in entry["params"]}.get(name, {})
        resolved = contract.CONTRACT.resolve(schema)
        if "oneOf" in resolved:
            for other in resolved["examples"]:
                if other != value:
                    yield {**whole, name: other}, [name]
        for one in resolved.get("anyOf", []):
            one = contract.CONTRACT.resolve(one)
            item = contract.CONTRACT.resolve(one.get("items", {}))
            if one["type"] == "number":
                yield {**whole, name: 5}, [name]
            elif one["type"] == "array" and "examples" in item:
                yield {**whole, name: item["examples"]}, [name]


def _inside(example, path, schema, values):
    """Mutations of the object at a path, and of the objects in it."""
    schema = contract.CONTRACT.resolve(schema)
    here = example
    for step in path:
        here = here[step]
    at = "".join(validator.pointer("", step) for step in path)
    for one in schema.get("anyOf", []):
        one = contract.CONTRACT.resolve(one)
        if validator.is_type(here, one["type"]):
            schema = one
    if isinstance(here, list) and "items" in schema:
        for index in range(len(here)):
            yield from _inside(example, [*path, index], schema["items"], values)
    if not isinstance(here, dict) or "properties" not in schema:
        return
    if values is WRONG:
        yield Mutation(changed(example, path, lambda inner: inner.update(_meta={"a": 1})), f"{at}/_meta", "welcome")
        if schema.get("additionalProperties") is False:
            stranger = changed(example, path, lambda inner: inner.update({"stranger/~": 1}))
            yield Mutation(stranger, at + "/stranger~1~0", "added", known=schema["properties"])
        absent = {name: None for name in schema["properties"] if name not in here}
        if absent:
            yield Mutation(changed(example, path, lambda inner: inner.update(absent)), at, "null for absent members")
        for name in here:
            yield Mutation(changed(example, path, lambda inner, n=name: inner.pop(n)), f"{at}/{name}", "removed")
            nulled = changed(example, path, lambda inner, n=name: inner.update({n: None}))
            yield Mutation(nulled, f"{at}/{name}", "null")
    for name in [name for name in here if name in schema["properties"]]:
        inner = contract.CONTRACT.resolve(schema["properties"][name])
        for value in values if values is WRONG or _numeric(inner) else []:
            other = changed(example, path, lambda object, n=name, v=value: object.update({n: v}))
            forms = {one.get("format") for one in [inner, *inner.get("anyOf", [])]}
            loose = isinstance(value, str) and bool(forms & LOOSE)
            yield Mutation(other, f"{at}/{name}", "= " + json.dumps(value), loose)
        yield from _inside(example, [*path, name], inner, values)


def _numeric(schema):
    return schema.get("type") in ("integer", "number") or any(_numeric(one) for one in schema.get("anyOf", []))
