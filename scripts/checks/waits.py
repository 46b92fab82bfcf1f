# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Tests wait for events: no test sleeps longer than MOST_SECONDS but those of real clocks."""

import re

from .tree import Check, Tree

MOST_SECONDS = 0.2
TESTS = ("Tests/*.py", "Tests/*.swift", "clients/python/tests/*.py")
EXCUSE = "# clock: "

_PYTHON = re.compile(r"\bsleep\(([0-9.]+)\)")
_SECONDS = re.compile(r"\bsleep\(for: \.seconds\(([0-9.]+)\)")
_MILLISECONDS = re.compile(r"\bsleep\(for: \.milliseconds\(([0-9.]+)\)")


def seconds(line: str) -> float:
    """How long the line sleeps."""
    found = [float(number) for pattern in (_PYTHON, _SECONDS) for number in pattern.findall(line)]
    found += [float(number) / 1000 for number in _MILLISECONDS.findall(line)]
    return max(found, default=0.0)


def _waits(tree: Tree) -> "list[str]":
    found = []
    for name in [name for name in tree.matching(*TESTS) if not name.startswith("Tests/Checks/")]:
        for number, line in enumerate(tree.lines(name), 1):
            if seconds(line) > MOST_SECONDS and EXCUSE.strip("# ") not in line:
                found.append(f"{name}:{number}: sleeps {seconds(line)} s, at most {MOST_SECONDS}")
    return found


WAITS = Check(
    name="waits",
    summary=f"tests sleep {MOST_SECONDS} s at most",
    mend=f"wait for what happens; where a real clock must run, say why behind the line: `{EXCUSE}reason`",
    run=_waits,
)
