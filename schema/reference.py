# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Writes `docs/reference/methods.md`, the readable reference, from the sources of the contract."""

import json

from writers import MADE_BY, joined, reachable


def link(name):
    return "[%s](#%s)" % (name, name.lower())


def anchor(name):
    """GitHub's anchor of a heading that is a method's name in code marks."""
    return "".join(c for c in name.lower() if c.isalnum() or c in "-_")


def kind(node):
    """A schema as a few words."""
    if "$ref" in node:
        return link(node["$ref"])
    if "anyOf" in node:
        return " or ".join(dict.fromkeys(kind(one) for one in node["anyOf"]))
    if "enum" in node:
        return " \\| ".join("`%s`" % value for value in node["enum"])
    if node.get("type") == "array":
        return "list of " + kind(node["items"])
    if "values" in node:
        return "object of " + kind(node["values"])
    words = {"base64": "base64", "handle": "handle", "url": "URL", "path": "path", "date-time": "time"}
    word = words.get(node.get("format"), node.get("type", "any"))
    low, high = node.get("minimum"), node.get("maximum")
    if low is not None and high is not None:
        return "%s, %s to %s" % (word, low, high)
    return "%s, from %s" % (word, low) if low is not None else word


def table(node, heading, defaults=True):
    """The members of an object as a table."""
    required = node.get("required", [])
    members = node.get("properties", {})
    if not members:
        return []
    lines = ["| %s | type | %s | |" % (heading, "default" if defaults else "there"), "| --- | --- | --- | --- |"]
    for name in sorted(members, key=lambda name: (name not in required, list(members).index(name))):
        item = members[name]
        if name in required:
            third = "**required**" if defaults else "always"
        elif "default" in item:
            third = "`%s`" % json.dumps(item["default"])
        else:
            third = "" if defaults else "sometimes"
        secret = " Secret." if item.get("secret") else ""
        lines.append("| `%s` | %s | %s | %s%s |" % (name, kind(item), third, joined(item).replace("|", "\\|"), secret))
    return lines + [""]


def shape(title, node, defaults):
    """Params or a result."""
    if "$ref" in node:
        if defaults:
            line = "%ss: the members of %s" % (title, link(node["$ref"]))
            changes = ["`%s` is required" % name for name in node.get("required", [])]
            for name, value in node.get("defaults", {}).items():
                changes.append("`%s` is %s by default" % (name, json.dumps(value)))
            return ["%s; %s." % (line, ", ".join(changes)) if changes else line + ".", ""]
        return ["%s: %s." % (title, "`{}`" if node["$ref"] == "Empty" else link(node["$ref"])), ""]
    lines = table(node, title.lower(), defaults)
    for name, cases in node.get("needs", {}).items():
        for value, others in cases.items():
            needed = " and ".join("`%s`" % one for one in others)
            given = "`%s`" % name if value == "*" else "`%s` `%s`" % (name, value)
            lines += ["With %s, %s must be there." % (given, needed), ""]
    if node.get("open"):
        lines += ["%s: any members%s." % (title, " besides" if lines else ""), ""]
    return lines or ["%s: none." % title, ""]


def method(source, sources):
    lines = ["### `%s`" % source["name"], "", source["summary"], "", joined(source), ""]
    if source.get("ownerOnly"):
        lines += ["Another user than that of the service is refused (-32014).", ""]
    lines += shape("Parameter", source["params"], True)
    lines += shape("Result", source["result"], False)
    if source["errors"]:
        lines += ["Errors of its own: %s." % ", ".join("`%s`" % name for name in source["errors"]), ""]
    text = sources["transcripts"][source["name"]][0]["text"]
    return lines + ["```", text.rstrip("\n"), "```", ""]


def event(source, sources):
    lines = ["### `%s`" % source["name"], "", source["summary"], "", joined(source), ""]
    lines += shape("Member", source["params"], False)
    if "result" in source:
        lines += shape("Answer", source["result"], False)
    return lines


def type_section(name, node, sent):
    lines = ["### %s" % name, "", joined(node), ""]
    if "exactlyOne" in node:
        lines += ["Exactly one of %s." % ", ".join("`%s`" % one for one in node["exactlyOne"]), ""]
    if "enum" in node:
        return lines + ["One of %s." % ", ".join("`%s`" % value for value in node["enum"]), ""]
    return lines + table(node, "member", sent)


ERRORS = """# Errors and failures

There are two ways in which things go wrong, and they never mix:

* The **call** could not be served: the reply is a JSON-RPC `error` with a negative code. Nothing was sent.
* The **exchange** failed: the reply is a result, a [Response](methods.md#response) with `"ok": false`, whatever the
  server sent, and an `error` with a positive code.

So what a server sent is never lost in an error that a library drops. A status such as 404 is neither, unless
validation was asked for.

Programs branch on `code`, or on `kind` and `reason`; people read `message`. Codes never change their meaning.
`retryable` says whether the same request could succeed later; the column here says what usually holds.

## In use

```
>> {"jsonrpc":"2.0","id":1,"method":"data.send","params":{"url":"http://127.0.0.1:1/"}}
<< {"jsonrpc":"2.0","id":1,"result":{"ok":false,…,"error":{"code":1402,"kind":"sessionTaskFailed","reason":"refused",
   "message":"127.0.0.1:1 refused the connection","retryable":true,"phase":"connect",
   "underlying":{"domain":"posix","code":111,"message":"Connection refused"}},…}}
>> {"jsonrpc":"2.0","id":2,"method":"data.send","params":{"uri":"http://127.0.0.1:1/"}}
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"unknown parameter uri","data":{"pointer":"/uri",…}}}
```

"""


