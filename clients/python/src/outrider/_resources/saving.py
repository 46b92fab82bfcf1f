# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies that become files: paths, and failures to write."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress

from .._protocol.exceptions import InvalidCall
from .._protocol.hints import Any, BinaryIO, Iterator


class NotSaved(InvalidCall):
    """The service did not save a body; also the exception of a local write."""

    def __reduce__(self) -> Any:
        # by the constructor: ValueError, which comes first, cannot make an OSError
        kept = {name: getattr(self, name, None) for name in ("errno", "strerror", "filename")}
        return type(self), self.args, {**self.__dict__, **kept, "args": self.args}


class FileExists(NotSaved, FileExistsError):
    """The service did not save a body, for the file exists already."""


class FolderMissing(NotSaved, FileNotFoundError):
    """The service did not save a body, for there is no such folder."""


def save_error(problem: InvalidCall, path: str) -> InvalidCall:
    """Why the service did not save a body, as the exception of a local write."""
    from errno import EEXIST, ENOENT
    from os import strerror
    from os.path import dirname, lexists

    made: InvalidCall
    if (problem.data.get("failure") or {}).get("code") == 1801:
        made = FileExists(str(problem), code=problem.code, data=problem.data)
        made.errno = EEXIST
    elif problem.pointer == "/path" and not lexists(dirname(path)):
        made = FolderMissing(str(problem), code=problem.code, data=problem.data)
        made.errno = ENOENT
    else:
        return problem
    made.strerror, made.filename = strerror(made.errno), path
    return made


@contextmanager
def whole_file(path: str, replace: bool) -> Iterator[BinaryIO]:
    """A file to write, which gets its name when all is written. A failure leaves no file, and the former file as it
    was. With ``replace``, pipes and devices are written to directly."""
    from errno import EEXIST
    from secrets import token_hex

    mode = None
    if replace:
        with suppress(FileNotFoundError):
            mode = os.stat(path).st_mode
    elif os.path.lexists(path):
        raise FileExistsError(EEXIST, os.strerror(EEXIST), path)
    # /dev/stdout may be a file, to which others write, too
    is_open = path.startswith(("/dev/std", "/dev/fd/", "/proc/"))
    if mode is not None and (is_open or not stat.S_ISREG(mode)):
        with open(path, "wb") as file:
            yield file
        return
    if replace:
        # a link stays, and leads to the new file
        path = os.path.realpath(path)
    part = os.path.join(os.path.dirname(path), f".outrider-{token_hex(8)}.part")
    try:
        number = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as problem:
        problem.filename = path
        raise
    try:
        with open(number, "wb") as file:
            if mode is not None:
                with suppress(OSError):
                    os.fchmod(number, stat.S_IMODE(mode))
            yield file
        if replace:
            os.replace(part, path)
        else:
            _name(part, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(part)


def _name(part: str, path: str) -> None:
    """Gives a file its name, if no other file has taken the name."""
    from errno import EEXIST

    try:
        os.link(part, path)
    except FileExistsError:
        raise FileExistsError(EEXIST, os.strerror(EEXIST), path) from None
    except OSError:
        # a file system without links
        with open(path, "xb"):
            os.replace(part, path)
