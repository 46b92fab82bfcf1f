# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cookies of sessions and requests, as a mapping and as jars of the standard library."""

from __future__ import annotations

import asyncio
import http.cookiejar
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client
from peers import Scripted


def _setter(stream: socket.socket) -> None:
    """A server that sets two cookies, and says which it was sent."""
    while b"\r\n\r\n" not in (seen := _head(stream)):
        if not seen:
            return
    sent = b"".join(line[8:] for line in seen.split(b"\r\n") if line.lower().startswith(b"cookie: "))
    fields = b"Set-Cookie: sid=1; Path=/; HttpOnly\r\nSet-Cookie: theme=dark; Max-Age=3600\r\n"
    stream.sendall(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s" % (fields, len(sent), sent))


def _head(stream: socket.socket) -> bytes:
    seen = b""
    while b"\r\n\r\n" not in seen:
        piece = stream.recv(65536)
        if not piece:
            return b""
        seen += piece
    return seen


@pytest.fixture
def server(scripted: Callable[[Callable[[socket.socket], None]], Scripted]) -> str:
    return scripted(_setter).url


def test_none_leaves_a_cookie_of_a_request_out(client: Client, server: str) -> None:
    assert client.get(server, cookies={"a": None, "b": 2, "c": "x"}).text == "b=2; c=x"
    assert client.get(server, cookies={"a": None}).text == ""
    for wrong in (b"x", ["x"]):
        with pytest.raises(TypeError, match=r"cookies\['a'\] must be text or a number, not"):
            client.get(server, cookies={"a": wrong})


def test_a_session_keeps_cookies_that_are_a_mapping(client: Client, server: str) -> None:
    session = client.session(cookies=True)
    first = session.get(server)
    assert first.text == "" and first.cookies == {"sid": "1", "theme": "dark"}
    assert set(session.get(server).text.split("; ")) == {"sid=1", "theme=dark"}
    cookies = session.cookies
    assert cookies["sid"] == "1" and "theme" in cookies and "none" not in cookies and len(cookies) == 2
    assert dict(cookies) == dict(cookies.items()) == {"sid": "1", "theme": "dark"}
    assert set(cookies.keys()) == set(cookies)
    assert set(cookies.header(server).split("; ")) == {"sid=1", "theme=dark"}
    del cookies["sid"]
    with pytest.raises(KeyError):
        _ = cookies["sid"]
    with pytest.raises(KeyError):
        del cookies["sid"]
    cookies.set("mine", "2", url=server)
    cookies.update({"more": "3"}, url=server)
    assert session.get(server, cookies={"once": "4"}).text.count("=") == 4
    assert session.get(server, cookies=False).text == ""
    assert cookies.clear() >= 3 and len(cookies) == 0
    with pytest.raises(ValueError, match="give url= or domain="):
        cookies.set("mine", "2")
    with pytest.raises(ValueError, match="give url="):
        cookies.update({"mine": "2"})
    assert "Cookies" in repr(cookies) and isinstance(cookies, outrider.Cookies)


def test_jars_of_the_standard_library_go_in_and_out(client: Client, server: str, tmp_path: Path) -> None:
    session = client.session(cookies=True)
    session.get(server)
    jar = session.cookies.jar()
    assert {one.name: one.value for one in jar} == {"sid": "1", "theme": "dark"}
    assert {one.name: one.expires is None for one in jar} == {"sid": True, "theme": False}
    with client.session(cookies=jar) as other:
        assert set(other.get(server).text.split("; ")) == {"sid=1", "theme=dark"}
    assert set(client.get(server, cookies=jar).text.split("; ")) == {"sid=1", "theme=dark"}
    file = session.cookies.save(tmp_path / "cookies.txt")
    fresh = client.session(cookies=True)
    assert fresh.cookies.load(file) >= 1 and fresh.cookies["theme"] == "dark"
    mozilla = http.cookiejar.MozillaCookieJar(file)
    mozilla.load()
    assert "theme" in {one.name for one in mozilla}
    fresh.cookies.clear()
    fresh.cookies.update(mozilla)
    assert fresh.cookies["theme"] == "dark"


def test_the_jar_of_requests_is_a_jar(client: Client, server: str) -> None:
    jar = pytest.importorskip("requests").cookies.RequestsCookieJar()
    jar.set("mine", "2", domain="127.0.0.1", path="/")
    session = client.session(cookies=True)
    session.cookies.update(jar)
    assert (dict(session.cookies.items()), session.get(server).text) == ({"mine": "2"}, "mine=2")


def test_the_awaiting_client_has_the_same_methods(service: str, server: str) -> None:
    async def work() -> None:
        async with AsyncClient(socket=service) as client:
            session = client.session(cookies=True)
            await session.get(server)
            assert await session.cookies.get("sid") == "1" and await session.cookies.get("none", "x") == "x"
            await session.cookies.set("mine", "2", url=server)
            assert await session.cookies.delete("mine") == 1
            assert {one.name for one in await session.cookies.jar()} == {"sid", "theme"}

    asyncio.run(work())


def test_cookies_must_be_cookies(client: Client, server: str) -> None:
    with pytest.raises(TypeError, match="cookies must be a mapping, a CookieJar or a boolean"):
        client.get(server, cookies=7)  # type: ignore[arg-type]


def _made(name: str, **more: Any) -> http.cookiejar.Cookie:
    """A cookie as programs make it by hand."""
    values: dict[str, Any] = {
        "version": 0, "name": name, "value": "1", "port": None, "port_specified": False, "domain": "127.0.0.1",
        "domain_specified": False, "domain_initial_dot": False, "path": "/", "path_specified": True, "secure": False,
        "expires": None, "discard": True, "comment": None, "comment_url": None, "rest": {}, **more,
    }  # fmt: skip
    return http.cookiejar.Cookie(**values)


@pytest.mark.parametrize("end", [253_402_300_800, 2**53, 99_999_999_999_999])
def test_a_cookie_may_end_after_the_year_9999(client: Client, server: str, end: int) -> None:
    jar = http.cookiejar.CookieJar()
    jar.set_cookie(_made("far", expires=end))
    session = client.session(cookies=True)
    session.cookies.update(jar)
    assert session.get(server).text == "far=1"


def test_cookies_without_a_domain_belong_to_the_url(client: Client, server: str) -> None:
    jar = http.cookiejar.CookieJar()
    jar.set_cookie(_made("any", domain=""))
    session = client.session(cookies=True)
    session.cookies.update(jar, url=server)
    assert session.get(server).text == "any=1"
    assert client.session(cookies=jar, base_url=server).get("/").text == "any=1"
    with pytest.raises(ValueError, match="give url="):
        session.cookies.update(jar)
    with pytest.raises(ValueError, match="base_url"):
        client.session(cookies=jar)


def test_a_refused_cookie_is_an_error(client: Client) -> None:
    cookies = client.session(cookies=True).cookies
    with pytest.raises(ValueError, match="refused the cookie __Host-a: the prefix"):
        cookies.set("__Host-a", "1", domain="example.org")
    with pytest.raises(ValueError, match="public suffix"):
        cookies.set("a", "1", domain="com", hostOnly=False)
    assert len(cookies) == 0


def test_cookies_are_deleted_by_any_condition(client: Client) -> None:
    cookies = client.session(cookies=True).cookies
    for host in ("a.example.org", "b.example.org"):
        cookies.set("one", "1", domain=host)
        cookies.set("two", "2", domain=host, path="/x")
    assert cookies.delete(domain="a.example.org", path="/x") == 1
    assert cookies.delete(url="https://a.example.org/") == 1
    assert cookies.delete(domain="example.org") == 2
    with pytest.raises(ValueError, match="clear"):
        cookies.delete()


def test_a_file_of_another_format_is_refused(client: Client, tmp_path: Path) -> None:
    jar = http.cookiejar.LWPCookieJar(str(tmp_path / "jar.txt"))
    jar.set_cookie(_made("sid"))
    jar.save(ignore_discard=True)
    cookies = client.session(cookies=True).cookies
    with pytest.raises(ValueError, match=r"jar\.txt has no cookies in the format of curl: line 2: .*update"):
        cookies.load(tmp_path / "jar.txt")
    (tmp_path / "jar.txt").write_text("# Netscape HTTP Cookie File\n")
    assert cookies.load(tmp_path / "jar.txt") == 0


def test_session_cookies_of_a_file_of_the_standard_library_are_read(client: Client, tmp_path: Path) -> None:
    jar = http.cookiejar.MozillaCookieJar(str(tmp_path / "jar.txt"))
    jar.set_cookie(_made("sid"))
    jar.save(ignore_discard=True)
    cookies = client.session(cookies=True).cookies
    assert cookies.load(tmp_path / "jar.txt") == 1
    assert cookies["sid"] == "1" and "expiresAt" not in cookies.all()[0]
