# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The licences and notices that a package must carry: those of all that is linked; in a wheel, its libraries, too."""

import re
import shutil
import subprocess
from pathlib import Path

from . import ROOT

TABLE = ROOT / "docs/internals/licenses.md"
CHECKOUTS = ROOT / ".build/checkouts"
NAMES = ("LICENSE.txt", "NOTICE.txt", "LICENSE")
# code of others within a package, whose licence has a file of its own
WITHIN = {"swift-nio": ["Sources/CNIOLLHTTP/LICENSE"]}
SUFFIXES = """\
Public Suffix List, as far as it is compiled in: this Source Code Form is subject to the terms of the Mozilla Public
License, v. 2.0. If a copy of the MPL was not distributed with this file, You can obtain one at https://mozilla.org/MPL/2.0/.
The list is at https://publicsuffix.org/list/.
"""


def linked() -> "list[tuple[str, str, str]]":
    """Part, version and licence of all that is in the binary, from the page about licences."""
    section = TABLE.read_text().partition("## Linked into the binary")[2].partition("## ")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", section, re.MULTILINE)
    return [row for row in rows if row[0] not in ("part", "---")]


def resolved() -> "dict[str, str]":
    """The Swift packages of the manifest, with their versions."""
    manifest = (ROOT / "Package.swift").read_text()
    return dict(re.findall(r'url: "https://[^"]*/([\w-]+?)(?:\.git)?", exact: "([^"]+)"', manifest))


def notices() -> str:
    """One text: a licence that several packages have stands there once."""
    texts: "dict[str, list[str]]" = {}
    for name in sorted(resolved()):
        files = [CHECKOUTS / name / each for each in [*NAMES, *WITHIN.get(name, [])]]
        found = [file for file in files if file.is_file()]
        if not found:
            raise FileNotFoundError(f"{CHECKOUTS / name} has no licence; make build fetches the packages")
        for file in found:
            title = f"{name}: {file.relative_to(CHECKOUTS / name)}"
            texts.setdefault(file.read_text(errors="replace").strip("\n") + "\n", []).append(title)
    toolchain = toolchain_licence()
    if toolchain:
        texts.setdefault(toolchain.strip("\n") + "\n", []).append("Swift runtime and library")
    parts = ["What the binary of Outrider contains:\n\n"
             + "".join(f"  {part} ({version}): {licence}\n" for part, version, licence in linked())]
    parts += ["\n".join(titles) + "\n\n" + text for text, titles in texts.items()]
    return ("\n" + "-" * 80 + "\n\n").join([*parts, SUFFIXES])


def toolchain_licence() -> "str | None":
    compiler = shutil.which("swiftc")
    file = Path(compiler).resolve().parents[1] / "share/swift/LICENSE.txt" if compiler else None
    return file.read_text() if file and file.is_file() else None


def of_library(path: Path) -> "tuple[str, str] | None":
    """The Debian package of a library, and its copyright."""
    for name in {str(path), str(path).removeprefix("/usr"), f"/usr{path}"}:
        found = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True)
        if found.returncode == 0:
            package = found.stdout.split(":")[0]
            text = Path(f"/usr/share/doc/{package}/copyright")
            return (package, text.read_text(errors="replace")) if text.is_file() else None
    return None