def errors(sources):
    """The page of all codes."""
    yes = {True: "yes", False: "no"}
    lines = ["<!-- %s -->" % MADE_BY, "", *ERRORS.splitlines()]
    lines += ["## Errors", "", "The call could not be served. Those marked with a star can answer any call.", ""]
    lines += ["| code | name | meaning | whose fault | worth repeating | `data` |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    for e in sources["errors"]["errors"]:
        name = e["name"] + (" *" if e["common"] else "")
        row = (e["code"], name, e["meaning"], e["fault"], yes[e["retryable"]], members(e))
        lines.append("| %d | %s | %s | %s | %s | %s |" % row)
    lines += ["", "## Failures", ""]
    lines += ["The call was served, the exchange failed: these stand in a Response as `error`.", ""]
    for kind in dict.fromkeys(f["kind"] for f in sources["errors"]["failures"]):
        lines += ["### %s" % kind, "", "| code | reason | meaning | whose fault | worth repeating | `data` |"]
        lines += ["| --- | --- | --- | --- | --- | --- |"]
        for f in sources["errors"]["failures"]:
            if f["kind"] == kind:
                row = (f["code"], f.get("reason", ""), f["meaning"], f["fault"], yes[f["retryable"]], members(f))
                lines.append("| %d | %s | %s | %s | %s | %s |" % row)
        lines.append("")
    lines += ["## Reserved", "", "Nothing gives these failures yet; their codes will mean this and nothing else.", ""]
    lines += ["| code | kind | reason |", "| --- | --- | --- |"]
    for one in sorted(sources["errors"]["reserved"], key=lambda one: one["code"]):
        lines.append("| %d | %s | %s |" % (one["code"], one["kind"], one.get("reason", "")))
    return "\n".join([*lines, ""])


def members(entry):
    """What stands in `data`, in a cell."""
    return "<br>".join("`%s`: %s" % pair for pair in entry["data"].items())


def topics(sources):
    lines = ["## Topics", "", "What can be watched with `events.subscribe`. `detail` holds members of"]
    lines += [link("MonitorDetail") + "; those with a question mark are not always there.", ""]
    lines += ["| topic | level | | detail |", "| --- | --- | --- | --- |"]
    for topic in sources["topics"]:
        row = (topic["name"], topic["level"], topic["summary"], ", ".join("`%s`" % one for one in topic["detail"]))
        lines.append("| `%s` | %s | %s | %s |" % row)
    return lines + [""]


def settings(sources):
    lines = ["## Settings", "", joined(sources["settings"]), ""]
    lines += ["| flag | environment | type | default | |", "| --- | --- | --- | --- | --- |"]
    for s in sources["settings"]["settings"]:
        word = " \\| ".join(s["enum"]) if "enum" in s else s["type"]
        unit = ", %s" % s["unit"] if s["unit"] else ""
        default = "" if s["default"] is None else "`%s`" % json.dumps(s["default"])
        environment = "`%s`" % s["environment"] if s["environment"] else ""
        lines.append("| `%s` | %s | %s%s | %s | %s |" % (s["flag"], environment, word, unit, default, s["description"]))
    return lines + [""]


def reference(sources):
    """The whole page."""
    info = sources["info"]
    lines = ["<!-- %s -->" % MADE_BY, "", "# Methods, events and types", ""]
    lines += ["Version %s, protocol %d. The same as data: `rpc.discover`." % (info["version"], info["protocol"]), ""]
    lines += [
        "In the examples `>>` is sent and `<<` comes back; `<any>` is any value, and a `<name>` stands for the same"
    ]
    lines += [
        'value wherever it occurs. `{origin}` is a server on loopback. A member `"..."` stands for further members.',
        "",
    ]
    lines += ["| method | |", "| --- | --- |"]
    for source in sources["methods"]:
        lines.append("| [`%s`](#%s) | %s |" % (source["name"], anchor(source["name"]), source["summary"]))
    lines += ["", "## Methods", ""]
    for source in sources["methods"]:
        lines += method(source, sources)
    lines += ["## Events", "", "Sent by the service, and only when asked for.", ""]
    for source in sources["events"]:
        lines += event(source, sources)
    lines += topics(sources)
    lines += ["## Callbacks", "", "Called by the service, answered by the client.", ""]
    for source in sources["callbacks"]:
        lines += event(source, sources)
    lines += ["## Notifications", "", "Sent by the client; never answered.", ""]
    for source in info["notifications"]:
        lines += ["* `%s` — %s" % (source["name"], source["summary"])]
    lines += ["", "## Types", ""]
    sent = reachable([source["params"] for source in sources["methods"]], sources["types"])
    for name in sorted(sources["types"]):
        lines += type_section(name, sources["types"][name], name in sent)
    lines += ["## Errors and failures", "", "Every code is in [errors.md](errors.md).", ""] + settings(sources)
    lines += ["## Features", "", "What `server.info` lists as `features`, and `server.hello` takes in `require`.", ""]
    lines += ["* `%s` — %s" % pair for pair in sorted(info["features"].items())]
    return "\n".join(lines) + "\n"
