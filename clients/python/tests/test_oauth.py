# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Credentials of OAuth 2: what is built for the service, and functions of the program that refresh."""

import asyncio
import datetime
import pathlib
import sys

import outrider
import pytest
from outrider._resources.oauth import creation, tokens

sys.path.extend(map(str, sorted(pathlib.Path(__file__).parents[3].glob("Tests/EndToEnd/support/*"))))
from token_server import Refusing


@pytest.fixture
def server():
    with Refusing() as server:
        yield server


@pytest.mark.parametrize(("given", "said"), [
    ("a", {"accessToken": "a"}),
    (("a", 60), {"accessToken": "a", "expiresIn": 60}),
    ({"access_token": "a", "refresh_token": "r", "expires_in": 60, "token_type": "bearer", "id_token": "x"},
     {"accessToken": "a", "refreshToken": "r", "expiresIn": 60, "tokenType": "bearer"}),
    ({"access_token": "a", "refresh_token": "", "expires_in": "60"}, {"accessToken": "a", "expiresIn": 60}),
    ({"access_token": "a", "expires_in": 60, "expires_at": 0},
     {"accessToken": "a", "expiresAt": "1970-01-01T00:00:00.000000Z"}),
    ({"accessToken": "a", "expiresAt": datetime.datetime(2030, 1, 1, tzinfo=datetime.timezone.utc)},
     {"accessToken": "a", "expiresAt": "2030-01-01T00:00:00.000000Z"}),
    ({"accessToken": "a", "scope": None}, {"accessToken": "a"}),
])  # fmt: skip
def test_tokens_are_taken_as_libraries_keep_them(given, said):
    assert tokens(given) == said


def test_what_is_no_token_is_refused():
    with pytest.raises(TypeError, match="bytes"):
        tokens(b"a")


def test_keywords_become_parameters():
    said = creation("work", {"client_id": "app", "origins": "https://a", "refresh_window": {"maximum_attempts": 2},
                             "scope": None, "token": "a"})
    assert said == {"grant": "refresh", "name": "work", "clientId": "app", "origins": ["https://a"],
                    "refreshWindow": {"maximumAttempts": 2}, "token": {"accessToken": "a"}}


def test_a_function_refreshes(server, client):
    server.script["/x"] = [401, 200]
    reasons = []

    @client.oauth.refresher(origins=server.url(""), token="a0")
    def mine(wish):
        reasons.append(wish.reason)
        return "a1", 3600

    assert client.get(server.url("/x"), auth=mine).status == 200
    assert server.authorizations["/x"] == ["Bearer a0", "Bearer a1"] and reasons == ["refused"]
    token = mine.token()
    assert token == "a1" and token.header == {"Authorization": "Bearer a1"} and "a1" not in repr(token)
    assert mine.info()["counts"]["refresh"] == 1


def test_a_function_says_that_a_person_must_help(server, client):
    @client.oauth.refresher(origins=server.url(""), token=("a0", -1))
    def mine(wish):
        raise outrider.LoggedOut("log in first")

    with pytest.raises(outrider.TokenError, match="log in first") as caught:
        mine.token()
    assert caught.value.needs_login
    with pytest.raises(outrider.InterceptionError, match="log in first"):
        client.get(server.url("/x"), auth=mine)
    mine.set(token="a2")
    assert client.get(server.url("/x"), auth=mine).status == 200
    mine.delete()
    with pytest.raises(outrider.HandleError):
        mine.info()


def test_a_coroutine_function_refreshes(server, service):
    server.script["/x"] = [401, 200]

    async def fetch(wish):
        await asyncio.sleep(0)
        return "a1"

    async def main():
        async with outrider.AsyncClient(socket=service) as client:
            mine = await client.oauth.refresher(fetch, origins=server.url(""), token="a0")
            assert (await client.get(server.url("/x"), auth=mine)).status == 200
            assert await mine.token() == "a1" and (await mine.info())["state"] == "ready"
            assert mine.name in [one["credential"] for one in await client.oauth.list()]
            await mine.refresh()
            await mine.delete()

    asyncio.run(main())
    assert server.authorizations["/x"] == ["Bearer a0", "Bearer a1"]
