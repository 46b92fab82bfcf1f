# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""How Outrider is installed: the files of an installation, the Debian package, the Python wheel."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUMMARY = "HTTP for editors, scripts and shells through one service"


def version() -> str:
    """The version of the program."""
    source = (ROOT / "Sources/outrider/Client/ProgramVersion.swift").read_text()
    return re.search(r'"(\d+\.\d+\.\d+[^"]*)"', source).group(1)
