# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Each figure of `scripts/figures` counts what its name says."""

import subprocess
import sys

import pytest
from house import CHECKOUT, SWIFT_HEAD

sys.path.append(str(CHECKOUT / "scripts"))
from checks import figures  # noqa: E402
from checks.tree import Tree  # noqa: E402

RPC = "Sources/OutriderRPC/"
LONG = SWIFT_HEAD + "func f() {\n" + "    g(1)\n" * 39 + "}\nfunc g() {\n" + "    f()\n" * 38 + "}\n"
KINDS = """protocol P {
    func required()
    var name: String { get }
}
struct State {
    static let limit = 1
    private(set) var one = 1
    let two: [Int: String]
    @Guarded var three: Int?
    var computed: Int { one }
    func f() { let local = 1 }
    struct Inner { var a = 1 }
}
"""
# a file of Swift, the figure that must change, and what it must be then
FIGURES = [
    (RPC + "A.swift", LONG, "functions over 40 lines", "1"),
    (RPC + "A.swift", SWIFT_HEAD + "//\n" * 400, "files over 400 lines", "1"),
    (RPC + "A.swift", SWIFT_HEAD + KINDS, "fields of the largest type", "3 (State)"),
    (RPC + "A.swift", SWIFT_HEAD + KINDS, "functions", "1"),
    (RPC + "Framing/A.swift", SWIFT_HEAD + "struct A { var call: Call }\n", "files on circles", "0 (0 %)"),
    (RPC + "Framing/Frame.swift", SWIFT_HEAD + "struct Frame { var call: Call }\n", "files on circles", "2 (67 %)"),
    (RPC + "A.swift", SWIFT_HEAD + "func replyAtOnce() {}\nclass FastLane {}\n", "twins by name", "2"),
    (RPC + "A.swift", SWIFT_HEAD + "// func replyAtOnce() {}\n", "twins by name", "0"),
    (RPC + "A.swift", SWIFT_HEAD + "".join(f"f({n})\n" for n in range(14)) * 2, "lines in copies of 12 or more", "14"),
    (RPC + "A.swift", SWIFT_HEAD + "/// It is one that nobody has.\n", "riddles (whoever, nobody, …)", "1"),
    ("clients/python/src/outrider/a.py", "a = 1\n" * 50, "Python client, lines by hand", "66"),
    (RPC + "A.swift", SWIFT_HEAD + "struct A {}\n", "methods found by their name", "100 %"),
    (RPC + "A.swift", SWIFT_HEAD + "struct A {}\n", "files to touch for a method", "3.0"),
    (RPC + "A.swift", SWIFT_HEAD + "let all = [ServerInfo.self]\n", "files to touch for a method", "4.0"),
    ("schema/methods/server.log.json", "{}\n", "methods found by their name", "50 %"),
    ("docs/a.md", "# A\n" * 3, "longest page", "11"),
]


@pytest.mark.parametrize("place, text, figure, said", FIGURES, ids=[f"{row[2]}-{n}" for n, row in enumerate(FIGURES)])
def test_a_figure_counts_what_it_says(house, place, text, figure, said):
    house.write(place, text)
    assert figures.figures(Tree(house.root))[figure] == said


def test_a_table_has_a_column_for_each_state(house):
    said = subprocess.run(
        [sys.executable, str(CHECKOUT / "scripts/figures"), str(house.root), str(house.root)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert len({len(line) for line in said}) == 1
    assert said[0].count(house.root.name) == 2 and said[2].split("|")[1].strip() == "Swift files"
