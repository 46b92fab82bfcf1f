# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Functions of a session and options of its requests hold together, in every kind of request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import outrider
import pytest
from outrider import AsyncClient, Client, Session

WAYS: dict[str, Callable[[Client, Session, str, Path], Any]] = {
    "session": lambda client, session, url, path: session.get(url, validate=True),
    "list": lambda client, session, url, path: session.get(url, validate=[True, {"status": [200]}]),
    "client": lambda client, session, url, path: client.get(url, session=session, validate=True),
    "many": lambda client, session, url, path: client.many([url], session=session.handle)[0].status,
    "started": lambda client, session, url, path: client.wait(client.start("GET", url, session=session.handle)),
    "stream": lambda client, session, url, path: client.stream(url, session=session).read(),
    "download": lambda client, session, url, path: client.download(url, path / "file", session=session),
    "progress": lambda client, session, url, path: session.get(url, progress=lambda _: None),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_validator_of_a_session_judges_every_request_of_it(
    client: Client, origin: str, tmp_path: Path, way: str
) -> None:
    session = client.session()
    seen: list[int | None] = []

    @session.validator
    def judge(response: Any) -> str:
        seen.append(response.status)
        return "not today"

    if way == "many":
        [outcome] = client.many([f"{origin}/json"], session=session.handle)
        assert isinstance(outcome, outrider.ValidationError)
    else:
        with pytest.raises(outrider.ValidationError, match="not today"):
            WAYS[way](client, session, f"{origin}/json", tmp_path)
    assert seen == [200]


def test_rules_of_a_request_and_validators_of_its_session_add_up(client: Client, origin: str) -> None:
    session = client.session()
    called: list[str] = []
    session.validator(lambda response: called.append("first"))
    session.validator(lambda response: called.append("second"))
    assert session.get(f"{origin}/json").ok and called == ["first", "second"]
    assert session.get(f"{origin}/status/404").status == 404
    with pytest.raises(outrider.StatusError):
        session.get(f"{origin}/status/404", validate=True)
    assert session.get(f"{origin}/json", validate=False).ok and called[-2:] == ["first", "second"]


def test_a_download_of_a_session_still_wants_a_good_status(client: Client, origin: str, tmp_path: Path) -> None:
    session = client.session()
    session.validator(lambda response: True)
    with pytest.raises(outrider.StatusError):
        client.download(f"{origin}/status/404", tmp_path / "file", session=session.handle)


def test_a_serializer_of_a_session_does_not_hinder_streams_and_downloads(
    client: Client, origin: str, tmp_path: Path
) -> None:
    session = client.session()
    session.serializer(lambda response: {"size": len(response.content)})
    assert session.get(f"{origin}/json").json() == {"size": 16}
    assert client.get(f"{origin}/json", session=session.handle).json() == {"size": 16}
    assert client.stream(f"{origin}/json", session=session.handle).read() == b'{"id":1,"x":0.1}'
    assert client.download(f"{origin}/json", tmp_path / "file", session=session.handle).size == 16


def test_a_redirector_of_a_session_is_asked_beside_a_limit_of_the_request(client: Client, origin: str) -> None:
    session = client.session()
    session.redirector(lambda redirect: f"{origin}/echo")
    assert session.get(f"{origin}/redirect/2", redirect={"max": 3}).url == f"{origin}/echo"
    assert session.get(f"{origin}/redirect/2", redirect="none").status == 302


@pytest.mark.parametrize("first", ["session", "client"])
def test_a_session_and_on_callback_serve_their_own_callbacks(client: Client, origin: str, first: str) -> None:
    session = client.session()
    called: list[str] = []

    def mine(params: dict[str, Any]) -> dict[str, Any]:
        called.append(params["callback"])
        return {"valid": True}

    if first == "client":
        client.on_callback("callback.validate", mine)
    session.validator(lambda response: called.append("session"))
    if first == "session":
        client.on_callback("callback.validate", mine)
    assert client.get(f"{origin}/json", validate={"callback": "mine"}).ok and called == ["mine"]
    assert session.get(f"{origin}/json").ok and called == ["mine", "session"]


def test_an_awaiting_session_does_the_same(service: str, origin: str) -> None:
    async def work() -> None:
        async with AsyncClient(socket=service) as client, client.session() as session:

            async def judge(response: Any) -> str:
                return "not today"

            session.validator(judge)
            with pytest.raises(outrider.ValidationError, match="not today"):
                await session.get(f"{origin}/json", validate=True)
            with pytest.raises(outrider.ValidationError, match="not today"):
                await client.get(f"{origin}/json", session=await session.handle())
            assert (await session.options(f"{origin}/echo", check=False)).status == 200

    asyncio.run(work())


def test_the_peer_of_a_response_is_a_text(client: Client, origin: str) -> None:
    assert client.get(f"{origin}/json").remote == origin.removeprefix("http://")


def test_a_session_has_every_kind_of_request(client: Client, origin: str, tmp_path: Path) -> None:
    with client.session(headers={"X-Session": "1"}) as session:
        session.validator(lambda response: response.status == 200 or "not today")
        [outcome] = session.many([f"{origin}/echo"])
        started = client.wait(session.start("GET", f"{origin}/echo"))
        assert isinstance(outcome, outrider.Response) and started is not None
        assert ["X-Session", "1"] in outcome.json()["headers"] and ["X-Session", "1"] in started.json()["headers"]
        with session.stream(f"{origin}/echo") as stream:
            assert b"X-Session" in stream.read()
        session.download(f"{origin}/echo", tmp_path / "file")
        assert b"X-Session" in (tmp_path / "file").read_bytes()
        assert session.options(f"{origin}/echo").ok and session.upload(f"{origin}/echo", __file__).ok
        assert [event.data for event in session.sse(f"{origin}/events/2")]
        session.validator(lambda response: "not today")
        with pytest.raises(outrider.ValidationError, match="not today"):
            session.stream(f"{origin}/json")
        with pytest.raises(outrider.ValidationError, match="not today"):
            session.sse(f"{origin}/events/2")


def test_an_awaiting_session_has_every_kind_of_request(service: str, origin: str, tmp_path: Path) -> None:
    async def work() -> None:
        async with AsyncClient(socket=service) as client, client.session(headers={"X-Session": "1"}) as session:
            [outcome] = await session.many([f"{origin}/echo"])
            started = await client.wait(await session.start("GET", f"{origin}/echo"))
            assert isinstance(outcome, outrider.AsyncResponse) and started is not None
            assert ["X-Session", "1"] in outcome.json()["headers"] and ["X-Session", "1"] in started.json()["headers"]
            async with session.stream(f"{origin}/echo") as stream:
                assert b"X-Session" in await stream.read()
            await session.download(f"{origin}/echo", tmp_path / "file")
            assert b"X-Session" in (tmp_path / "file").read_bytes()
            assert [event.data async for event in session.sse(f"{origin}/events/2")]

    asyncio.run(work())


def test_a_router_is_had_from_its_client(service: str, client: Client, origin: str) -> None:
    endpoints = {"read": {"path": "/json"}, "missing": {"path": "/status/404", "validate": True}}
    handle = client.call("router.define", name="own", baseUrl=origin, endpoints=endpoints)["router"]
    assert client.router(handle).read().json() == {"id": 1, "x": 0.1}
    with pytest.raises(outrider.StatusError):
        client.router(handle).missing()
    assert client.router(handle, check=False).missing().status == 404

    async def work() -> None:
        async with AsyncClient(socket=service) as awaiting:
            made = await awaiting.call("router.define", name="own", baseUrl=origin, endpoints=endpoints)
            assert (await awaiting.router(made["router"]).read()).json() == {"id": 1, "x": 0.1}

    asyncio.run(work())


def test_a_session_connects_its_requests_elsewhere(service: str, client: Client, origin: str) -> None:
    place = origin.removeprefix("http://")
    session = client.session(connect_to=place)
    assert session.get("http://one.test/json").ok and session.get("http://two.test/json", tag="x").ok
    assert client.session(connect_to={"one.test:80": place}).get("http://one.test/json").ok

    async def work() -> int | None:
        async with AsyncClient(socket=service) as other:
            return (await other.session(connect_to=place).get("http://one.test/json")).status

    assert asyncio.run(work()) == 200


def test_what_is_no_session_is_refused(client: Client, origin: str) -> None:
    with pytest.raises(TypeError, match="session must be a Session, its handle or a name, not int"):
        client.get(f"{origin}/json", session=1)  # type: ignore[arg-type]


def test_a_request_without_options_follows_later_changes_of_its_session(client: Client, origin: str) -> None:
    session = client.session(headers={"X-One": "1"}, timeout=20)
    url = f"{origin}/echo"
    assert [session.get(f"{url}?n={number}").status for number in range(3)] == [200] * 3
    seen: list[int] = []

    @session.validator
    def check(response: Any) -> bool:
        seen.append(response.status)
        return True

    @session.adapter
    def add(attempt: Any) -> None:
        attempt.headers["X-Two"] = "2"

    fields = {name.lower(): value for name, value in session.get(url).json()["headers"]}
    assert seen == [200] and (fields["x-one"], fields["x-two"]) == ("1", "2")
    with client.session(base_url=origin, params={"q": "1"}) as based:
        assert [based.get("/echo").url for _ in range(2)] == [f"{origin}/echo?q=1"] * 2
    with pytest.raises(TypeError, match="url must be a string"):
        session.get(None)  # type: ignore[arg-type]


def test_a_field_of_the_session_cannot_be_none_in_a_request(client: Client, origin: str) -> None:
    """The service adds the fields of the session, and has no form for a field that stays out."""
    with client.session(headers={"X-A": "1", "X-B": None}) as session:
        seen = session.get(f"{origin}/echo", headers={"X-B": None, "X-C": None}).json()["headers"]
        assert ["X-A", "1"] in seen and "X-B" not in dict(seen)
        with pytest.raises(ValueError, match="x-a is None, but the service sends the fields of a session"):
            session.get(f"{origin}/echo", headers={"X-A": None})
