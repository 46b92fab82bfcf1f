# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Writes the pages of `docs/reference` from the sources of the contract.

There is one page per namespace, and one each for shared types, settings and errors. A type that the entries of one
namespace alone use is on the page of that namespace; all others are on `types.md`.
"""

import json

import raised
from writers import MADE_BY, joined, reachable

FOLDER = "docs/reference/"
SHARED = "types"
INTRODUCTION = """In the examples `>>` is sent and `<<` comes back. `<any>` is any value, and a `<name>` stands for the
same value wherever the name occurs. `{origin}` is a server on loopback. A member `"..."` means: more members."""


def namespace(entry):
    """The page that describes a method or an event; names without a dot belong to language servers."""
    return entry["name"].split(".")[0] if "." in entry["name"] else "lsp"


def anchor(name):
    """GitHub's anchor of a heading that is a method's name in code marks."""
    return "".join(c for c in name.lower() if c.isalnum() or c in "-_")


def places(sources):
    """The page of each type."""
    users = {}
    for entry in sources["methods"] + sources["events"] + sources["callbacks"]:
        for name in reachable([entry["params"], entry.get("result", {})], sources["types"]):
            users.setdefault(name, set()).add(namespace(entry))
    return {name: pages.pop() if len(pages) == 1 else SHARED for name, pages in users.items()}


class Page:
    """What is written on one page, with links that lead from there."""

    def __init__(self, name, sources, places, sent):
        self.name, self.sources, self.places, self.sent = name, sources, places, sent

    def link(self, name):
        page = self.places[name]
        return "[%s](%s#%s)" % (name, "" if page == self.name else page + ".md", name.lower())

    def kind(self, node):
        """A schema as a few words."""
        if "$ref" in node:
            return self.link(node["$ref"])
        if "anyOf" in node:
            return " or ".join(dict.fromkeys(self.kind(one) for one in node["anyOf"]))
        if "enum" in node:
            return " \\| ".join("`%s`" % value for value in node["enum"])
        if node.get("type") == "array":
            return "list of " + self.kind(node["items"])
        if "values" in node:
            return "object of " + self.kind(node["values"])
        words = {"base64": "base64", "handle": "handle", "url": "URL", "path": "path", "date-time": "time"}
        word = words.get(node.get("format"), node.get("type", "any"))
        low, high = node.get("minimum"), node.get("maximum")
        if low is not None and high is not None:
            return "%s, %s to %s" % (word, low, high)
        return "%s, from %s" % (word, low) if low is not None else word

    def table(self, node, heading, defaults=True):
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
            text = joined(item).replace("|", "\\|") + (" Secret." if item.get("secret") else "")
            lines.append("| `%s` | %s | %s | %s |" % (name, self.kind(item), third, text))
        return lines + [""]

    def shape(self, title, node, defaults):
        """Params or a result."""
        if "$ref" in node:
            if defaults:
                line = "%ss: the members of %s" % (title, self.link(node["$ref"]))
                changes = ["`%s` is required" % name for name in node.get("required", [])]
                for name, value in node.get("defaults", {}).items():
                    changes.append("`%s` is %s by default" % (name, json.dumps(value)))
                return ["%s; %s." % (line, ", ".join(changes)) if changes else line + ".", ""]
            return ["%s: %s." % (title, "`{}`" if node["$ref"] == "Empty" else self.link(node["$ref"])), ""]
        lines = self.table(node, title.lower(), defaults) + list(self.needs(node))
        if node.get("open"):
            lines += ["%s: any members%s." % (title, " besides" if lines else ""), ""]
        return lines or ["%s: none." % title, ""]

    def method(self, source):
        lines = ["## `%s`" % source["name"], "", source["summary"], "", joined(source), ""]
        if source.get("ownerOnly"):
            lines += ["Another user than that of the service is refused (-32014).", ""]
        lines += self.shape("Parameter", source["params"], True)
        lines += self.shape("Result", source["result"], False)
        if source["errors"]:
            lines += ["Errors of its own: %s." % ", ".join("`%s`" % name for name in source["errors"]), ""]
        text = self.sources["transcripts"][source["name"]][0]["text"]
        return lines + ["```", text.rstrip("\n"), "```", ""]

    def event(self, source):
        lines = ["## `%s`" % source["name"], "", source["summary"], "", joined(source), ""]
        lines += self.shape("Member", source["params"], False)
        if "result" in source:
            lines += self.shape("Result", source["result"], False)
        return lines

    def type(self, name):
        node = self.sources["types"][name]
        lines = ["### %s" % name, "", joined(node), ""]
        if "exactlyOne" in node:
            lines += ["Exactly one of %s." % ", ".join("`%s`" % one for one in node["exactlyOne"]), ""]
        if "enum" in node:
            return lines + ["One of %s." % ", ".join("`%s`" % value for value in node["enum"]), ""]
        return lines + self.table(node, "member", name in self.sent) + list(self.needs(node))

    def needs(self, node):
        """A line for each member that must accompany another."""
        for name, cases in node.get("needs", {}).items():
            for value, others in cases.items():
                needed = " and ".join("`%s`" % one for one in others)
                given = "`%s`" % name if value == "*" else "`%s` `%s`" % (name, value)
                yield from ["With %s, %s must be there." % (given, needed), ""]

    def topics(self):
        lines = ["## Topics", "", "What can be watched with `events.subscribe`. `detail` holds members of"]
        lines += [self.link("MonitorDetail") + "; those with a question mark are not always there.", ""]
        lines += ["| topic | level | | detail |", "| --- | --- | --- | --- |"]
        for topic in self.sources["topics"]:
            detail = ", ".join("`%s`" % one for one in topic["detail"])
            lines.append("| `%s` | %s | %s | %s |" % (topic["name"], topic["level"], topic["summary"], detail))
        return lines + [""]

    def features(self):
        lines = ["## Features", "", "`features` of `server.info`, which `server.hello` takes in `require`.", ""]
        pairs = sorted(self.sources["info"]["features"].items())
        return lines + ["| feature | |", "| --- | --- |"] + ["| `%s` | %s |" % pair for pair in pairs] + [""]

    def text(self):
        """The page of a namespace, or of the types that more than one namespace uses."""
        entries = {kind: [e for e in self.sources[kind] if namespace(e) == self.name] for kind in ENTRIES}
        listed = sum(entries.values(), [])
        title = "`%s.…`" % self.name if any("." in entry["name"] for entry in listed) else None
        about = self.sources["info"]["namespaces"].get(self.name, ABOUT_TYPES).rstrip(".")
        lines = ["# %s" % (title or TITLES[self.name]), "", about[0].upper() + about[1:] + ".", ""]
        if listed:
            lines += ["| %s | |" % " and ".join(kind[:-1] for kind in ENTRIES if entries[kind]), "| --- | --- |"]
        for source in listed:
            lines.append("| [`%s`](#%s) | %s |" % (source["name"], anchor(source["name"]), source["summary"]))
        lines += [""] if listed else []
        for source in entries["methods"]:
            lines += self.method(source)
        for source in entries["events"] + entries["callbacks"]:
            lines += self.event(source)
        lines += self.topics() if self.name == "events" else []
        types = sorted(name for name, page in self.places.items() if page == self.name)
        if types:
            lines += ["## Types", ""] if listed else []
            for name in types:
                lines += self.type(name)
        lines += self.features() if self.name == "server" else []
        return written(lines)


ENTRIES = ("methods", "events", "callbacks")
TITLES = {"lsp": "Language server", SHARED: "Types"}
ABOUT_TYPES = "The types that the entries of more than one namespace use."

ERRORS = """# Errors and failures

