# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A tiny house in perfect order, for faults to be planted in."""

import pathlib
import shutil
import subprocess
import sys
from typing import NamedTuple

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
SWIFT_HEAD = "// SPDX-License-Identifier: Apache-2.0\n// SPDX-FileCopyrightText: The Outrider authors\n\n"
HASH_HEAD = "# SPDX-License-Identifier: Apache-2.0\n# SPDX-FileCopyrightText: The Outrider authors\n"

PACKAGE = """// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import PackageDescription

let package = Package(
    name: "tiny",
    targets: [
        .target(
            name: "OutriderRPC",
            dependencies: [
                "OutriderJSON"
            ],
            swiftSettings: []
        )
    ]
)
"""
CLEAN = {
    "LICENSE": "Apache-2.0\n",
    "Makefile": HASH_HEAD + "all:\n",
    "Package.swift": PACKAGE,
    "README.md": "# Tiny\n\nSee [the methods](docs/methods.md#serverinfo) and [below](#below).\n\n## Below\n",
    "Sources/OutriderRPC/Framing/Frame.swift": SWIFT_HEAD + "import OutriderJSON\n\npackage struct Frame {}\n",
    "Sources/OutriderRPC/Calls/Call.swift": SWIFT_HEAD + "package struct Call {\n    var frame: Frame\n}\n",
    "clients/python/src/outrider/__init__.py": HASH_HEAD + "def one() -> int:\n    return 1\n",
    "docs/methods.md": "# Methods\n\n### `server.info`\n",
    "schema/assemble.py": HASH_HEAD + "import sys\n\nsys.exit(0)\n",
    "schema/methods/server.info.json": "{}\n",
}


class Outcome(NamedTuple):
    status: int
    text: str


class House:
    """A folder with the clean files; `write` plants a fault, `check` runs scripts/check on it."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        for name, text in CLEAN.items():
            self.write(name, text)
        shutil.copy(CHECKOUT / ".swift-format", root)
        self.copy_program("/bin/true")
        self.git("init", "--quiet")
        self.write(".gitignore", ".build/\n")
        self.git("add", "--all")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def copy_program(self, program: str) -> None:
        place = self.root / ".build/debug/outrider"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(program, place)

    def git(self, *command: str) -> None:
        subprocess.run(["git", "-C", str(self.root), *command], check=True, capture_output=True)

    def check(self, *names: str) -> Outcome:
        only = [f"--only={name}" for name in names]
        said = subprocess.run(
            [sys.executable, str(CHECKOUT / "scripts/check"), f"--root={self.root}", *only],
            capture_output=True,
            text=True,
            timeout=120,
        )
        return Outcome(said.returncode, said.stdout + said.stderr)
