# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Circles between the folders of a target, seen by the type names that files declare and mention.

A room is a folder of a target, or a file that stands outside any. One room stands on another when it mentions
a type that only the other declares. Rooms that stand on each other, directly or around, are a circle. Files of one
folder may know each other; so may files that stand side by side outside any folder.
"""

import re

from . import swift
from .tree import Check, Tree

_WORD = re.compile(r"(?<![\w.`])[A-Z]\w*")

# room -> room it stands on -> one example of why
Graph = "dict[str, dict[str, str]]"


def graph(tree: Tree, target: str) -> "dict[str, dict[str, str]]":
    """Which room of the target stands on which."""
    prefix = f"Sources/{target}/"
    sources = {name: swift.code(tree.text(name)) for name in tree.matching(prefix + "*.swift")}
    rooms = {name: name[len(prefix) :].split("/")[0] for name in sources}
    declared: "dict[str, set[str]]" = {}
    for name, source in sources.items():
        for type_name in swift.types(source):
            declared.setdefault(type_name, set()).add(rooms[name])
    stands: "dict[str, dict[str, str]]" = {room: {} for room in rooms.values()}
    for name, source in sources.items():
        own = swift.all_types(source)
        for word in sorted(set(_WORD.findall(source)) - own):
            homes = declared.get(word, set())
            if len(homes) == 1 and rooms[name] not in homes:
                stands[rooms[name]].setdefault(next(iter(homes)), f"{name[len(prefix):]} mentions {word}")
    return stands


def circles(stands: "dict[str, dict[str, str]]") -> "list[list[str]]":
    """A shortest way around from every room that lies on a circle; each circle once, and not those of files alone."""
    found: "dict[frozenset[str], list[str]]" = {}
    for start in sorted(stands):
        ways = [[start]]
        seen: "set[str]" = set()
        while ways:
            way = ways.pop(0)
            for room in sorted(stands[way[-1]]):
                if room == start:
                    found.setdefault(frozenset(way), way)
                    ways = []
                    break
                if room not in seen:
                    seen.add(room)
                    ways.append([*way, room])
    return [way for way in found.values() if any(not room.endswith(".swift") for room in way)]


def _circles(tree: Tree) -> "list[str]":
    found = []
    for target in sorted({name.split("/")[1] for name in tree.matching("Sources/*/*.swift")}):
        stands = graph(tree, target)
        for way in circles(stands):
            found.append(f"{target}: " + " → ".join([*way, way[0]]))
            for here, there in zip(way, [*way[1:], way[0]]):
                found.append(f"    {here} → {there}: {stands[here][there]}")
    return found


CIRCLES = Check(
    name="circles",
    summary="no two folders of a target stand on each other",
    mend="move the vocabulary that both need down into the lower folder (or one of its own), the behaviour up",
    run=_circles,
)
