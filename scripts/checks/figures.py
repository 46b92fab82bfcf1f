# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""How the house is built, in figures: each function below says how it counts.

Generated files do not count, and `swift.py` blanks comments and strings of Swift first.
"""

import re
import statistics
from typing import Iterator, NamedTuple

from . import circles, prose, swift
from .tree import Tree

LONG_FUNCTION = 40
LONG_FILE = 400
# fewer lines in a row are alike by chance
COPIED_LINES = 12

_FUNCTION = re.compile(r"(?:\bfunc\s+(?:`[^`]+`|[^\s(<]+)|\binit[?!]?|\bdeinit|\bsubscript)(?=\s*[(<{])")
_NEXT = re.compile(r"\n\s*(?:\}|(?:func|var|let|init|static|mutating|case)\b)")
_TYPE = re.compile(r"\b(?:struct|class|enum|actor)\s+(\w+)[^{}\n;=]*\{")
_FIELD = re.compile(
    r"^[ \t]*(?:@\w+(?:\([^)]*\))?[ \t]+)*(?!.*\bstatic\b)(?:[a-z()]+[ \t]+)*(?:var|let)[ \t]+\w+[^{\n]*$", re.MULTILINE
)
_WORD = re.compile(r"(?<![\w.`])[A-Z]\w*")
# the second way of one call, from the time when plain requests had a way of their own
_TWIN = re.compile(
    r"\b(?:func\s+\w*AtOnce|(?:struct|class|enum|protocol|typealias)\s+(?:\w*(?:Lane|AtOnce)|Begun(?:Method|Call)|Beginner))\b"
)


class Function(NamedTuple):
    place: str
    lines: int


class State(NamedTuple):
    """A type and the number of its stored properties."""

    name: str
    fields: int


def sources(tree: Tree) -> "dict[str, str]":
    """The code of each Swift file in Sources, comments and strings blanked."""
    names = [name for name in tree.matching("Sources/*.swift") if not tree.is_generated(name)]
    return {name: swift.code(tree.text(name)) for name in names}


def _closing(code: str, opening: int) -> int:
    depth = 0
    for place in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[place], 0)
        if depth == 0:
            return place
    return len(code) - 1


def functions(code: "dict[str, str]") -> "Iterator[Function]":
    """Functions with a body; lines from `func` to the brace that closes it. Requirements of protocols have none."""
    for name, text in code.items():
        for match in _FUNCTION.finditer(text):
            following = _FUNCTION.search(text, match.end())
            end = text.find("{", match.end(), following.start() if following else len(text))
            next_one = _NEXT.search(text, match.end())
            if end < 0 or (next_one and next_one.start() < end):
                continue
            number = text.count("\n", 0, match.start()) + 1
            yield Function(f"{name}:{number}", text.count("\n", match.start(), _closing(text, end)) + 1)


def states(code: "dict[str, str]") -> "Iterator[State]":
    """Types with their stored properties; those of types inside them are their own."""
    for text in code.values():
        for match in _TYPE.finditer(text):
            body = text[match.end() : _closing(text, match.end() - 1)]
            yield State(match.group(1), len(_FIELD.findall(_outermost(body))))


def _outermost(body: str) -> str:
    """What stands in no further braces; `{` stays, so that a computed property is not taken for a stored one."""
    kept, depth = [], 0
    for sign in body:
        depth -= sign == "}"
        if depth == 0 or sign == "\n":
            kept.append(sign)
        depth += sign == "{"
    return "".join(kept)


def on_circles(code: "dict[str, str]") -> "set[str]":
    """Files of one target that mention each other's types, directly or around."""
    found: "set[str]" = set()
    for target in {name.split("/")[1] for name in code}:
        files = {name: text for name, text in code.items() if name.split("/")[1] == target}
        homes: "dict[str, set[str]]" = {}
        for name, text in files.items():
            for declared in swift.types(text):
                homes.setdefault(declared, set()).add(name)
        edges: "dict[str, set[str]]" = {}
        for name, text in files.items():
            words = set(_WORD.findall(text)) - set(swift.all_types(text))
            edges[name] = {next(iter(homes[word])) for word in words if len(homes.get(word, ())) == 1} - {name}
        found |= {name for name in files if name in _reached(edges, name)}
    return found


def _reached(edges: "dict[str, set[str]]", start: str) -> "set[str]":
    seen: "set[str]" = set()
    todo = list(edges[start])
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(edges[name])
    return seen


def copied(code: "dict[str, str]") -> int:
    """Lines of code in runs of COPIED_LINES or more that stand in two places; brackets alone are no line."""
    seen: "dict[tuple[str, ...], tuple[str, int]]" = {}
    twice: "set[tuple[str, int]]" = set()
    for name, text in code.items():
        lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"))]
        lines = [(number, line) for number, line in lines if re.search(r"\w", line) and not line.startswith("import ")]
        for index in range(len(lines) - COPIED_LINES + 1):
            run = lines[index : index + COPIED_LINES]
            key = tuple(line for _, line in run)
            if key in seen:
                twice |= {(name, number) for number, _ in run}
            else:
                seen[key] = (name, index)
    return len(twice)


