# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Routers that a program defines: their endpoints, and the parameters of ``router.define``."""

from __future__ import annotations

from .._protocol.arguments import present
from .._protocol.hints import Any, Callable, Mapping
from .._protocol.parameters import BYTES, spec_for


class Definition:
    """A router defined by the program. ``connection`` is the connection of its definition."""

    def __init__(self, name: str, base_url: str, shared: bool, options: Mapping[str, Any]) -> None:
        self._head: dict[str, Any] = {"name": name, "baseUrl": base_url}
        if shared:
            self._head["shared"] = True
        if options:
            self._head["defaults"] = _members(options)
        self._endpoints: dict[str, Any] = {}
        self.connection: Any = None

    def add(
        self, name: str, method: str, path: str, places: Mapping[str, Any] | None, defaults: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> None:
        """Adds an endpoint, or replaces the endpoint of that name."""
        endpoint: dict[str, Any] = {"path": path, **_members(options)}
        if method.upper() != "GET":
            endpoint["method"] = method.upper()
        if places:
            endpoint["places"] = dict(places)
        if defaults:
            endpoint["paramDefaults"] = dict(defaults)
        self._endpoints[name] = endpoint
        self.connection = None

    def params(self) -> dict[str, Any]:
        """The parameters of ``router.define``."""
        return {**self._head, "endpoints": self._endpoints}


def _members(options: Mapping[str, Any]) -> dict[str, Any]:
    spec, _, _ = spec_for("GET", "", options)
    del spec["url"]
    return spec


def call_of(
    router: str, endpoint: str, params: Mapping[str, Any], overrides: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The parameters of ``router.send``, which asks for the body's bytes beside the form that the endpoint wants."""
    given = {"handlers": [BYTES], **(overrides or {})}
    return {"router": router, "endpoint": endpoint, "params": params, "overrides": given}


def bound(function: Callable[..., Any]) -> tuple[dict[str, Any], Callable[..., dict[str, Any]]]:
    """The defaults in the signature of a function, and the conversion of a call's arguments into parameters."""
    from inspect import Parameter, signature

    found = signature(function)
    rest = [one.name for one in found.parameters.values() if one.kind is Parameter.VAR_KEYWORD]
    defaults = {
        one.name: one.default
        for one in found.parameters.values()
        if one.default is not Parameter.empty and one.default is not None
    }

    def params(*given: Any, **named: Any) -> dict[str, Any]:
        arguments = dict(found.bind(*given, **named).arguments)
        for name in rest:
            arguments.update(arguments.pop(name, {}))
        return present(**arguments)

    return defaults, params
