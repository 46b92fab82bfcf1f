# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests that go through proxies: real ones, and one by hand that writes down what it is told."""

import json
import shutil

import contract
import pytest
from digest_server import ADA, PASSWORD, USER
from http_server import Listening
from proxy_server import Proxy, microsocks, tinyproxy
from request_client import get, result
from tls_server import context
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def needs(program):
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not here: scripts/setup --test")


def seen(response):
    """What a `home` server saw."""
    assert response["ok"], response
    return json.loads(response["body"]["text"]) if "text" in response["body"] else response["body"]["json"]


# Real proxies


@needs("tinyproxy")
def test_a_real_proxy_carries_http_requests_on(wire, home, tmp_path):
    """[AD3]"""
    with tinyproxy(tmp_path) as proxy:
        response = get(wire, home.url(), proxy=proxy, method="POST", body={"text": "hello"})
    assert seen(response)["body"] == "hello" and "via" in seen(response)["headers"]
    assert f"POST {home.url()} HTTP/1.1" in (tmp_path / "tiny.log").read_text()


@needs("tinyproxy")
def test_a_real_proxy_opens_a_tunnel_that_is_used_again(trusting, listen, tmp_path):
    """[AD3]"""
    port = listen("good")
    with tinyproxy(tmp_path) as proxy:
        first, second = (
            get(trusting, f"https://localhost:{port}/", proxy=proxy, metrics=True) for _ in range(2)
        )
    assert first["body"]["text"] == second["body"]["text"] == "secure" and first["tls"]["version"] == "TLSv1.3"
    timed, again = first["metrics"]["attempts"][0], second["metrics"]["attempts"][0]
    assert timed["proxy"] > 0 and timed["tls"] > 0 and not timed["reused"]
    assert again["reused"] and not {"connect", "proxy", "tls"} & set(again)
    assert (tmp_path / "tiny.log").read_text().count(f"CONNECT localhost:{port} HTTP/1.1") == 1


@needs("tinyproxy")
def test_a_real_proxy_is_told_who_asks(trusting, home, listen, tmp_path):
    urls = [home.url(), f"https://127.0.0.1:{listen('good')}/"]
    with tinyproxy(tmp_path, PASSWORD) as proxy:
        for url in urls:
            for right in (proxy.replace("//", f"//{USER}:{PASSWORD}@"), {"url": proxy, "credential": ADA}):
                assert get(trusting, url, proxy=right)["status"] == 200
        wrong = [get(trusting, url, proxy={"url": proxy, "credential": {**ADA, "password": "wrong"}}) for url in urls]
        nobody = [get(trusting, url, proxy=proxy) for url in urls]
    for forwarded, tunnelled in (wrong, nobody):
        assert forwarded["status"] in (401, 407) and forwarded["attempts"] == 1
        assert not tunnelled["ok"] and "status" not in tunnelled
        assert tunnelled["error"]["code"] in (1415, 1416) and tunnelled["error"]["data"]["status"] in (401, 407)


@needs("tinyproxy")
def test_a_real_proxy_that_cannot_reach_the_server_says_no(wire, tmp_path):
    with Listening() as gone:
        port = gone.port
    with tinyproxy(tmp_path) as proxy:
        error = get(wire, f"https://127.0.0.1:{port}/", proxy=proxy)["error"]
    assert (error["code"], error["phase"]) == (1415, "proxy") and error["data"]["status"] >= 500
    assert error["data"]["proxy"] == proxy.removeprefix("http://") and error["data"]["headers"]
    assert f"127.0.0.1:{port}" in error["message"]


