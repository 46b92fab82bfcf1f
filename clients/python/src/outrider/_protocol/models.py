# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Header fields and events, as the service sent them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any


class Headers:
    """The fields of a response: a mapping that ignores case and keeps repeated fields.

    ``headers["content-type"]`` is the value (repeated fields joined by a comma and a space),
    ``headers.get_all("set-cookie")`` all values, and ``headers.pairs`` the fields in wire order.
    """

    __slots__ = ("_folded", "pairs")

    def __init__(self, fields: Sequence[Mapping[str, str]]) -> None:
        self.pairs: tuple[tuple[str, str], ...] = tuple([(field["name"], field["value"]) for field in fields])
        folded: dict[str, list[str]] = {}
        for name, value in self.pairs:
            folded.setdefault(name.lower(), []).append(value)
        self._folded = folded

    def __getitem__(self, name: str) -> str:
        return ", ".join(self._folded[name.lower()])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._folded

    def __iter__(self) -> Iterator[str]:
        return iter(self._folded)

    def __len__(self) -> int:
        return len(self._folded)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Headers) and self._folded == other._folded

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Headers({dict(self.items())!r})"

    def get(self, name: str, default: str | None = None) -> str | None:
        """The value of a field, or ``default``."""
        values = self._folded.get(name.lower())
        return default if values is None else ", ".join(values)

    def get_all(self, name: str) -> list[str]:
        """Every value of a field, in wire order; empty when there is none."""
        return list(self._folded.get(name.lower(), ()))

    def keys(self) -> list[str]:
        """The names, in lower case."""
        return list(self._folded)

    def values(self) -> list[str]:
        """The values, a value for each name."""
        return [", ".join(values) for values in self._folded.values()]

    def items(self) -> list[tuple[str, str]]:
        """Names and values."""
        return [(name, ", ".join(values)) for name, values in self._folded.items()]


class Event:
    """Something the service told without being asked: ``name`` (``event.progress``) and ``params``."""

    __slots__ = ("name", "params")

    def __init__(self, name: str, params: Mapping[str, Any]) -> None:
        self.name = name
        self.params = params

    @property
    def request(self) -> str | None:
        """The handle of its request, if any."""
        return self.params.get("request")

    @property
    def seq(self) -> int | None:
        """Its number among the events of that request or stream, from 0."""
        return self.params.get("seq")

    @property
    def tag(self) -> str | None:
        """The label that the request was given."""
        return self.params.get("tag")

    @property
    def topic(self) -> str | None:
        """The topic of an ``event.monitor``."""
        return self.params.get("topic")

    @property
    def detail(self) -> Mapping[str, Any]:
        """The details of the topic."""
        return self.params.get("detail") or {}

    def __repr__(self) -> str:
        return f"<Event {self.name} {dict(self.params)!r}>"