There are two ways in which things go wrong, and they never mix:

* The **call** could not be served: the reply is a JSON-RPC `error` with a negative code. Nothing was sent. One code is
  positive: 1411, in place of a result longer than the client's `maxMessageBytes`, which is the `limit` in `data`.
* The **exchange** failed: the reply is a result, a [Response](types.md#response) with `"ok": false`, whatever the
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
<< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"unknown parameter uri (did you mean url?)",
   "data":{"pointer":"/uri",…}}}
```

"""


def errors(sources):
    """The page of all codes."""
    yes, python = {True: "yes", False: "no"}, raised.names(sources)
    lines = ERRORS.splitlines()
    lines += ["## Errors", ""]
    lines += ["The call could not be served. Those marked with a star can be the error of any call.", ""]
    lines += ["| code | name | in Python | meaning | whose fault | worth repeating | `data` |"]
    lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
    for e in sources["errors"]["errors"]:
        name = e["name"] + (" *" if e["common"] else "")
        row = (e["code"], name, python[e["code"]], e["meaning"], e["fault"], yes[e["retryable"]], members(e))
        lines.append("| %d | %s | %s | %s | %s | %s | %s |" % row)
    lines += ["", "## Failures", ""]
    lines += ["The call was served, the exchange failed: these stand in a Response as `error`.", ""]
    for kind in dict.fromkeys(f["kind"] for f in sources["errors"]["failures"]):
        lines += ["### %s" % kind, ""]
        lines += ["| code | reason | in Python | meaning | whose fault | worth repeating | `data` |"]
        lines += ["| --- | --- | --- | --- | --- | --- | --- |"]
        for f in sources["errors"]["failures"]:
            if f["kind"] == kind:
                named = (f["code"], f.get("reason", ""), python[f["code"]])
                row = (*named, f["meaning"], f["fault"], yes[f["retryable"]], members(f))
                lines.append("| %d | %s | %s | %s | %s | %s | %s |" % row)
        lines.append("")
    lines += ["## Reserved", "", "Nothing gives these failures yet; their codes will mean this and nothing else.", ""]
    lines += ["| code | kind | reason |", "| --- | --- | --- |"]
    for one in sorted(sources["errors"]["reserved"], key=lambda one: one["code"]):
        lines.append("| %d | %s | %s |" % (one["code"], one["kind"], one.get("reason", "")))
    return written(lines)


def members(entry):
    """What stands in `data`, in a cell."""
    return "<br>".join("`%s`: %s" % pair for pair in entry["data"].items())


def settings(sources):
    lines = ["# Settings", "", joined(sources["settings"]), ""]
    lines += ["| flag | environment | type | default | |", "| --- | --- | --- | --- | --- |"]
    for s in sources["settings"]["settings"]:
        word = " \\| ".join(s["enum"]) if "enum" in s else s["type"]
        unit = ", %s" % s["unit"] if s["unit"] else ""
        default = "" if s["default"] is None else "`%s`" % json.dumps(s["default"])
        environment = "`%s`" % s["environment"] if s["environment"] else ""
        lines.append("| `%s` | %s | %s%s | %s | %s |" % (s["flag"], environment, word, unit, default, s["description"]))
    return written(lines)


def index(sources):
    """The list of all pages, and of all methods."""
    info = sources["info"]
    lines = ["# Reference", ""]
    lines += ["Version %s, protocol %d. The same as data: `rpc.discover`." % (info["version"], info["protocol"]), ""]
    lines += [*INTRODUCTION.splitlines(), "", "| page | content |", "| --- | --- |"]
    lines += ["| [protocol.md](protocol.md) | framing, order, cancellation, limits |"]
    lines += ["| [errors.md](errors.md) | every error and failure: number, fault, whether a retry helps |"]
    lines += ["| [settings.md](settings.md) | every flag, variable and default of the service |"]
    lines += ["| [types.md](types.md) | the types that more than one namespace uses |", "", "## Namespaces", ""]
    lines += ["| namespace | purpose |", "| --- | --- |"]
    for name in sorted(info["namespaces"]):
        lines.append("| [`%s`](%s.md) | %s |" % (name, name, info["namespaces"][name]))
    lines += ["", "## Methods", "", "| method | |", "| --- | --- |"]
    for source in sources["methods"]:
        place = "%s.md#%s" % (namespace(source), anchor(source["name"]))
        lines.append("| [`%s`](%s) | %s |" % (source["name"], place, source["summary"]))
    lines += ["", "## Notifications", "", "The client sends them, and the service sends no reply.", ""]
    lines += ["| notification | |", "| --- | --- |"]
    lines += ["| `%s` | %s |" % (source["name"], source["summary"]) for source in info["notifications"]]
    return written(lines)


def written(lines):
    return "\n".join(["<!-- %s -->" % MADE_BY, "", *lines]).rstrip("\n") + "\n"


def pages(sources):
    """Every page by its path."""
    homes = places(sources)
    sent = reachable([source["params"] for source in sources["methods"]], sources["types"])
    names = [*sources["info"]["namespaces"], SHARED]
    found = {name: Page(name, sources, homes, sent).text() for name in names}
    found.update(README=index(sources), errors=errors(sources), settings=settings(sources))
    return {"%s%s.md" % (FOLDER, name): text for name, text in found.items()}


def unlisted(sources):
    """Each namespace has a sentence in info.json, and a page of the reference."""
    entries = sources["methods"] + sources["events"] + sources["callbacks"]
    used, told = {namespace(entry) for entry in entries}, sources["info"]["namespaces"]
    for name in sorted(used ^ set(told)):
        yield "info.json: namespaces: %s %s" % (name, "is not described" if name in used else "has no method")


def forgotten(root, texts):
    """Generated pages that an earlier schema had."""
    for path in sorted((root / FOLDER).glob("*.md")):
        if FOLDER + path.name not in texts and MADE_BY in path.read_text("utf-8").split("\n", 1)[0]:
            yield FOLDER + path.name
