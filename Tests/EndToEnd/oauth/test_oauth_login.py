# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Logging in with OAuth 2: by a browser that comes back on loopback, and by a pasted address."""

import re
import socket
from urllib.parse import parse_qs, urlencode, urlsplit

import contract
import pytest
from authorization_server import served
from browser_login import approved, begin, create, fetched, is_closed, token, wait
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()


@pytest.fixture(autouse=True)
def own_store(monkeypatch, tmp_path):
    """No credential of this user is read or written."""
    monkeypatch.setenv("OUTRIDER_CREDENTIALS", str(tmp_path / "credentials"))


# By a browser


def test_a_browser_comes_back_and_the_tokens_are_there(wire, server):
    create(wire, server)
    begun = begin(wire)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[A-Za-z0-9_-]{22}", begun["redirect"])
    query = parse_qs(urlsplit(begun["url"]).query)
    assert query["response_type"] == ["code"] and query["code_challenge_method"] == ["S256"]
    assert query["state"] == [begun["state"]] and len(begun["state"]) == 22
    back = approved(server, begun["url"])
    response, page = fetched(back)
    assert response.status == 200 and parse_qs(urlsplit(back).query)["code"][0] not in page
    assert response.getheader("Referrer-Policy") == "no-referrer" and response.getheader("Connection") == "close"
    ended = wait(wire)
    assert ended["ok"] and not ended["pending"] and ended["credential"]["state"] == "ready"
    assert server.is_good(token(wire))
    assert server.outcomes("authorization_code") == ["ok"]
    assert is_closed(begun["redirect"])


def test_the_token_goes_where_the_credential_says(wire, server):
    create(wire, server, origins=[server.url("").rstrip("/")])
    fetched(approved(server, begin(wire)["url"]))
    assert wait(wire)["ok"]
    response = result(wire.call("data.send", {"url": server.url("/api"), "auth": {"oauth": "work"}}))
    assert response["status"] == 200


def test_nothing_but_the_response_changes_anything(wire, server):
    """A page in the browser asks the listener for this and that: 404, and the login goes on."""
    create(wire, server)
    begun = begin(wire)
    back = approved(server, begun["url"])
    parts = urlsplit(back)
    root = f"{parts.scheme}://{parts.netloc}"
    for method, url, fields in [
        ("GET", root + "/favicon.ico", {}),
        ("GET", root + "/?" + parts.query, {}),
        ("GET", root + parts.path + "/?" + parts.query, {}),
        ("HEAD", back, {}),
        ("POST", back, {}),
        ("OPTIONS", back, {"Origin": "https://evil.example"}),
        ("GET", back, {"Host": "evil.example"}),
        ("GET", back, {"Host": f"localhost:{parts.port}"}),
    ]:
        response, page = fetched(url, method, **fields)
        assert response.status == 404 and "code" not in page, (method, url, fields)
    for junk in (b"\r\n\r\n", b"GET " + b"/x" * 9000 + b" HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x00\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", parts.port), 10) as visitor:
            visitor.sendall(junk)
            assert visitor.recv(100).startswith(b"HTTP/1.1 404 ")
    assert wait(wire, 0)["pending"]
    assert fetched(back)[0].status == 200
    assert wait(wire)["ok"] and server.outcomes("authorization_code") == ["ok"]


def test_a_head_that_comes_in_pieces_is_read(wire, server):
    create(wire, server)
    back = urlsplit(approved(server, begin(wire)["url"]))
    with socket.create_connection(("127.0.0.1", back.port), 10) as visitor:
        head = f"GET {back.path}?{back.query} HTTP/1.1\r\nHost: {back.netloc}\r\n\r\n"
        for piece in head:
            visitor.sendall(piece.encode())
        assert visitor.recv(100).startswith(b"HTTP/1.1 200 ")
    assert wait(wire)["ok"]


def test_the_response_counts_once(wire, server):
    create(wire, server)
    back = approved(server, begin(wire)["url"])
    assert fetched(back)[0].status == 200
    assert wait(wire)["ok"]
    assert is_closed(back)
    error = wire.call("oauth.callback", {"credential": "work", "url": back})["error"]
    assert error["data"]["failure"]["data"]["oauth"]["reason"] == "state_mismatch"
    assert server.outcomes("authorization_code") == ["ok"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"iss": "https://evil.example"}, "issuer_mismatch"),
        ({"iss": None}, "issuer_mismatch"),
        ({"code": None}, "malformed_answer"),
        ({"code": ["one", "two"]}, "malformed_answer"),
        ({"code": None, "error": "access_denied", "error_description": "no way"}, "access_denied"),
    ],
)
def test_a_response_that_does_not_fit_ends_the_login_and_sends_nothing(wire, server, change, reason):
    create(wire, server)
    begun = begin(wire)
    back = approved(server, begun["url"])
    pairs = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
    pairs = {name: value for name, value in {**pairs, **change}.items() if value is not None}
    assert fetched(begun["redirect"] + "?" + urlencode(pairs, doseq=True))[0].status == 200
    ended = wait(wire)
    assert not ended["ok"] and ended["error"]["reason"] == reason and ended["error"]["kind"] == "needsLogin"
    assert server.outcomes("authorization_code") == []
    assert is_closed(begun["redirect"])


