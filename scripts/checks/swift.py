# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A very small reader of Swift: enough to tell code from comments and strings."""

import re

# In this order: what begins first wins. A string's interpolations count as string; good enough to look for words.
_TOKEN = re.compile(
    r"""
    (?P<line>//[^\n]*)
  | (?P<block>/\*.*?\*/)
  | (?P<raw>(?P<hashes>\#+)(?P<quotes>\"\"\"|\").*?(?P=quotes)(?P=hashes))
  | (?P<long>\"\"\".*?\"\"\")
  | (?P<text>"(?:\\.|[^"\\\n])*")
    """,
    re.VERBOSE | re.DOTALL,
)


def code(source: str) -> str:
    """The source with comments and the insides of strings blanked; lines stay where they are."""

    def blank(match: "re.Match[str]") -> str:
        kept = '"' if match.group("line") is None and match.group("block") is None else " "
        found = match.group()
        inside = re.sub(r"[^\n]", " ", found[1:-1])
        return kept + inside + kept if len(found) > 1 else " "

    return _TOKEN.sub(blank, source)


def comments(source: str) -> "list[tuple[int, str]]":
    """Every comment with the number of its first line, from 1."""
    return [
        (source.count("\n", 0, match.start()) + 1, match.group())
        for match in _TOKEN.finditer(source)
        if match.group("line") is not None or match.group("block") is not None
    ]


def comment_above(lines: "list[str]", index: int) -> str:
    """The comment that stands directly above the line, attributes between them ignored."""
    found: "list[str]" = []
    for line in reversed(lines[:index]):
        stripped = line.strip()
        if stripped.startswith("//"):
            found.append(stripped)
        elif not stripped.startswith("@"):
            break
    return "\n".join(reversed(found))


_TOP_LEVEL = re.compile(
    r"^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:package|internal|private|fileprivate|final|indirect|public|nonisolated)\s+)*"
    r"(?:struct|enum|class|actor|protocol|typealias)\s+(\w+)",
    re.MULTILINE,
)
_NESTED = re.compile(r"\b(?:struct|enum|class|actor|protocol|typealias|associatedtype)\s+(\w+)")


def types(stripped: str) -> "list[str]":
    """The types that blanked code declares at its top level."""
    return _TOP_LEVEL.findall(stripped)


def all_types(stripped: str) -> "set[str]":
    """The same with those inside other types."""
    return set(_NESTED.findall(stripped))


_IMPORT = re.compile(
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:package|internal|private|fileprivate|public)\s+)?"
    r"import\s+(?:(?:struct|class|enum|protocol|typealias|func|let|var)\s+)?(\w+)",
    re.MULTILINE,
)


def imports(stripped: str) -> "list[tuple[int, str]]":
    """The modules that blanked code imports, with line numbers from 1."""
    return [(stripped.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in _IMPORT.finditer(stripped)]
