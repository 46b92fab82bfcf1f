# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The names of types in annotations, which are never evaluated.

The modules that have these types cost more time than a whole call, so a stand-in has each of the names at run time.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Container, Coroutine
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import timedelta
    from http.cookiejar import Cookie, CookieJar
    from subprocess import Popen
    from typing import IO, Any, BinaryIO, NoReturn, Protocol, TextIO, overload

    from typing_extensions import Self, Unpack

    class Leaver(Protocol):
        """A client that can tell the service, without waiting, that a resource is not needed any more."""

        def _socket_path(self) -> str | None: ...

        def _leave(self, calls: list[tuple[str, dict[str, Any]]]) -> None: ...

else:

    def overload(function):
        """Only type checkers read overloads."""

    AsyncIterable = AsyncIterator = Awaitable = Callable = Container = Coroutine = object
    Iterable = Iterator = Mapping = Sequence = timedelta = Cookie = CookieJar = Popen = object
    IO = Any = BinaryIO = Leaver = NoReturn = Protocol = Self = TextIO = Unpack = object

__all__ = [
    "IO", "Any", "AsyncIterable", "AsyncIterator", "Awaitable", "BinaryIO", "Callable",
    "Container", "Cookie", "CookieJar", "Coroutine", "Iterable", "Iterator", "Leaver", "Mapping", "NoReturn",
    "Popen", "Protocol", "Self", "Sequence", "TextIO", "Unpack", "overload", "timedelta",
]  # fmt: skip
