# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Proxies in the form of the service. Loaded with the first ``proxy``."""

from __future__ import annotations

from .auth import credential

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def proxy_parameter(value: Any) -> Any:
    """``proxy`` in the form of the service; the environment is this program's, not the service's."""
    if value is True or value == "environment":
        from os import environ

        return environment(environ)
    if not hasattr(value, "items"):
        return value
    proxy = dict(value)
    if proxy.get("credential") is not None:
        proxy["credential"] = credential(proxy["credential"])
    return proxy


def environment(variables: Mapping[str, str]) -> dict[str, Any]:
    """The proxies of the environment, by the rules of curl: ``HTTP_PROXY`` does not count, as web servers put a field
    of a request there; of the others the lower case wins."""
    proxy: dict[str, Any] = {}
    for name, keys in (
        ("http", ["http_proxy"]),
        ("https", ["https_proxy", "HTTPS_PROXY"]),
        ("url", ["all_proxy", "ALL_PROXY"]),
        ("bypass", ["no_proxy", "NO_PROXY"]),
    ):
        found = next(filter(None, map(variables.get, keys)), None)
        if found:
            proxy[name] = found.replace(",", " ").split() if name == "bypass" else found
    return proxy
