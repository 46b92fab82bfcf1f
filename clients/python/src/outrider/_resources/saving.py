# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bodies that become files: paths, and failures to write."""

from __future__ import annotations

from .._protocol.exceptions import InvalidCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from typing import Any


def absolute(path: str | os.PathLike[str]) -> str:
    from os import fspath
    from os.path import abspath

    return abspath(fspath(path))


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


def write_file(path: str, content: bytes, replace: bool) -> None:
    with open(path, "wb" if replace else "xb") as file:
        file.write(content)