def pairs_of(back, **change):
    pairs = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
    return urlencode({name: one for name, one in {**pairs, **change}.items() if one is not None}, doseq=True)


@pytest.mark.parametrize(
    "change",
    [
        {"state": "evil"},
        {"state": None},
        {"state": ["evil", "evil"]},
        {"state": "evil", "error": "access_denied", "code": None},
        {"state": "evil", "code": ["one", "two"]},
    ],
)
def test_a_response_with_a_wrong_state_neither_ends_nor_blocks_the_login(wire, server, change):
    """Any page in a browser can send one."""
    create(wire, server)
    begun = begin(wire)
    back = approved(server, begun["url"])
    for _ in range(3):
        assert fetched(begun["redirect"] + "?" + pairs_of(back, **change))[0].status == 404
    assert result(wire.call("oauth.wait", {"credential": "work", "timeout": 0.1}))["pending"]
    assert fetched(back)[0].status == 200
    assert wait(wire)["ok"] and server.outcomes("authorization_code") == ["ok"]


def test_a_foreign_host_neither_ends_nor_blocks_the_login(wire, server):
    create(wire, server)
    back = approved(server, begin(wire)["url"])
    parts = urlsplit(back)
    for host in ("evil.example", f"evil.example:{parts.port}", "127.0.0.1.evil.example"):
        with socket.create_connection(("127.0.0.1", parts.port), 10) as visitor:
            visitor.sendall(f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert visitor.recv(100).startswith(b"HTTP/1.1 404 ")
    assert fetched(back)[0].status == 200 and wait(wire)["ok"]


def test_visitors_that_say_nothing_do_not_block_the_login(wire, server):
    create(wire, server)
    back = approved(server, begin(wire)["url"])
    port = urlsplit(back).port
    silent = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(200)]
    try:
        silent[-1].sendall(b"GET / HTTP/1.1\r\nHost:")
        assert fetched(back)[0].status == 200
        assert wait(wire)["ok"]
    finally:
        for visitor in silent:
            visitor.close()


def test_somebody_who_says_no_is_told_so(wire, server):
    server.denies = "access_denied"
    create(wire, server)
    _, page = fetched(approved(server, begin(wire)["url"]))
    assert "did not succeed" in page
    assert wait(wire)["error"]["reason"] == "access_denied"


def test_a_newer_login_takes_the_place_of_an_older_one(wire, server):
    create(wire, server)
    older, newer = begin(wire), begin(wire)
    assert older["state"] != newer["state"] and older["url"] != newer["url"]
    assert is_closed(older["redirect"])
    fetched(approved(server, newer["url"]))
    assert wait(wire)["ok"]


def test_a_code_that_the_server_refuses_is_a_failure_that_says_so(wire, server):
    create(wire, server)
    begun = begin(wire)
    back = approved(server, begun["url"])
    server.codes.clear()
    assert fetched(back)[0].status == 200
    ended = wait(wire)
    assert not ended["ok"] and ended["error"]["reason"] == "invalid_grant"
    assert ended["credential"]["state"] in ("empty", "needsLogin")


def test_the_login_outlives_who_began_it(listening, server):
    """One connection begins, another brings the response, a third waits."""
    with contract.Wire(listening) as first:
        create(first, server)
        begun = begin(first, redirect="https://app.example/callback")
    with contract.Wire(listening) as second:
        back = approved(server, begun["url"])
        assert result(second.call("oauth.callback", {"credential": "work", "url": back}))["state"] == "ready"
    with contract.Wire(listening) as third:
        assert wait(third)["ok"] and server.is_good(token(third))


def test_who_waits_may_stop_waiting(wire, server):
    create(wire, server)
    begun = begin(wire)
    number = wire.start("oauth.wait", {"credential": "work"})
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    assert wire.reply(number)["error"]["code"] == -32800
    fetched(approved(server, begun["url"]))
    assert wait(wire)["ok"]


