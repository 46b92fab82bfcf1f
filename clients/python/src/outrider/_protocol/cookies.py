# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cookies between the service, mappings and ``http.cookiejar``. Loaded when a program says something of cookies."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from http.cookiejar import Cookie, CookieJar
    from typing import Any

_OPTIONS = {"send", "accept", "extra", "site", "navigation"}


def cookies_parameter(value: Any, url: str) -> Any:
    """``cookies`` of a request: names and values to send beside the jar's, a jar of ``http.cookiejar``, or the form of
    the service."""
    if isinstance(value, bool):
        return value
    if hasattr(value, "add_cookie_header"):
        return {"extra": _of_jar(value, url) if url else []}
    if not hasattr(value, "items"):
        raise TypeError(f"cookies must be a mapping, a CookieJar or a boolean, not {type(value).__name__}")
    if set(value) <= _OPTIONS and value:
        return dict(value)
    # None leaves a name out, as of headers and params
    pairs = [(str(name), one) for name, one in value.items() if one is not None]
    return {"extra": [{"name": name, "value": _value(name, one)} for name, one in pairs]}


def _value(name: str, value: Any) -> str:
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"cookies[{name!r}] must be text or a number, not {type(value).__name__}")


def _of_jar(jar: CookieJar, url: str) -> list[dict[str, str]]:
    from urllib.request import Request

    request = Request(url)
    jar.add_cookie_header(request)
    found = [pair.strip().partition("=") for pair in (request.get_header("Cookie") or "").split(";")]
    return [{"name": name, "value": value} for name, _, value in found if name]


def specs_of(cookies: Any) -> list[dict[str, Any]]:
    """The cookies of a jar of ``http.cookiejar``, or mappings of the service, for ``cookies.set``."""
    return [dict(one) if hasattr(one, "items") else _spec(one) for one in cookies]


# the last second of the year 9999, after which no date has four digits; the service keeps 400 days at most
_LATEST = 253_402_300_799


def _spec(cookie: Cookie) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": cookie.name,
        "value": cookie.value or "",
        "domain": cookie.domain.lstrip("."),
        "hostOnly": not cookie.domain_specified or not cookie.domain.startswith("."),
        "path": cookie.path or "/",
        "secure": bool(cookie.secure),
    }
    if not found["domain"]:
        # requests makes such cookies for any host: they belong to the host of the call's URL
        del found["domain"], found["hostOnly"]
    elif found["domain"].endswith(".local") and "." not in found["domain"][: -len(".local")]:
        # http.cookiejar calls hosts without a dot so
        found["domain"] = found["domain"][: -len(".local")]
    if cookie.has_nonstandard_attr("HttpOnly"):
        found["httpOnly"] = True
    if cookie.expires is not None:
        from datetime import datetime, timezone

        moment = datetime.fromtimestamp(min(max(cookie.expires, 0), _LATEST), timezone.utc)
        found["expiresAt"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return found


def jar_of(cookies: Sequence[Mapping[str, Any]]) -> CookieJar:
    """Cookies of the service as a jar of ``http.cookiejar``."""
    from http.cookiejar import Cookie, CookieJar

    jar = CookieJar()
    for one in cookies:
        domain, end = one["domain"], one.get("expiresAt")
        if not one["hostOnly"]:
            domain = "." + domain
        elif "." not in domain:
            domain += ".local"
        rest = {"HttpOnly": ""} if one["httpOnly"] else {}
        expires = None if end is None else _timestamp(end)
        jar.set_cookie(
            Cookie(
                0, one["name"], one["value"], None, False, domain, not one["hostOnly"], domain.startswith("."),
                one["path"], True, one["secure"], expires, end is None, None, None, rest,
            )
        )  # fmt: skip
    return jar


def _timestamp(text: str) -> int:
    from datetime import datetime

    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())