@needs("microsocks")
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
@pytest.mark.parametrize("password", [None, PASSWORD])
def test_a_real_socks_proxy_leads_anywhere(trusting, home, listen, tmp_path, scheme, password):
    """[AD8]"""
    user = f"{USER}:{password}@" if password else ""
    with microsocks(tmp_path, password) as port:
        proxy = f"{scheme}://{user}127.0.0.1:{port}"
        plain = get(trusting, home.url(host="localhost"), proxy=proxy, metrics=True)
        secure = get(trusting, f"https://localhost:{listen('good')}/", proxy=proxy)
        if password:
            refused = get(trusting, home.url(), proxy=f"{scheme}://{USER}:wrong@127.0.0.1:{port}")["error"]
            nobody = get(trusting, home.url(), proxy=f"{scheme}://127.0.0.1:{port}")["error"]
            assert [refused["code"], nobody["code"]] == [1416, 1416]
    assert seen(plain)["path"] == "/echo" and secure["body"]["text"] == "secure"
    assert plain["metrics"]["attempts"][0]["proxy"] > 0


# What a proxy is told, and what not


def test_a_forwarded_request_is_written_as_for_a_proxy(wire, home):
    """RFC 9112 section 3.2.2. [AD3]"""
    with Proxy() as proxy:
        response = get(wire, home.url("/echo?a=b"), proxy=proxy.address, headers={"X-Own": "1"}, auth={"basic": ADA})
        again = get(wire, home.url("/echo?a=b"), proxy=proxy.address)
    assert seen(response)["path"] == "/echo?a=b"
    first, second = proxy.requests
    assert first.path == home.url("/echo?a=b") and first.field("host") == home.url("").removeprefix("http://")
    assert first.field("proxy-authorization") is None and first.field("authorization").startswith("Basic ")
    assert first.connection == second.connection == 1
    assert {"name": "Via", "value": "1.1 by-hand"} in response["headers"] and again["ok"]


def test_a_tunnel_is_asked_for_without_anything_of_the_request(trusting, listen):
    """RFC 9110 section 9.3.6: Authorization is for the server, and goes into the tunnel."""
    port = listen("good")
    with Proxy() as proxy:
        url = f"https://localhost:{port}/secret?token=t"
        fields = {"X-Own": "1", "User-Agent": "u/1"}
        response = get(trusting, url, proxy=proxy.address, headers=fields, auth={"basic": ADA})
    assert response["body"]["text"] == "secure"
    (asked,) = proxy.requests
    assert (asked.method, asked.path) == ("CONNECT", f"localhost:{port}")
    assert asked.fields == [("Host", f"localhost:{port}"), ("User-Agent", "u/1")]


@pytest.mark.parametrize("scheme", ["basic", "digest"])
def test_the_password_of_a_proxy_stays_with_it(wire, home, scheme):
    """[AD10]"""
    with Proxy("SHA-256") if scheme == "digest" else Proxy(basic=True) as proxy, Taker() as origin:
        said = {"url": proxy.address, "credential": {**ADA, "schemes": [scheme]}}
        response = get(wire, origin.url("/keep"), proxy=said)
    assert response["status"] == 200 and not proxy.faults
    assert proxy.statuses == ([407, 200] if scheme == "digest" else [200])
    (came,) = origin.taken
    assert not [name for name, _ in came.fields if name.lower().startswith("proxy-")]
    assert PASSWORD not in came.head.decode()


def test_a_proxy_over_tls_is_shaken_hands_with_and_the_server_in_its_tunnel_too(trusting, certificates, home, listen):
    with Proxy(basic=True, context=context(certificates, "good")) as proxy:
        secure = get(trusting, f"https://localhost:{listen('good')}/", proxy=proxy.named, metrics=True)
        plain = get(trusting, home.url(), proxy=proxy.named)
    assert secure["body"]["text"] == "secure" and secure["tls"]["version"] == "TLSv1.3"
    assert [one.method for one in proxy.requests] == ["CONNECT", "GET"] and seen(plain)["path"] == "/echo"
    assert "tls" not in plain


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_over_tls_must_prove_who_it_is(trusting, certificates, home, listen, scheme):
    url = home.url() if scheme == "http" else f"https://localhost:{listen('good')}/"
    with Proxy(basic=True, context=context(certificates, "other")) as proxy:
        error = get(trusting, url, proxy=proxy.named)["error"]
    cause = error["data"]["cause"]
    assert error["code"] == 1409 and cause["code"] == 1508 and not proxy.requests
    assert "cannot be used: the certificate of" in error["message"] and error["message"].endswith(cause["message"])