def test_a_server_that_knows_one_redirect_only_gets_that_one(wire, server):
    create(wire, server)
    begun = begin(wire, listen={"host": "localhost", "path": "/callback"})
    parts = urlsplit(begun["redirect"])
    assert parts.hostname == "localhost" and parts.path == "/callback" and parts.port
    back = approved(server, begun["url"])
    assert fetched(back)[0].status == 200 and wait(wire)["ok"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = wire.call("oauth.login", {"credential": "work", "listen": {"port": port}})["error"]
        assert error["data"]["failure"]["data"]["oauth"]["reason"] == "port_unavailable"


def test_further_parameters_and_another_scope_are_asked_for(wire, server):
    create(wire, server, resources=["https://api.example", "urn:x"])
    begun = begin(wire, scope=["read", "write"], parameters={"prompt": "consent", "login_hint": "a b"})
    query = parse_qs(urlsplit(begun["url"]).query)
    assert query["scope"] == ["read write"] and query["prompt"] == ["consent"] and query["login_hint"] == ["a b"]
    assert query["resource"] == ["https://api.example", "urn:x"]


@pytest.mark.parametrize("name", ["state", "scope", "client_id", "redirect_uri", "code_challenge", "nonce"])
def test_a_parameter_that_every_login_sets_is_refused_by_name(wire, server, name):
    create(wire, server)
    error = wire.call("oauth.login", {"credential": "work", "parameters": {"prompt": "x", name: "mine"}})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == f"/parameters/{name}", error
    assert name in error["message"] and "leave it out" in error["message"]


# By a pasted address


@pytest.mark.parametrize("mark", ["?", "#"])
def test_a_pasted_address_logs_in(wire, server, mark):
    create(wire, server)
    begun = begin(wire, redirect="https://app.example/callback")
    back = approved(server, begun["url"]).replace("?", mark)
    info = result(wire.call("oauth.callback", {"credential": "work", "url": back}))
    assert info["state"] == "ready" and server.is_good(token(wire))
    assert server.received("/token").form["redirect_uri"] == "https://app.example/callback"


def test_a_wrong_address_is_refused_and_the_right_one_still_counts(wire, server):
    create(wire, server)
    begun = begin(wire, redirect="https://app.example/callback")
    back = approved(server, begun["url"])
    wrong = back.replace(begun["state"], "x" * 22)
    error = wire.call("oauth.callback", {"credential": "work", "url": wrong})["error"]
    assert error["data"]["failure"]["data"]["oauth"]["reason"] == "state_mismatch"
    assert server.outcomes("authorization_code") == []
    assert result(wire.call("oauth.callback", {"credential": "work", "url": back}))["state"] == "ready"


@pytest.mark.parametrize(
    ("method", "params", "pointer"),
    [
        ("oauth.login", {}, "/credential"),
        ("oauth.login", {"credential": "work", "redirect": "nowhere"}, "/redirect"),
        ("oauth.login", {"credential": "work", "redirect": "https://a/#b"}, "/redirect"),
        ("oauth.login", {"credential": "work", "redirect": "https://a/", "listen": {}}, "/listen"),
        ("oauth.login", {"credential": "work", "listen": {"host": "0.0.0.0"}}, "/listen/host"),
        ("oauth.login", {"credential": "work", "listen": {"port": 65536}}, "/listen/port"),
        ("oauth.login", {"credential": "work", "listen": {"port": -1}}, "/listen/port"),
        ("oauth.login", {"credential": "work", "listen": {"path": "x"}}, "/listen/path"),
        ("oauth.login", {"credential": "work", "listen": {"path": "/a?b"}}, "/listen/path"),
        ("oauth.login", {"credential": "work", "parameters": {"a": 1}}, "/parameters/a"),
        ("oauth.login", {"credential": "work", "open": "yes"}, "/open"),
        ("oauth.login", {"credential": "work", "browse": True}, "/browse"),
        ("oauth.callback", {"credential": "work", "url": "code"}, "/url"),
        ("oauth.callback", {"credential": "work"}, "/url"),
        ("oauth.device", {"credential": "work", "scope": 7}, "/scope"),
        ("oauth.device", {"credential": "work", "scope": 'a "b"'}, "/scope"),
        ("oauth.device", {"credential": "work", "scope": ["a", '"b"']}, "/scope/1"),
        ("oauth.wait", {"credential": "work", "timeout": -1}, "/timeout"),
        ("oauth.set", {"credential": "work", "refreshWhen": {"statuses": [401, 200]}}, "/refreshWhen/statuses/1"),
        ("oauth.discover", {}, ""),
        ("oauth.discover", {"issuer": "https://a.example", "resource": "https://b.example"}, ""),
    ],
)
def test_a_parameter_that_is_wrong_is_named(wire, method, params, pointer):
    error = wire.call(method, params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer


def test_a_credential_that_nobody_has_is_named(wire):
    for method in ("login", "callback", "device", "wait", "revoke", "introspect"):
        more = {"url": "https://a/?b"} if method == "callback" else {}
        error = wire.call("oauth." + method, {"credential": "nobody", **more})["error"]
        assert error["data"]["pointer"] == "/credential", method


# ID tokens


def test_an_id_token_is_asked_for_and_one_that_is_none_is_refused(wire, server):
    server.metadata = lambda document: {**document, "jwks_uri": server.url("/.well-known/keys")}
    create(wire, server, scope="openid read")
    server.id_token = lambda query: "e30.e30.e30"
    begun = begin(wire)
    assert len(parse_qs(urlsplit(begun["url"]).query)["nonce"][0]) == 22
    fetched(approved(server, begun["url"]))
    ended = wait(wire)
    assert not ended["ok"] and ended["error"]["reason"] == "id_token_invalid"
    assert ended["credential"]["state"] in ("empty", "needsLogin")


def test_openid_without_keys_is_refused_before_anybody_is_sent_anywhere(wire, server):
    create(wire, server, scope="openid")
    error = wire.call("oauth.login", {"credential": "work"})["error"]
    assert error["data"]["failure"]["data"]["oauth"]["reason"] == "no_keys"
