# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Endpoints of an API as functions."""

from __future__ import annotations

from .._protocol.hints import Any, Callable, Mapping, Unpack
from .._resources.router import Definition, bound, call_of
from .calls import AsyncCalls
from .responses import AsyncResponse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from .._protocol.options import Options

    class AsyncEndpoint(Protocol):
        """Sends a request to an endpoint, and gives its response."""

        async def __call__(
            self, params: Mapping[str, Any] | None = None, /, *, _overrides: Mapping[str, Any] | None = None,
            **more: Any,
        ) -> AsyncResponse: ...


class AsyncRouter:
    """A router of the service; its endpoints are its attributes and its items.

    ::

        users = client.router("users")
        (await users.getUser(id=7)).json()
        await users["get-user"]({"user-id": 7}, _overrides={"timeout": 5})

    Parameters are keyword arguments, or a mapping for names that are no identifiers. ``check=False`` returns the
    response of a failed exchange instead of raising. With a base URL the program defines the router itself::

        things = client.router("things", base_url="https://api.example.org", headers={"Accept": "application/json"})

        @things.endpoint("GET", "/things/{id}")
        def get_thing(id: int, page: int = 1): ...

        await get_thing(7, page=2)
    """

    def __init__(
        self, name: str, client: AsyncCalls, *, check: bool = True, base_url: str | None = None,
        shared: bool = False, options: Mapping[str, Any] | None = None,
    ) -> None:
        self._name = name
        self._client = client
        self._check = check
        self._definition = None if base_url is None else Definition(name, base_url, shared, options or {})

    def endpoint(
        self, method: str, path: str, function: Callable[..., object] | None = None, *,
        places: Mapping[str, Any] | None = None, **options: Unpack[Options],
    ) -> Any:
        """Adds an endpoint by a function; only its name and its parameters count; also as a decorator.

        A parameter goes into the path if the path names the parameter, else where ``places`` says (``query``,
        ``header``, ``cookie``, ``body``), else into the query or the body as the method implies. A parameter that is
        ``None`` is left out. ``options`` are the same as for :meth:`AsyncClient.get`. The result is called in place of
        the function.
        """
        if self._definition is None:
            raise TypeError("this router is defined elsewhere: client.router(name, base_url=…) makes one of your own")
        if function is None:
            return lambda given: self.endpoint(method, path, given, places=places, **options)
        name = function.__name__
        defaults, params = bound(function)
        self._definition.add(name, method, path, places, defaults, options)

        async def send(*given: Any, **named: Any) -> AsyncResponse:
            return await self._sent(name, params(*given, **named), None)

        send.__name__, send.__doc__, send.__wrapped__ = name, function.__doc__, function  # type: ignore[attr-defined]
        return send

    def __getattr__(self, endpoint: str) -> AsyncEndpoint:
        if endpoint.startswith("__"):
            raise AttributeError(endpoint)
        return self[endpoint]

    def __getitem__(self, endpoint: str) -> AsyncEndpoint:
        async def send(
            params: Mapping[str, Any] | None = None, /, *, _overrides: Mapping[str, Any] | None = None, **more: Any
        ) -> AsyncResponse:
            return await self._sent(endpoint, {**(params or {}), **more}, _overrides)

        return send

    async def _sent(
        self, endpoint: str, params: Mapping[str, Any], overrides: Mapping[str, Any] | None
    ) -> AsyncResponse:
        definition = self._definition
        if definition is not None:
            connection = await self._client._live()
            if definition.connection is not connection:
                await self._client.invoke("router.define", definition.params())
                definition.connection = connection
        call = call_of(self._name, endpoint, params, overrides)
        response = AsyncResponse(await self._client._invoke_raw("router.send", call), self._client._invoke_raw)
        return response.raise_for_error() if self._check else response

    def __repr__(self) -> str:
        return f"<AsyncRouter {self._name}>"