def touched(tree: Tree) -> "tuple[float, float]":
    """Hand-written files that one method needs, on average, and the share of methods whose file is called after them.

    `cookies.list` needs a file in schema/methods, a transcript, and each file of Sources that mentions the type
    `CookiesList`, or the text "cookies.list" where no type has that name. Commands that call the method do not count.
    """
    methods = [name[len("schema/methods/") : -len(".json")] for name in tree.matching("schema/methods/*.json")]
    names = [name for name in tree.matching("Sources/*.swift") if not name.startswith("Sources/outrider/")]
    texts = {name: tree.text(name) for name in names if not tree.is_generated(name)}
    types = {declared.lower(): declared for text in texts.values() for declared in swift.types(text)}
    files = {name.rsplit("/", 1)[1].lower() for name in texts}
    needed, placed = [], 0
    for method in methods:
        plain = method.replace(".", "").lower()
        word = re.compile(rf"\b{types[plain]}\b" if plain in types else rf'"{re.escape(method)}"')
        needed.append(2 + sum(word.search(text) is not None for text in texts.values()))
        placed += f"{plain}.swift" in files
    return (statistics.mean(needed), placed / len(methods)) if methods else (0.0, 0.0)


def _prose(tree: Tree) -> "dict[str, str]":
    parts = prose.parts(tree)
    code = [seen for part, seen in parts.items() if part.startswith("Sources/")]
    pages = {part: seen for part, seen in parts.items() if part.endswith(".md")}
    worst = max(pages, key=lambda part: pages[part].rate, default="")
    rate = 100 * sum(seen.pronouns for seen in code) / max(1, sum(seen.words for seen in code))
    found = {"pronouns per 100 words of Swift comments": f"{rate:.1f}"}
    if pages:
        every = 100 * sum(seen.pronouns for seen in pages.values()) / max(1, sum(seen.words for seen in pages.values()))
        found["pronouns per 100 words of pages"] = f"{every:.1f}"
        found["worst page"] = f"{pages[worst].rate} ({worst.rsplit('/', 1)[-1]})"
    found["riddles (whoever, nobody, …)"] = str(sum(seen.riddles for seen in parts.values()))
    return found


def _python(tree: Tree) -> "dict[str, str]":
    names = tree.matching("clients/python/src/*.py", "clients/python/src/*.pyi")
    if not names:
        return {}
    written = [name for name in names if not tree.is_generated(name)]
    lines = sum(len(tree.lines(name)) for name in written)
    more = sum(len(tree.lines(name)) for name in names) - lines
    return {"Python client, lines by hand": str(lines), "Python client, generated lines": str(more)}


def figures(tree: Tree) -> "dict[str, str]":
    """Every figure by its name."""
    code = sources(tree)
    lengths = sorted(len(tree.lines(name)) for name in code) or [0]
    every = list(functions(code))
    largest = max(states(code), key=lambda state: state.fields, default=State("-", 0))
    around = on_circles(code)
    found = {
        "Swift files": str(len(code)),
        "lines, median / largest": f"{statistics.median(lengths):.0f} / {lengths[-1]}",
        f"files over {LONG_FILE} lines": str(sum(length > LONG_FILE for length in lengths)),
        "functions": str(len(every)),
        f"functions over {LONG_FUNCTION} lines": str(sum(one.lines > LONG_FUNCTION for one in every)),
        "files on circles": f"{len(around)} ({100 * len(around) / max(1, len(code)):.0f} %)",
        "folders on circles": str(sum(len(circles.circles(circles.graph(tree, target))) for target in _targets(code))),
        "fields of the largest type": f"{largest.fields} ({largest.name})",
        "twins by name": str(sum(len(_TWIN.findall(text)) for text in code.values())),
        f"lines in copies of {COPIED_LINES} or more": str(copied(code)),
        **_prose(tree),
        **_python(tree),
    }
    places, placed = touched(tree)
    if places:
        found["files to touch for a method"] = f"{places:.1f}"
        found["methods found by their name"] = f"{100 * placed:.0f} %"
    return {**found, **_sizes(tree)}


def _targets(code: "dict[str, str]") -> "set[str]":
    return {name.split("/")[1] for name in code}


def _sizes(tree: Tree) -> "dict[str, str]":
    """Lines of tests, of pages that people write, and of what is generated from the schema."""
    tests = sum(len(tree.lines(name)) for name in tree.matching("Tests/*.swift"))
    scenes = sum(len(tree.lines(name)) for name in tree.matching("Tests/*.py"))
    pages = [name for name in tree.matching("docs/*.md") if not tree.is_generated(name)]
    longest = max((len(tree.lines(name)) for name in tree.matching("docs/*.md")), default=0)
    found = {"lines of Swift tests": str(tests), "lines of Python tests": str(scenes)}
    if pages:
        found["pages by hand, lines"] = f"{len(pages)}, {sum(len(tree.lines(name)) for name in pages)}"
        found["longest page"] = str(longest)
    return found
