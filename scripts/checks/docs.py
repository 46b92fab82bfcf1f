# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Texts: links lead to a place, pages are listed, generated ones are up to date."""

import functools
import posixpath
import re
import sys

from .tree import Check, Tree, run

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"!?\[[^\]]*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def _blank(match: "re.Match[str]") -> str:
    return re.sub(r"[^\n]", " ", match.group())


@functools.lru_cache(maxsize=None)
def _anchors(text: str) -> "set[str]":
    """The names that a heading can be linked by: lower case, no punctuation, hyphens for spaces."""
    found: "set[str]" = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    for heading in _HEADING.findall(_FENCE.sub(_blank, text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        copy, number = slug, 0
        while copy in found:
            number += 1
            copy = f"{slug}-{number}"
        found.add(copy)
    return found


def _links(tree: Tree) -> "list[str]":
    found = []
    folders = {posixpath.dirname(name) for name in tree.files}
    folders |= {posixpath.dirname(folder) for folder in folders}
    for name in tree.matching("*.md"):
        text = _SPAN.sub(_blank, _FENCE.sub(_blank, tree.text(name)))
        for match in _LINK.finditer(text):
            target, _, anchor = match.group(1).partition("#")
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            place = posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) if target else name
            number = text.count("\n", 0, match.start()) + 1
            if place not in tree.files and place.rstrip("/") not in folders:
                found.append(f"{name}:{number}: {match.group(1)} leads nowhere")
            elif anchor and place.endswith(".md") and anchor not in _anchors(tree.text(place)):
                found.append(f"{name}:{number}: {match.group(1)}: no such heading")
    return found


def _schema(tree: Tree) -> "list[str]":
    if "schema/assemble.py" not in tree.files:
        return ["schema/assemble.py is not here"]
    status, said = run(tree, sys.executable, "-B", "schema/assemble.py", "--check")
    return (said or ["it failed and said nothing"]) if status != 0 else []


def _targets(tree: Tree, name: str) -> "set[str]":
    """The files that a page links to."""
    text, folder = _FENCE.sub(_blank, tree.text(name)), posixpath.dirname(name)
    found = (match.group(1).partition("#")[0] for match in _LINK.finditer(text))
    return {posixpath.normpath(posixpath.join(folder, target)) for target in found if target}


def _docs(tree: Tree) -> "list[str]":
    found = []
    for place in tree.matching("schema/methods/*.json"):
        method = place[len("schema/methods/") : -len(".json")]
        page = f"docs/reference/{method.split('.')[0] if '.' in method else 'lsp'}.md"
        if page not in tree.files or method.replace(".", "").lower() not in _anchors(tree.text(page)):
            found.append(f"{page}: {method} is not described")
    for page in tree.matching("docs/*.md"):
        folder = posixpath.dirname(page) + "/README.md"
        lists = [name for name in dict.fromkeys((folder, "docs/README.md")) if name in tree.files and name != page]
        if page != "docs/README.md" and not any(page in _targets(tree, name) for name in lists):
            found.append(f"{page}: no list of pages names it: {' or '.join(lists) or folder}")
    return found


LINKS = Check(
    name="links",
    summary="links in Markdown files lead to files and headings that exist",
    mend="correct the link, or the heading that it names",
    run=_links,
)
SCHEMA = Check(
    name="schema",
    summary="openrpc.json and the Swift and Python tables are what schema/ says",
    mend="make schema",
    run=_schema,
)
DOCS = Check(
    name="docs",
    summary="docs/reference describes every method of the schema, and the lists of pages name every page",
    mend="make docs; name the page in docs/README.md",
    run=_docs,
)
