# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: options of a request on top of the options of its session and its client."""

from __future__ import annotations

from .arguments import header_list, pairs_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def replaced(fields: list[tuple[str, str]], by: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """``fields`` without the names of ``by``, then ``by``."""
    names = {name.lower() for name, _ in by}
    return [field for field in fields if field[0].lower() not in names] + by


def laid(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Options on top of others: fields and names of the query are replaced singly, all others as a whole."""
    made = {**under, **over}
    if "auth" in under and "auth" not in over and _authorized(over):
        del made["auth"]
    if "headers" in under:
        fields = header_list(under["headers"])
        if "auth" in over:
            fields = [field for field in fields if field[0].lower() != "authorization"]
        own_fields = header_list(over.get("headers") or ())
        without = left_out(over.get("headers"))
        made["headers"] = replaced([field for field in fields if field[0].lower() not in without], own_fields)
    if "params" in under and "params" in over:
        own = _pairs(over["params"])
        names = {name for name, _ in own}
        made["params"] = [pair for pair in _pairs(under["params"]) if pair[0] not in names] + own
    return made


def left_out(headers: Any) -> set[str]:
    """The names of fields that are ``None``, as in requests."""
    items = getattr(headers, "items", None)
    pairs = items() if callable(items) else headers if isinstance(headers, (list, tuple)) else ()
    return {name.lower() for name, value in pairs if value is None}


def _authorized(options: Mapping[str, Any]) -> bool:
    return any(name.lower() == "authorization" for name, _ in header_list(options.get("headers") or ()))


def _pairs(params: Any) -> list[tuple[str, Any]]:
    if isinstance(params, str):
        from urllib.parse import parse_qsl

        return parse_qsl(params.lstrip("?"), keep_blank_values=True)
    return pairs_of(params, "params")


def absolute_url(base: Any, url: str) -> str:
    """A URL appended to the base, with a single slash between; a URL with a scheme stays unchanged."""
    scheme, mark, _ = url.partition("://")
    # a path may hold another URL
    if not base or (mark and not set("/?#") & set(scheme)):
        return url
    front = text_of(base, "base_url")
    return front + url if not url or url[0] in "?#" else front.rstrip("/") + "/" + url.lstrip("/")
