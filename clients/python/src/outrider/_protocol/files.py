# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Files that the service can read by itself. Loaded with the first path, and the first object to read from."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def absolute(path: Any, name: str = "path") -> str:
    """A path of this program, for the service, which has another working directory; ``~/`` is the user's home."""
    from os.path import abspath, expanduser

    place = path.__fspath__() if hasattr(path, "__fspath__") else path
    if not isinstance(place, str):
        raise TypeError(f"{name} must be a path, not {type(place).__name__}")
    # ``~name`` is usual for files that are copies
    return abspath(expanduser(place) if place.startswith("~/") else place)


def path_of(file: Any) -> str | None:
    """The path of an open regular file at its beginning, which the service can then stream by itself.

    Only if reading gives the bytes of that file unchanged. Other objects have the file's name, too, such as the result
    of ``gzip.open``, and wrappers that count or change the bytes.
    """
    import io
    import os
    import stat

    path: Any = None
    if type(file).__name__ == "_TemporaryFileWrapper" and type(file).__module__ == "tempfile":
        # before Python 3.12 the file in it has only a descriptor for a name
        path, file = file.name, file.file
    bare = file.raw if type(file) in (io.BufferedReader, io.BufferedRandom) else file
    if type(bare) is not io.FileIO:
        return None
    path = bare.name if path is None else path
    try:
        if not isinstance(path, str) or not bare.readable() or file.tell() != 0:
            return None
        file.flush()
        here, there = os.fstat(bare.fileno()), os.stat(path)
    except (AttributeError, OSError, TypeError, ValueError):
        return None
    same = stat.S_ISREG(here.st_mode) and os.path.samestat(here, there)
    return os.path.abspath(path) if same else None
