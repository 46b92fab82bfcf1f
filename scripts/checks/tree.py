# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What a check is, and the files that it looks at."""

import fnmatch
import functools
import pathlib
import subprocess
from typing import Callable, NamedTuple

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


class Skipped(Exception):
    """The check cannot be made here; says why."""


class Check(NamedTuple):
    """One promise: how to see whether it is kept, and what to do when it is not."""

    name: str
    summary: str
    mend: str
    run: "Callable[[Tree], list[str]]"


class Tree:
    """A checkout; with git its tracked and new files, without git all files."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root

    @functools.cached_property
    def files(self) -> "list[str]":
        listed = self.git("ls-files", "--cached", "--others", "--exclude-standard")
        if listed is None:
            found = (path for path in self.root.rglob("*") if path.is_file())
            names = [path.relative_to(self.root).as_posix() for path in found]
            return sorted(name for name in names if not name.startswith((".build/", ".git/")))
        return sorted(name for name in listed if (self.root / name).is_file())

    def git(self, *command: str) -> "list[str] | None":
        """The lines that git prints, None when this is no checkout."""
        if not (self.root / ".git").exists():
            return None
        said = subprocess.run(["git", "-C", str(self.root), *command], capture_output=True, text=True, check=False)
        return said.stdout.splitlines() if said.returncode == 0 else None

    def matching(self, *patterns: str) -> "list[str]":
        """Files that match one of the patterns, in order; `*` matches slashes, too."""
        return [name for name in self.files if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]

    @functools.lru_cache(maxsize=None)  # noqa: B019 (one tree per run)
    def text(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8", errors="replace")

    def lines(self, name: str) -> "list[str]":
        return self.text(name).splitlines()

    def is_generated(self, name: str) -> bool:
        """Generated files say so in their first three lines."""
        return any("generated" in line.lower() for line in self.lines(name)[:3])


def run(tree: Tree, *command: str) -> "tuple[int, list[str]]":
    """Status and output of a tool; a tool that is not here skips the check."""
    try:
        said = subprocess.run(
            command,
            cwd=tree.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    except FileNotFoundError:
        raise Skipped(f"{command[0]} is not here") from None
    return said.returncode, [line for line in said.stdout.splitlines() if line.strip()]
