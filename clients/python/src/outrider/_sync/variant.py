# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The few operations in which the blocking and the awaiting variant of a resource differ."""

from __future__ import annotations

from .._connection.waiters import reentrant_lock
from .._protocol.hints import Any, Callable, Iterable, Iterator, Mapping
from .._protocol.models import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar, Union

    Handler = TypeVar("Handler", bound=Callable[[Event], object])
    Reply = Union[Mapping[str, Any], None]
    Replier = TypeVar("Replier", bound=Callable[[dict[str, Any]], Reply])


# a signal handler may make what its thread is making
SerialLock = reentrant_lock


def settled(value: Any) -> Any:
    """The value that a function of the program returned."""
    return value


def detach(done: object) -> None:
    """Nothing: the work was done when its argument was evaluated."""


def iteration(more: Callable[[], Iterable[Any] | None], end: Callable[[], None] | None = None) -> Iterator[Any]:
    """The items of several reads, of which the last gives ``None``. Its end, however it comes, calls ``end``."""
    try:
        while (items := more()) is not None:
            yield from items
    finally:
        if end is not None:
            end()


def steps(body: Any) -> Iterator[Any]:
    """The items of an iterable."""
    return iter(body)
