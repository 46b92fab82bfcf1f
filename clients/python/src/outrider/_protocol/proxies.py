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

    def variable(*names: str) -> str | None:
        return next(filter(None, map(variables.get, names)), None)

    everything = variable("all_proxy", "ALL_PROXY")
    proxy: dict[str, Any] = {}
    for name, own in (("http", variable("http_proxy")), ("https", variable("https_proxy", "HTTPS_PROXY"))):
        text = own or everything
        if text:
            # a redirect to that scheme fails, and is not followed around the proxy
            broken = f"http://{name if own else 'all'}-proxy-cannot-be-used.invalid"
            proxy[name] = text if _is_proxy(text) else broken
    items = (variable("no_proxy", "NO_PROXY") or "").replace(",", " ").split()
    if items:
        proxy["bypass"] = list(filter(_is_bypass, items))
    return proxy


def _is_proxy(text: str) -> bool:
    """Whether the service takes the text for a proxy, but for its host."""
    from re import IGNORECASE, fullmatch

    return fullmatch(r"((https?|socks5h?)://)?[^/?#\s]+/?", text, IGNORECASE) is not None


def _is_bypass(item: str) -> bool:
    """Whether the service takes an item of ``no_proxy``; others are left out, as curl leaves them out."""
    if item == "*" or _is_place(item):
        return True
    host, _, port = item.rpartition(":")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= 65535):
        return False
    return (":" not in host or host.startswith("[")) and _is_place(host)


def _is_place(text: str) -> bool:
    """A host, a domain, an address or a network."""
    from ipaddress import ip_address
    from re import ASCII, fullmatch

    address, slash, bits = text.partition("/")
    if address.startswith("[") and address.endswith("]"):
        address = address[1:-1]
    try:
        size = ip_address(address).max_prefixlen
    except ValueError:
        # a last label that starts like a number would be an address
        name = r"(\*?\.)?([\w-]{1,63}\.)*[a-z_-][\w-]{0,62}\.?"
        return not slash and len(text) <= 250 and fullmatch(name, text.lower(), ASCII) is not None
    return "%" not in address and (not slash or (bits.isascii() and bits.isdigit() and int(bits[:4]) <= size))
