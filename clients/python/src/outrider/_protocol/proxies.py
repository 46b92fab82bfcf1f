# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Which proxy, in the words of the service. Loaded when somebody names one."""

from __future__ import annotations

from .auth import credential

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def proxy_parameter(value: Any) -> Any:
    """``proxy`` as the service takes it; the environment is that of this program, not of the service."""
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
    """What the variables say, as curl reads them: ``HTTP_PROXY`` does not count, as web servers put a field of a
    request there; of the others the lower case wins."""
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
