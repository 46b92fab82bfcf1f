# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Endpoints of an API as functions."""

from __future__ import annotations

from .responses import AsyncResponse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from .caller import AsyncCaller

    class AsyncEndpoint(Protocol):
        """Sends a request to an endpoint, and gives its response."""

        async def __call__(
            self,
            params: Mapping[str, Any] | None = None,
            /,
            *,
            _overrides: Mapping[str, Any] | None = None,
            **more: Any,
        ) -> AsyncResponse: ...


class AsyncRouter:
    """A router of the service; its endpoints are its attributes and its items.

    ::

        users = client.router("users")
        (await users.getUser(id=7)).json()
        await users["get-user"]({"user-id": 7}, _overrides={"timeout": 5})

    Parameters are keyword arguments, or one mapping for names that are no identifiers. ``check=False`` returns the
    response of a failed exchange instead of raising.
    """

    def __init__(self, name: str, client: AsyncCaller, *, check: bool = True) -> None:
        self._name = name
        self._client = client
        self._check = check

    def __getattr__(self, endpoint: str) -> AsyncEndpoint:
        if endpoint.startswith("__"):
            raise AttributeError(endpoint)
        return self[endpoint]

    def __getitem__(self, endpoint: str) -> AsyncEndpoint:
        async def send(
            params: Mapping[str, Any] | None = None, /, *, _overrides: Mapping[str, Any] | None = None, **more: Any
        ) -> AsyncResponse:
            call: dict[str, Any] = {"router": self._name, "endpoint": endpoint, "params": {**(params or {}), **more}}
            if _overrides is not None:
                call["overrides"] = dict(_overrides)
            response = AsyncResponse(await self._client.invoke("router.send", call), self._client.invoke)
            if self._check:
                response.raise_for_error()
            return response

        return send

    def __repr__(self) -> str:
        return f"<AsyncRouter {self._name}>"
