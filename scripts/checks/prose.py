# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The language of comments, docs and messages: nouns for subjects, no riddles.

A part (a Swift target, the Python client, the schema, one page) may hold no word of RIDDLES, and at most MOST_PRONOUNS
per 100 words; in tests, scripts and benchmarks only the words of RIDDLES count. `prose.json` lists the parts that are
not there yet, each with the figures that it must not exceed; `python3 scripts/checks/prose.py --lower` brings the
figures down to what was reached, and never up.
"""

import ast
import json
import pathlib
import re
import sys
from typing import Iterator, NamedTuple

if __package__:
    from .tree import Check, Tree
else:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    from checks.tree import Check, Tree

ALLOWANCES = "scripts/checks/prose.json"
MOST_PRONOUNS = 2.0
# a rate of fewer words is chance
FEWEST_WORDS = 300
RIDDLES = {"whoever", "somebody", "nobody", "anybody"}
PRONOUNS = RIDDLES | {"who", "whom", "it", "one", "what", "those", "elsewhere", "somewhere"}
CODE = re.compile(r"`[^`]*`|\[[^\]]*\]\([^)]*\)")
FENCE = re.compile(r"^\s*```")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
WORD = re.compile(r"[a-z]+")
SENTENCES = ("description", "summary", "meaning", "remedy")
TITLE = re.compile(r"func `([^`]*)`")
ROOMS = ("Tests/*.swift", "Tests/*.py", "Benchmarks/*.py", "scripts/*", "schema/*.py", "clients/python/tests/*.py")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "clients/*.md", "schema/*.md")


class Figures(NamedTuple):
    """What one part holds."""

    words: int = 0
    pronouns: int = 0
    riddles: int = 0

    def __add__(self, other: "Figures") -> "Figures":  # type: ignore[override]
        return Figures(*(one + more for one, more in zip(self, other)))

    @property
    def rate(self) -> float:
        """Pronouns per 100 words, in tenths."""
        return round(100 * self.pronouns / self.words, 1) if self.words >= FEWEST_WORDS else 0.0


def figures(text: str) -> Figures:
    words = WORD.findall(CODE.sub(" ", text).lower())
    return Figures(len(words), sum(word in PRONOUNS for word in words), sum(word in RIDDLES for word in words))


def page(lines: "list[str]") -> str:
    """The sentences of a page: without tables, and without what stands between fences."""
    kept, is_code = [], False
    for line in lines:
        if FENCE.match(line):
            is_code = not is_code
        elif not is_code and not line.lstrip().startswith("|"):
            kept.append(line)
    return "\n".join(kept)


def swift(lines: "list[str]") -> Figures:
    comments = "\n".join(line.lstrip()[3:] for line in lines if line.lstrip().startswith("///"))
    messages = " ".join(text for line in lines if "//" not in line for text in STRING.findall(line))
    return figures(comments) + Figures(riddles=figures(messages).riddles)


def docstrings(text: str) -> "list[str]":
    """Those of a program in Python; none of another."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]


def notes(name: str, lines: "list[str]") -> Figures:
    """The riddles in comments, docstrings and the titles of tests."""
    mark = "//" if name.endswith(".swift") else "#"
    said = [line.strip() for line in lines if line.lstrip().startswith(mark)]
    text = "\n".join(lines)
    said += TITLE.findall(text) if name.endswith(".swift") else docstrings(text)
    return Figures(riddles=figures("\n".join(said)).riddles)


def descriptions(value: object) -> "Iterator[str]":
    if isinstance(value, dict):
        for name, member in value.items():
            if isinstance(member, str) and name in SENTENCES:
                yield member
            elif isinstance(member, list) and name in SENTENCES:
                yield from (each for each in member if isinstance(each, str))
            else:
                yield from descriptions(member)
    elif isinstance(value, list):
        for member in value:
            yield from descriptions(member)


def parts(tree: Tree) -> "dict[str, Figures]":
    found: "dict[str, Figures]" = {}

    def add(part: str, more: Figures) -> None:
        found[part] = found.get(part, Figures()) + more

    for name in tree.matching("Sources/*.swift"):
        if not tree.is_generated(name):
            add("/".join(name.split("/")[:2]), swift(tree.lines(name)))
    for name in tree.matching("clients/python/src/*.py"):
        if not tree.is_generated(name):
            add("clients/python/src", figures("\n".join(DOCSTRING.findall(tree.text(name)))))
    for name in tree.matching("schema/*.json"):
        if not name.endswith("openrpc.json"):
            add("schema", figures("\n".join(descriptions(json.loads(tree.text(name))))))
    for name in tree.matching(*ROOMS):
        if not tree.is_generated(name):
            folders = name.split("/")[:-1]
            add("/".join(folders[:2] if folders[0] == "Tests" else folders), notes(name, tree.lines(name)))
    for name in tree.matching(*PAGES):
        if not tree.is_generated(name):
            add(name, figures(page(tree.lines(name))))
    return found


def allowances(tree: Tree) -> "dict[str, list[float]]":
    return json.loads(tree.text(ALLOWANCES)) if ALLOWANCES in tree.files else {}


def _prose(tree: Tree) -> "list[str]":
    allowed, found = allowances(tree), []
    for part, seen in sorted(parts(tree).items()):
        rate, riddles = allowed.get(part, [MOST_PRONOUNS, 0])
        if seen.rate > rate:
            found.append(f"{part}: {seen.rate} pronouns per 100 words, at most {rate}")
        if seen.riddles > riddles:
            found.append(f"{part}: {seen.riddles} of {', '.join(sorted(RIDDLES))}; at most {riddles:.0f}")
    return found


PROSE = Check(
    "prose",
    "comments, docs and messages name what acts",
    "write the noun in place of the pronoun: \"Nil if the request must not authenticate\"",
    _prose,
)


def lower(tree: Tree) -> None:
    """Brings each allowance down to what its part holds; a part that keeps the rule needs none."""
    allowed = allowances(tree)
    kept = {}
    for part, seen in sorted(parts(tree).items()):
        rate, riddles = allowed.get(part, [MOST_PRONOUNS, 0]) if allowed else [100.0, sys.maxsize]
        rate, riddles = max(MOST_PRONOUNS, min(rate, seen.rate)), min(riddles, seen.riddles)
        if rate > MOST_PRONOUNS or riddles > 0:
            kept[part] = [rate, riddles]
    lines = ",\n".join(f"  {json.dumps(part)}: [{rate}, {riddles}]" for part, (rate, riddles) in kept.items())
    (tree.root / ALLOWANCES).write_text("{\n" + lines + "\n}\n", encoding="utf-8")


if __name__ == "__main__" and "--lower" in sys.argv[1:]:
    lower(Tree(pathlib.Path(__file__).resolve().parents[2]))
