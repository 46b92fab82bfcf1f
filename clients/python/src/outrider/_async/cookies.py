# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The cookies of a session. Loaded when a program asks for them."""

from __future__ import annotations

import os

from .._protocol.arguments import absolute, present
from .._protocol.access import jar_of, specs_of
from .._protocol.hints import Any, Awaitable, Callable, CookieJar, Iterable, Mapping

# sync: from .._protocol.hints import Iterator
from .calls import AsyncCalls


class AsyncCookies:
    """The jar of a session that was made with ``cookies=True``, or with the name of a jar on disk::

        session = client.session(cookies=True)
        await session.get("https://example.org/login")
        print(await session.cookies.get("sid"))
        await session.cookies.update(browser_jar)     # of http.cookiejar, in; session.cookies.jar() is the way out

    The blocking client has a mapping of names to values, too: ``session.cookies["sid"]``. Where cookies of several
    hosts have a name, the first in the order of the service counts; ``url``, ``domain`` and ``path`` say which.
    """

    def __init__(self, client: AsyncCalls, session: Callable[[], Awaitable[str]]) -> None:
        self._client = client
        self._session = session

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        return await self._client.invoke(method, {"session": await self._session(), **present(**params)})

    async def all(
        self, name: str | None = None, *, url: str | None = None, domain: str | None = None, path: str | None = None
    ) -> list[dict[str, Any]]:
        """The cookies with all their attributes, as the service tells them."""
        found = await self._call("cookies.list", name=name, url=url, domain=domain, path=path)
        return list(found["cookies"])

    async def get(
        self, name: str, default: str | None = None, *, url: str | None = None, domain: str | None = None,
        path: str | None = None,
    ) -> str | None:
        """The value of a cookie, or ``default``."""
        found = await self.all(name, url=url, domain=domain, path=path)
        return str(found[0]["value"]) if found else default

    async def set(self, name: str, value: str, *, url: str | None = None, **attributes: Any) -> None:
        """Sets a cookie for the host of ``url``, or with ``domain=``; other attributes are ``path``, ``secure``,
        ``httpOnly``, ``sameSite``, ``hostOnly`` and ``expiresAt``. Raises ValueError for a cookie that the rules of
        cookies forbid, such as one for the domain ``com``."""
        if url is None and "domain" not in attributes:
            raise ValueError("a cookie needs a host: give url= or domain=")
        found = await self._call("cookies.set", url=url, cookies=[{"name": name, "value": value, **attributes}])
        for change in found["changes"]:
            if change["kind"] == "refused":
                raise ValueError(f"the jar refused the cookie {name}: {change.get('message') or change.get('reason')}")

    async def update(self, cookies: CookieJar | Iterable[Mapping[str, Any]] | Mapping[str, str], url: str = "") -> None:
        """Adds the cookies of a jar of ``http.cookiejar``, a result of :meth:`all`, or names and values for ``url``."""
        # the jar of requests is a mapping, too
        given: Any = cookies
        if hasattr(given, "items") and not hasattr(given, "add_cookie_header"):
            if not url:
                raise ValueError("names and values need a host: give url=")
            given = [{"name": name, "value": value} for name, value in given.items()]
        specs = specs_of(given)
        if not url and any("domain" not in one for one in specs):
            raise ValueError("the jar has cookies without a domain, which need a host: give url=")
        for start in range(0, len(specs), 1000):
            await self._call("cookies.set", url=url or None, cookies=specs[start : start + 1000])

    async def delete(
        self, name: str | None = None, *, url: str | None = None, domain: str | None = None, path: str | None = None
    ) -> int:
        """Deletes the cookies that fit; how many there were. Without any condition use :meth:`clear`."""
        if name is None:
            if url is None and domain is None and path is None:
                raise ValueError("say which cookies: a name, url=, domain= or path=; clear() deletes all")
            return int((await self._call("cookies.clear", url=url, domain=domain, path=path))["deleted"])
        found = await self._call("cookies.delete", name=name, url=url, domain=domain, path=path)
        return len(found["changes"])

    async def clear(self, *, session_only: bool = False) -> int:
        """Deletes all cookies, or only session cookies; returns their number."""
        return int((await self._call("cookies.clear", sessionOnly=session_only or None))["deleted"])

    async def header(self, url: str) -> str:
        """The value of the field Cookie for a request to ``url``; empty if there is none."""
        return str((await self._call("cookies.header", url=url)).get("value") or "")

    async def jar(self) -> CookieJar:
        """A copy as a jar of ``http.cookiejar``."""
        return jar_of(await self.all())

    async def load(self, path: str | os.PathLike[str]) -> int:
        """Adds the cookies of a file in the format of curl, wget and browsers' exporters; returns their number. Skips
        lines that are no cookies, and raises ValueError if all are."""
        found = await self._call("cookies.import", format="netscape", path=absolute(path))
        if not found["imported"] and found["skipped"]:
            first = found["skipped"][0]
            raise ValueError(
                f"{absolute(path)} has no cookies in the format of curl: line {first['line']}: {first['message']}"
                " (update() takes jars of http.cookiejar)"
            )
        return int(found["imported"])

    async def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> str:
        """Writes such a file, readable by this user only. Gives its absolute path."""
        target = absolute(path)
        await self._call("cookies.export", format="netscape", file=target, replace=replace or None)
        return target

    # sync: def __getitem__(self, name: str) -> str:
    # sync:     found = self.get(name)
    # sync:     if found is None:
    # sync:         raise KeyError(name)
    # sync:     return found
    # sync:
    # sync: def __contains__(self, name: object) -> bool:
    # sync:     return isinstance(name, str) and self.get(name) is not None
    # sync:
    # sync: def __delitem__(self, name: str) -> None:
    # sync:     if not self.delete(name):
    # sync:         raise KeyError(name)
    # sync:
    # sync: def __iter__(self) -> Iterator[str]:
    # sync:     return iter(dict.fromkeys(one["name"] for one in self.all()))
    # sync:
    # sync: def __len__(self) -> int:
    # sync:     return len(set(self))
    # sync:
    # sync: def keys(self) -> Iterator[str]:
    # sync:     """The names."""
    # sync:     return iter(self)
    # sync:
    # sync: def items(self) -> Iterator[tuple[str, str]]:
    # sync:     """Names and values."""
    # sync:     return iter([(one["name"], one["value"]) for one in reversed(self.all())])
    # sync:
    def __repr__(self) -> str:
        return "<AsyncCookies of a session>"