def test_the_server_in_a_tunnel_must_prove_who_it_is(trusting, listen):
    with Proxy() as proxy:
        error = get(trusting, f"https://localhost:{listen('other')}/", proxy=proxy.address)["error"]
    assert error["code"] == 1508 and "localhost" in error["message"]


# Which proxy


def test_each_hop_of_a_redirect_goes_through_its_own_proxy_with_its_own_password(trusting, listen, home):
    """[AD10]"""
    secure = f"https://localhost:{listen('good')}/"
    with Proxy(basic=True) as plain, Proxy(basic=True, user="bob", password="other") as tunnels:
        tunnel = tunnels.address.replace("//", "//bob:other@")
        proxy = {"http": plain.named, "https": tunnel}
        response = get(trusting, home.url(f"/to/302?{secure}"), proxy=proxy)
    assert response["body"]["text"] == "secure"
    assert [one.method for one in plain.requests] == ["GET"] and [one.method for one in tunnels.requests] == ["CONNECT"]
    assert plain.statuses == tunnels.statuses == [200]
    assert plain.requests[0].field("proxy-authorization") != tunnels.requests[0].field("proxy-authorization")


def test_what_is_bypassed_is_asked_directly_also_after_a_redirect(wire, home, away):
    """[AD6]"""
    with Proxy(basic=True) as proxy:
        bypass = [f"127.0.0.1:{away.server_address[1]}"]
        response = get(wire, home.url(f"/to/302?{away.url()}"), proxy={"url": proxy.named, "bypass": bypass})
    assert "via" not in [one["name"].lower() for one in response["headers"]]
    assert seen(response)["path"] == "/echo" and len(proxy.requests) == 1


def test_a_session_says_which_proxy_and_a_request_may_say_another(wire, home):
    with Proxy() as one, Proxy() as other:
        session = result(wire.call("session.create", {"proxy": one.named}))["session"]
        get(wire, home.url(), session=session)
        get(wire, home.url(), session=session, proxy=other.address)
        get(wire, home.url(), session=session, proxy=False)
        get(wire, home.url(), session=session, proxy="none")
        assert (len(one.requests), len(other.requests)) == (1, 1)
        shown = result(wire.call("session.get", {"session": session}))["proxy"]
        assert shown == {"url": one.address.replace("//", f"//{USER}:***@"), "bypass": []}
        shown = result(wire.call("session.update", {"session": session, "proxy": {"http": other.address}}))["proxy"]
        assert shown == {"http": other.address, "bypass": []}
        get(wire, home.url(), session=session)
        assert result(wire.call("session.update", {"session": session, "proxy": "none"}))["proxy"] == "none"
        get(wire, home.url(), session=session)
        assert (len(one.requests), len(other.requests)) == (1, 2)


def test_the_environment_of_the_service_counts_only_where_it_is_asked_for(monkeypatch, home):
    """A service is shared: its starter has not chosen the way of all its clients. [AD7]"""
    with Proxy() as proxy:
        for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.address)
        monkeypatch.setenv("no_proxy", "localhost")
        with contract.Wire() as wire:
            get(wire, home.url())
            assert not proxy.requests
            assert get(wire, home.url(), proxy="environment")["ok"] and len(proxy.requests) == 1
            assert get(wire, home.url(host="localhost"), proxy="environment")["ok"] and len(proxy.requests) == 1
            session = result(wire.call("session.create", {"proxy": "environment"}))["session"]
            assert result(wire.call("session.get", {"session": session}))["proxy"] == "environment"
        with contract.Wire(arguments=["--proxy", "environment"]) as wire:
            assert get(wire, home.url())["ok"] and len(proxy.requests) == 2
            assert get(wire, home.url(), proxy=False)["ok"] and len(proxy.requests) == 2


def test_an_upper_case_http_proxy_is_somebody_elses_header(monkeypatch, home):
    """[AD7]"""
    with Proxy() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.address)
        with contract.Wire() as wire:
            assert get(wire, home.url(), proxy="environment")["ok"] and not proxy.requests


