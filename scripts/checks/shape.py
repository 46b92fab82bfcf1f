# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The shape of files: how long, whose, and which of them git may know."""

import re

from .tree import Check, Tree

MOST_LINES = {"Makefile": 60}
HARD_LIMIT = 400
LICENCE = "SPDX-License-Identifier: Apache-2.0"
AUTHORS = "SPDX-FileCopyrightText: The Outrider authors"

_SOURCES = ("*.swift", "*.py", "*.sh", "*.h", "*.lua", "*.el", "Makefile", "scripts/*", ".ci/*", "clients/shell/*")
_PRODUCTS = re.compile(
    r"(^|/)(Package\.resolved|\.build|__pycache__|\.venv|\.pytest_cache|[^/]+\.egg-info|[^/]+\.pyc)(/|$)"
)


def _sources(tree: Tree) -> "list[str]":
    """Everything that people write as code; not samples, not unit files, not texts."""
    found = tree.matching(*_SOURCES)
    return [
        name
        for name in found
        if "/Fixtures/" not in name and not name.startswith("scripts/systemd/") and not name.endswith(".json")
    ]


def _sizes(tree: Tree) -> "list[str]":
    found = []
    for name in _sources(tree):
        length, most = len(tree.lines(name)), MOST_LINES.get(name, HARD_LIMIT)
        if length > most and not tree.is_generated(name):
            found.append(f"{name}: {length} lines, at most {most}")
    return found


def _headers(tree: Tree) -> "list[str]":
    found = []
    for name in _sources(tree):
        head = "\n".join(tree.lines(name)[:6])
        if tree.text(name).strip() and not (LICENCE in head and AUTHORS in head):
            found.append(f"{name}: the licence header is missing")
    if "LICENSE" not in tree.files:
        found.append("LICENSE is not here")
    return found


def _tracked(tree: Tree) -> "list[str]":
    listed = tree.git("ls-files")
    return [f"{name} is tracked" for name in listed or [] if _PRODUCTS.search(name)]


SIZES = Check(
    name="sizes",
    summary=f"no file has more than {HARD_LIMIT} lines, generated ones excepted",
    mend="give the second idea in the file a file of its own",
    run=_sizes,
)
HEADERS = Check(
    name="headers",
    summary="every source file begins with the two SPDX lines",
    mend=f"begin the file with two comment lines: `{LICENCE}` and `{AUTHORS}`",
    run=_headers,
)
TRACKED = Check(
    name="tracked",
    summary="nothing that is built is in the repository",
    mend="git rm -r --cached on it; .gitignore keeps it out",
    run=_tracked,
)
