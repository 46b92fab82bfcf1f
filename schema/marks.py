# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Tables of marked members for Swift: those with secrets, and those that only the user of the service may give."""

from writers import MADE_BY, quoted


def marked(node, types, is_marked, results=(), above=()):
    """The paths of all members below a schema that are marked; any callback's result has the marked members of all."""
    if "$ref" in node:
        # a type that holds itself is looked at twice: below the member that holds it, names stay the same
        if above.count(node["$ref"]) > 1:
            return []
        above = (*above, node["$ref"])
        node = types[node["$ref"]]
    if is_marked(node):
        return [""]
    if node.get("callbackResult"):
        return list(results)
    found = [path for one in node.get("anyOf", []) for path in marked(one, types, is_marked, results, above)]
    if "items" in node:
        found += marked(node["items"], types, is_marked, results, above)
    inside = dict(node.get("properties", {}), **({"*": node["values"]} if "values" in node else {}))
    for name, item in inside.items():
        found += ["/" + name + path for path in marked(item, types, is_marked, results, above)]
    return sorted(set(found))


def swift_table(module, head, declaration, lists, tables):
    """An extension with one constant, whose arguments are lists of names and tables of paths by method."""
    lines = [
        "// " + MADE_BY,
        "// SPDX-License-Identifier: Apache-2.0",
        "// SPDX-FileCopyrightText: The Outrider authors",
        "// swift-format-ignore-file",
        "",
        "import " + module,
        "",
        "extension %s {" % declaration,
    ]
    lines += ["    /// " + head, "    static let marked = %s(" % declaration]
    parts = []
    for name, paths in tables:
        rows = ["            %s: [%s]," % (quoted(one), ", ".join(map(quoted, found))) for one, found in paths if found]
        parts.append("\n".join(["        %s: [" % name, *(rows or ["            :"]), "        ]"]))
    parts += ["        %s: [%s]" % (name, ", ".join(map(quoted, items))) for name, items in lists]
    return "\n".join([*lines, ",\n".join(parts), "    )", "}", ""])


def swift_locked(sources):
    """The members of messages that hold secrets, by method, and those of the results of callbacks."""
    types = sources["types"]

    def is_locked(node):
        return node.get("locked")

    results = sorted({path for one in sources["callbacks"] for path in marked(one["result"], types, is_locked)})
    methods = [(one["name"], marked(one["params"], types, is_locked, results)) for one in sources["methods"]]
    head = "The members that the schema marks as `locked`."
    return swift_table("OutriderRPC", head, "SecretMembers", [("results", results)], [("methods", methods)])


def swift_owner(sources):
    """The methods and members that only the user of the service may use: those marked, and files by their format."""
    types = sources["types"]
    owned = [one["name"] for one in sources["methods"] if one.get("ownerOnly")]
    others = [one for one in sources["methods"] if not one.get("ownerOnly")]
    tables = []
    for name, kind in (("files", "path"), ("urls", "url")):

        def is_marked(node, kind=kind):
            return node.get("format") == kind

        results = sorted({path for one in sources["callbacks"] for path in marked(one["result"], types, is_marked)})
        # the results of callbacks stand under no name
        rows = [(one["name"], marked(one["params"], types, is_marked, results)) for one in others]
        tables.append((name, [("", results), *rows]))
    head = "The methods that the schema marks as `ownerOnly`, and the members with the formats `path` and `url`."
    return swift_table("OutriderRPC", head, "OwnerRules", [("methods", owned)], tables)