def test_an_environment_that_makes_no_sense_is_told_to_who_asks_for_it(monkeypatch, home):
    monkeypatch.setenv("http_proxy", "gopher://user:secret@127.0.0.1")
    with contract.Wire() as wire:
        error = wire.call("data.send", {"url": home.url(), "proxy": "environment"})["error"]
        assert error["data"]["pointer"] == "/proxy" and "http_proxy" in error["message"] and "secret" not in str(error)
        assert get(wire, home.url())["ok"]


@pytest.mark.parametrize(
    "proxy, pointer, word",
    [
        ("", "/proxy", "host"), ("http://", "/proxy", "host"), ("ftp://user:secret@h", "/proxy", "ftp"),
        ("http://user:secret@h:0", "/proxy", "port"), ("http://user:sec%0Aret@h", "/proxy", "control"),
        ("http://user:secret@h/path", "/proxy", "end"), ("http://u\ns:er@h", "/proxy", "control"),
        ({"url": 7}, "/proxy/url", "string"), (7, "/proxy", "boolean"),
        (["http://h"], "/proxy", "URL"),
        ({"url": "http://h", "credential": {"password": "secret"}}, "/proxy/credential/username", "required"),
        ({"url": "http://h", "bypass": ["ok.test", "10.0.0.0/33"]}, "/proxy/bypass/1", "network"),
        ({"url": "http://h", "credential": {"username": "a:b"}}, "/proxy/credential/username", "colon"),
        ({"https": "socks4://h"}, "/proxy/https", "socks5"),
        ({"url": "http://h", "port": 1}, "/proxy/port", "no member"),
        ({"credential": {"username": "ada", "password": "secret"}}, "/proxy/credential", "url, http or https"),
    ],
)
def test_what_is_no_proxy_is_refused_before_anything_is_sent(wire, home, proxy, pointer, word):
    error = wire.call("data.send", {"url": home.url(), "proxy": proxy})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer)
    assert word in error["message"] and "secret" not in str(error) and not home.seen


# What is shown


def test_no_description_shows_the_password_of_a_proxy(wire, home):
    """[AD10]"""
    with Proxy("MD5") as proxy:
        log = wire.start("events.subscribe", {"topics": ["*"]})
        wire.reply(log)
        number = wire.start("data.start", {"url": home.url(), "proxy": proxy.named, "tag": "t"})
        request = wire.reply(number)["result"]["request"]
        shown = [wire.call("request.wait", {"request": request})]
        for method in ("request.curl", "request.describe", "request.get"):
            shown.append(wire.call(method, {"request": request}))
        shown.append(wire.call("har.export", {"requests": [request]}))
        whole = wire.call("request.curl", {"request": request, "secrets": True})["result"]["command"]
    masked = proxy.address.replace("//", f"//{USER}:***@")
    assert f"-x '{masked}'" in shown[1]["result"]["command"] and masked in shown[2]["result"]["text"]
    assert proxy.named in whole
    text = json.dumps(shown)
    assert PASSWORD not in text and "Proxy-Authorization" not in text


def test_the_log_shows_no_password_of_a_proxy(monkeypatch, tmp_path, home):
    """[AD10]"""
    log = tmp_path / "log"
    with contract.Wire(arguments=["--log-level", "trace", "--log-file", str(log)]) as wire, Proxy("MD5") as proxy:
        assert get(wire, home.url(), proxy=proxy.named)["status"] == 200
        assert get(wire, home.url(), proxy={"url": proxy.named.replace(PASSWORD, "wr0ng")})["status"] == 407
    said = log.read_text()
    assert home.url() in said and PASSWORD not in said and "wr0ng" not in said


def test_the_phases_of_a_way_through_a_proxy_are_told(trusting, listen):
    with Proxy() as proxy:
        result(trusting.call("events.subscribe", {"topics": ["attempt.connecting"]}))
        number = trusting.start("data.send", {"url": f"https://localhost:{listen('good')}/", "proxy": proxy.address})
        phases = []
        while "method" in (message := trusting.receive(20)):
            phases.append(message["params"]["detail"]["phase"])
        assert message["id"] == number and phases == ["connect", "proxy", "tls"]
