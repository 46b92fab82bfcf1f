# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Clocks that tests set, of real processes; see the fixture `clocks`.

    with Service(store, log, place, **clocks.environment) as service:
        clocks.jump(wall=3600)               # the calendar is set
        clocks.jump(wall=8 * 3600, boot=8 * 3600)     # the machine sleeps
"""

import pathlib
import shutil
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_name("clocks.c")


def built(folder):
    """The library; Swift brings a compiler for it."""
    compiler = shutil.which("clang") or shutil.which("cc")
    assert compiler, "no C compiler"
    library = folder / "clocks.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE)], check=True)
    return library


class Clocks:
    def __init__(self, library, place):
        self.file, self.shifts = place / "clocks", (0, 0, 0)
        self.file.write_bytes(bytes(24))
        self.environment = {"LD_PRELOAD": str(library), "OUTRIDER_TEST_CLOCKS": str(self.file)}

    def jump(self, wall=0, boot=0, awake=0):
        """Seconds, for all processes at once; `awake` is the clock that stops in sleep."""
        self.shifts = tuple(sum(pair) for pair in zip(self.shifts, (wall, boot, awake)))
        with open(self.file, "r+b") as file:
            file.write(struct.pack("=qqq", *self.shifts))
