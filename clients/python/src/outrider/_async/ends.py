# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The end of what a program has opened."""

from __future__ import annotations

from .._protocol.exceptions import HandleError, ServerGone
from .._protocol.hints import Any, Awaitable, Callable, Self


class AsyncClosing:
    """Something that the end of an ``async with`` closes."""

    __slots__ = ()

    async def close(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def end_by(call: Callable[..., Awaitable[Any]], method: str, params: dict[str, Any]) -> None:
    """A call that ends something. Harmless if that, or the service, has ended."""
    try:
        await call(method, params)
    except (HandleError, ServerGone):
        pass
