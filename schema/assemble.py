#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Checks the contract in this directory and writes what follows from it.

    schema/assemble.py            check, then write the generated files
    schema/assemble.py --check    check, write nothing, fail if a generated file is stale

Standard library only, Python 3.9 and later; the same sources always give the same bytes.
"""

import pathlib
import re
import sys

SCHEMA = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(SCHEMA))
sys.dont_write_bytecode = True

import lists  # noqa: E402
import marks  # noqa: E402
import raised  # noqa: E402
import reference  # noqa: E402
import tables  # noqa: E402
import transcript  # noqa: E402
import validator  # noqa: E402
import writers  # noqa: E402
from sources import Refused, read  # noqa: E402

OUTPUTS = {
    "schema/openrpc.json": lambda sources, document: writers.readable(document),
    **tables.OUTPUTS,
    "Sources/OutriderMethods/Events/MonitorTopics.swift": lambda sources, document: writers.swift_topics(sources),
    "clients/python/tests/contract_tables.py": lambda sources, document: writers.python(sources),
    "clients/python/src/outrider/_protocol/exceptions.py": lambda sources, document: raised.python(sources),
}
NODE_KEYS = {
    "type", "properties", "required", "items", "enum", "$ref", "minimum", "maximum", "default", "format", "description",
    "defaults", "example", "examples", "secret", "anyOf", "values", "exactlyOne", "needs", "open", "name",
    "locked", "callbackResult",
}  # fmt: skip
TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}
ENTRY_KEYS = ("name", "summary", "description", "since", "params")
FAULTS = {"client", "outrider", "network", "server"}
FORMATS = {"base64", "cache", "charset", "date-time", "document", "handle", "host", "jar", "json-pointer", "media-type",
           "path", "pattern", "proxy", "token", "url"}
# methods that keep handles unresolved
KEEPERS = {"router.define", "router.import"}
LOWER_CAMEL = re.compile(r"[a-z][A-Za-z0-9]*")
DOTTED = re.compile(r"[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)?")


# What the sources must be


def check_node(node, at, types, top=False):
    """One schema: only the small subset, everything described, no nameless objects below the top."""
    unknown = set(node) - NODE_KEYS
    if unknown:
        yield "%s: %s is outside the allowed subset" % (at, ", ".join(sorted(unknown)))
    if "$ref" in node:
        if node["$ref"] not in types:
            yield "%s: there is no type %s" % (at, node["$ref"])
        allowed = {"$ref", "required", "defaults"} if top else {"$ref", "description", "default"}
        if set(node) - allowed:
            yield "%s: a reference has %s, nothing else" % (at, " and ".join(sorted(allowed - {"$ref"})))
        members = types.get(node["$ref"], {}).get("properties", {})
        for name in sorted((set(node.get("required", [])) | set(node.get("defaults", {}))) - set(members)):
            yield "%s: %s has no member %s" % (at, node["$ref"], name)
        return
    if "type" not in node and "anyOf" not in node and "description" not in node:
        yield "%s: a value of any type needs a description that says so" % at
    if "type" in node and node["type"] not in TYPES:
        yield "%s: %r is no type" % (at, node["type"])
    if node.get("format", "url") not in FORMATS:
        yield "%s: %r is no format" % (at, node["format"])
    if "enum" in node and node.get("type") != "string":
        yield "%s: an enum is of strings" % at
    if node.get("locked") and (node.get("type") != "string" or not node.get("secret")):
        yield "%s: only strings that are secret are locked" % at
    if "properties" in node and not top:
        yield "%s: an object with members needs a name: move it to types/" % at
    properties = node.get("properties", {})
    for name in list(node.get("required", [])) + list(node.get("exactlyOne", [])):
        if name not in properties:
            yield "%s: %s is required but not described" % (at, name)
    for name, cases in node.get("needs", {}).items():
        for value, others in cases.items():
            if value not in ["*", *properties.get(name, {}).get("enum", [])] or not set(others) <= set(properties):
                yield "%s: needs says of %s what is not described" % (at, name)
    for name, item in properties.items():
        if not LOWER_CAMEL.fullmatch(name):
            yield "%s.%s: names are lower camel case" % (at, name)
        if not writers.joined(item):
            yield "%s.%s: has no description" % (at, name)
        if item.get("format") == "base64" and not name.lower().endswith("base64"):
            yield "%s.%s: binary is in a member that ends in base64" % (at, name)
        yield from check_node(item, "%s.%s" % (at, name), types)
    for key in ("items", "values"):
        if key in node:
            yield from check_node(dict(node[key], description="-"), "%s.%s" % (at, key), types)
    yield from check_union(node, at, types)


def check_union(node, at, types):
    """A union by type: the alternatives must be told apart by their JSON type alone."""
    kinds = []
    for index, one in enumerate(node.get("anyOf", [])):
        yield from check_node(dict(one, description="-"), "%s.anyOf.%d" % (at, index), types)
        kinds.append(types.get(one["$ref"], {}).get("type") if "$ref" in one else one.get("type"))
    if len(set(kinds)) != len(kinds):
        yield "%s: two alternatives have the same type; use an object with exactly one of several keys" % at


def check_types(sources):
    types = sources["types"]
    for name, node in types.items():
        if node.get("type") != "object" and "enum" not in node:
            yield "types/%s: only objects and enums have names" % name
        yield from check_node(node, "types/" + name, types, top=True)
    entries = sources["methods"] + sources["events"] + sources["callbacks"]
    roots = [e["params"] for e in entries] + [e["result"] for e in entries if "result" in e]
    for name in sorted(set(types) - writers.reachable(roots, types)):
        yield "types/%s: nothing refers to it" % name


def check_entries(sources):
    types = sources["types"]
    known = {error["name"] for error in sources["errors"]["errors"]}
    used = {error["name"] for error in sources["errors"]["errors"] if error["common"]}
    for where in ("methods", "events", "callbacks"):
        more = {"methods": ("result", "errors"), "events": ("direction",), "callbacks": ("direction", "result")}[where]
        for entry in sources[where]:
            at = "%s/%s" % (where, entry["name"])
            wrong = (set(entry) - {"ownerOnly"}) ^ set(ENTRY_KEYS + more)
            if wrong:
                yield "%s: must have exactly %s; see %s" % (at, ", ".join(ENTRY_KEYS + more), ", ".join(sorted(wrong)))
                continue
            if not DOTTED.fullmatch(entry["name"]):
                yield "%s: names are lower camel case, with one dot" % at
            for part in ("params", "result"):
                if part in entry:
                    yield from check_node(dict(entry[part]), "%s: %s" % (at, part), types, top=True)
            for name in entry.get("errors", []):
                used.add(name)
                if name not in known:
                    yield "%s: error %s is not in errors.json" % (at, name)
    for name in sorted(known - used):
        yield "errors.json: no method has the error %s" % name


def check_refusals(sources):
    """Methods list the errors that follow from their params: unknown handles, and what other users may not give."""
    types = sources["types"]

    def is_handle(node):
        return node.get("format") == "handle"

    def is_owned(node):
        return node.get("format") in ("path", "url")

    for entry in sources["methods"]:
        # the results of callbacks hold paths; a definition of a router keeps handles, and a request looks them up
        owned = entry.get("ownerOnly") or marks.marked(entry["params"], types, is_owned, ["/"])
        handles = entry["name"] not in KEEPERS and marks.marked(entry["params"], types, is_handle)
        for error, follows in (("notPermitted", owned), ("unknownHandle", handles)):
            if follows and error not in entry["errors"]:
                yield "methods/%s: its params can give the error %s" % (entry["name"], error)


def check_retries(sources):
    """A retry policy can name every failure but the ends, as the service does."""
    failures = sources["errors"]["failures"]
    ends = {one["code"] for one in failures if one["code"] // 100 == 19}
    names = {one.get("reason", one["kind"]) for one in failures if one["code"] not in ends}
    method = next(one for one in sources["methods"] if one["name"] == "evaluate.retry")
    for at, node in (
        ("types/Retry.errors", sources["types"]["Retry"]["properties"]["errors"]["items"]),
        ("methods/evaluate.retry.error", method["params"]["properties"]["error"]),
    ):
        for name in sorted(names ^ set(node["enum"])):
            yield "%s: %s is a failure of errors.json, or is listed here, but not both" % (at, name)


def check_waits(sources):
    """The end of a wait is a Response, with the same members."""
    whole, waited = (sources["types"][name]["properties"] for name in ("Response", "WaitResult"))
    for name in sorted(set(whole) - set(waited)):
        yield "types/WaitResult: has no member %s, which a Response has" % name


def check_codes(sources):
    errors, failures = sources["errors"]["errors"], sources["errors"]["failures"]
    reserved = sources["errors"]["reserved"]
    codes = [one["code"] for one in errors + failures + reserved]
    for code in sorted(set(code for code in codes if codes.count(code) > 1)):
        yield "errors.json: code %d occurs twice" % code
    pairs = [(one["kind"], one.get("reason")) for one in failures + reserved]
    for pair in sorted(set(pair for pair in pairs if pairs.count(pair) > 1)):
        yield "errors.json: %s occurs twice" % (pair,)
    for one in errors + failures:
        if (one["code"] < 0) != ("name" in one):
            yield "errors.json: %d: errors are negative, failures positive" % one["code"]
        if one["fault"] not in FAULTS:
            yield "errors.json: %d: fault is one of %s" % (one["code"], ", ".join(sorted(FAULTS)))
    members = sources["types"]["FailureData"]["properties"]
    for one in failures:
        for name in sorted(set(one["data"]) - set(members)):
            yield "errors.json: %d: types/FailureData has no member %s" % (one["code"], name)
    for name in sorted(set(members) - {name for one in failures for name in one["data"]}):
        yield "types/FailureData: no failure has %s" % name
    for key in ("key", "flag"):
        seen = [setting[key] for setting in sources["settings"]["settings"]]
        for name in sorted(set(name for name in seen if seen.count(name) > 1)):
            yield "settings.json: %s occurs twice" % name


def check_topics(sources):
    """Topics have names of their own, levels of the log, and details that are described."""
    members = sources["types"]["MonitorDetail"]["properties"]
    levels = sources["types"]["LogLevel"]["enum"]
    topics = sources["topics"]
    used = {word.rstrip("?") for topic in topics for word in topic["detail"]}
    for topic in topics:
        at = "topics.json: %s" % topic.get("name")
        if set(topic) != {"name", "level", "summary", "detail"}:
            yield "%s: must have exactly name, level, summary and detail" % at
            continue
        if not DOTTED.fullmatch(topic["name"]) or "." not in topic["name"]:
            yield "%s: names are lower camel case, with one dot" % at
        if [one["name"] for one in topics].count(topic["name"]) > 1:
            yield "%s: occurs twice" % at
        if topic["level"] not in levels:
            yield "%s: its level is one of %s" % (at, ", ".join(levels))
        for word in topic["detail"]:
            if word.rstrip("?") not in members:
                yield "%s: types/MonitorDetail has no member %s" % (at, word.rstrip("?"))
    for name in sorted(set(members) - used):
        yield "types/MonitorDetail: no topic has %s" % name


# What the examples must be


def check_example(node, schema, contract, at):
    """Examples fit their own schema, and between them fill every member."""
    examples = writers.examples(node)
    whole = set(node.get("properties", {}))
    filled = set().union(*[set(example) for example in examples]) if examples else set()
    if node.get("type") == "object" and not examples:
        yield "%s: has no example" % at
    elif whole - filled:
        yield "%s: no example fills %s" % (at, ", ".join(sorted(whole - filled)))
    for example in examples:
        for problem in contract.problems(example, schema):
            yield "%s: example: %s" % (at, problem)


def check_examples(sources, contract):
    types = sources["types"]
    for name, node in types.items():
        if "enum" not in node:
            yield from check_example(node, contract.types[name], contract, "types/" + name)
        for member, item in node.get("properties", {}).items():
            if "default" in item:
                schema = contract.types[name]["properties"][member]
                for problem in contract.problems(item["default"], schema):
                    yield "types/%s.%s: default: %s" % (name, member, problem)
    for where, table in (("methods", contract.methods), ("events", contract.events), ("callbacks", contract.callbacks)):
        for entry in sources[where]:
            node = writers.expanded(entry["params"], types)
            if "required" in entry["params"] and "$ref" in entry["params"]:
                # the examples of the type that have what is required; that all members are filled is the type's affair
                node = dict(node, properties={})
            yield from check_example(
                node, contract.params(table[entry["name"]]), contract, "%s/%s" % (where, entry["name"])
            )


def check_transcripts(sources, contract):
    for name in sorted(set(contract.methods) - set(sources["transcripts"])):
        yield "methods/%s: has no transcript: write transcripts/%s/<case>.io" % (name, name)
    for name in sorted(set(sources["transcripts"]) - set(contract.methods)):
        yield "transcripts/%s: there is no such method" % name
    for name, cases in sources["transcripts"].items():
        for case in cases:
            at = "transcripts/%s/%s.io" % (name, case["case"])
            if not any(sent["method"] == name for sent, _ in transcript.calls(case["steps"])):
                yield "%s: does not call %s" % (at, name)
            for problem in transcript_problems(case["steps"], contract):
                yield "%s: %s" % (at, problem)


def transcript_problems(steps, contract):
    """Everything sent and received fits the contract, but for what is refused on purpose."""
    codes = {error["code"] for error in contract.document["x-outrider-errors"]}
    for sent, reply in transcript.calls(steps):
        error = (reply or {}).get("error")
        method = contract.methods.get(sent["method"])
        if error and sent["method"] != "diagnostics.fail" and error["code"] not in codes:
            yield "code %s is not in errors.json" % error["code"]
        if method and not error:
            yield from contract.problems(sent.get("params") or {}, contract.params(method), "params", True, True)
            if reply:
                yield from contract.problems(reply["result"], method["result"]["schema"], "result", True)
    for step in steps:
        for message in step.expected:
            entry = contract.events.get(message.get("method")) or contract.callbacks.get(message.get("method"))
            if entry:
                yield from contract.problems(message["params"], contract.params(entry), entry["name"], True)


def problems(sources):
    """Every broken rule, the ones that make the rest meaningless first."""
    for checks in (
        check_types, check_entries, check_refusals, check_codes, check_retries, check_waits, reference.unlisted,
        check_topics, raised.unraised,
    ):  # fmt: skip
        found = list(checks(sources))
        yield from found
        if found:
            return
    contract = validator.Contract(writers.openrpc(sources))
    yield from check_examples(sources, contract)
    yield from check_transcripts(sources, contract)


def main(arguments):
    if arguments not in ([], ["--check"]):
        print("usage: schema/assemble.py [--check]", file=sys.stderr)
        return 2
    try:
        sources = read()
        found = list(problems(sources))
    except Refused as error:
        found = [str(error)]
    if found:
        print("\n".join("schema: " + line for line in found), file=sys.stderr)
        return 1
    document = writers.openrpc(sources)
    texts = dict({name: make(sources, document) for name, make in OUTPUTS.items()}, **reference.pages(sources))
    try:
        texts.update(lists.pages(SCHEMA.parent, sources))
    except ValueError as error:
        print("schema: %s" % error, file=sys.stderr)
        return 1
    stale = []
    for name, text in texts.items():
        path = SCHEMA.parent / name
        if not path.exists() or path.read_bytes() != text.encode("utf-8"):
            stale.append(name)
            if not arguments:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(text.encode("utf-8"))
    for name in reference.forgotten(SCHEMA.parent, texts):
        stale.append(name)
        if not arguments:
            (SCHEMA.parent / name).unlink()
    if arguments and stale:
        print("schema: stale: %s; run: make schema" % ", ".join(stale), file=sys.stderr)
        return 1
    for name in stale:
        print(("wrote " if name in texts else "deleted ") + name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
