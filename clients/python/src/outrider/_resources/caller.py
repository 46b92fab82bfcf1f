# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The interface of a client for resources that are dropped without being closed. Only type checkers load this."""

from __future__ import annotations

from typing import Any, Protocol


class Leaver(Protocol):
    """A client that can tell the service, without waiting, that a resource is not needed any more."""

    def _socket_path(self) -> str | None: ...

    def _leave(self, calls: list[tuple[str, dict[str, Any]]]) -> None: ...
