# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Sealed jars, a session's own public suffixes, and cookies in descriptions of requests."""

import os
import shutil

import contract
import pytest
from cookie_server import CookieServer
from jar_calls import change, header, put, wire
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def jars(tmp_path):
    return tmp_path / "jars"


@pytest.fixture
def server():
    with CookieServer() as server:
        yield server


@pytest.fixture
def keyed(tmp_path):
    """Arguments of a service whose credential store has a key."""
    key = tmp_path / "key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    return ("--credentials", str(tmp_path / "credentials"), "--credential-key", f"file:{key}")


def sealed(jars, keyed):
    return contract.Wire(arguments=("--jars", str(jars), *keyed))


def on_disk(jars):
    return b"".join(path.read_bytes() for path in (jars / "work").iterdir() if path.is_file())


def test_values_of_a_sealed_jar_are_not_on_the_disk(jars, keyed):
    with wire(jars) as line:
        put(line, "old=canary-old; Max-Age=1000")
    assert b"canary-old" in on_disk(jars)
    with sealed(jars, keyed) as line:
        result(line.call("session.create", {"cookies": {"name": "work", "seal": True}}))
        put(line, "new=canary-new; Max-Age=1000")
        assert header(line) == "old=canary-old; new=canary-new"
        assert b"canary" not in on_disk(jars)
    with sealed(jars, keyed) as line:
        # sealed for good, whichever service opens it
        put(line, "third=canary-third; Max-Age=1000")
        assert header(line) == "old=canary-old; new=canary-new; third=canary-third"
    assert b"canary" not in on_disk(jars)


@pytest.mark.parametrize("fate", ["damaged", "removed"])
def test_a_sealed_jar_stays_sealed_whatever_becomes_of_its_database(jars, keyed, fate):
    """For a service that was not told to seal the jar."""
    with sealed(jars, keyed) as line:
        result(line.call("session.create", {"cookies": {"name": "work", "seal": True}}))
        put(line, "old=canary-old; Max-Age=1000")
    path = jars / "work/jar.db"
    if fate == "damaged":
        path.write_bytes(os.urandom(path.stat().st_size))
    with sealed(jars, keyed) as line:
        # a session holds the jar
        result(line.call("session.create", {"cookies": "work"}))
        if fate == "removed":
            shutil.rmtree(jars / "work")
        put(line, "new=canary-new; Max-Age=1000")
        assert header(line) == "new=canary-new" and b"canary" not in on_disk(jars)
    assert b"canary" not in on_disk(jars)


def test_a_sealed_jar_without_its_key_is_left_alone(jars, keyed, tmp_path):
    with sealed(jars, keyed) as line:
        result(line.call("session.create", {"cookies": {"name": "work", "seal": True}}))
        put(line, "a=1; Max-Age=1000")
    other = tmp_path / "other"
    other.write_bytes(os.urandom(32))
    other.chmod(0o600)
    for arguments in ((), (*keyed[:3], f"file:{other}")):
        with sealed(jars, ("--credentials", str(tmp_path / "empty")) if not arguments else arguments) as line:
            error = line.call("session.create", {"cookies": "work"})["error"]
            assert error["code"] == -32013 and error["data"]["state"] == "locked", error
    with sealed(jars, keyed) as line:
        assert header(line) == "a=1"


def test_a_sealed_value_opens_in_its_own_row_only(jars, keyed):
    with sealed(jars, keyed) as line:
        result(line.call("session.create", {"cookies": {"name": "work", "seal": True}}))
        put(line, "a=1; Max-Age=1000", "b=2; Max-Age=1000")
    change(jars, "UPDATE cookie SET value = (SELECT value FROM cookie WHERE name = 'a') WHERE name = 'b'")
    with sealed(jars, keyed) as line:
        assert header(line) == "a=1"


def test_sealing_needs_a_key_and_a_name(jars, tmp_path):
    with sealed(jars, ("--credentials", str(tmp_path / "empty"))) as line:
        error = line.call("session.create", {"cookies": {"name": "work", "seal": True}})["error"]
        assert error["data"]["state"] == "locked" and "key" in error["message"]
        error = line.call("session.create", {"cookies": {"seal": True}})["error"]
        assert error["code"] == -32602 and error["data"]["pointer"] == "/cookies/seal"


def test_a_session_may_have_its_own_public_suffixes(jars, tmp_path):
    path = tmp_path / "list.dat"
    path.write_text("// VERSION: 2026-01-01_00-00-00_UTC\n// ===BEGIN ICANN DOMAINS===\ntest\nshop.test\n")
    with wire(jars) as line:
        plain = result(line.call("session.create", {"cookies": True}))["session"]
        own = result(line.call("session.create", {"cookies": {"suffixes": str(path)}}))["session"]
        field = {"url": "https://a.shop.test/", "setCookie": ["x=1; Domain=shop.test"]}
        assert result(line.call("cookies.set", {"session": plain, **field}))["changes"][0]["kind"] == "added"
        assert result(line.call("cookies.set", {"session": own, **field}))["changes"][0]["kind"] == "refused"
        for cookies, place in (
            ({"suffixes": "list.dat"}, "/cookies/suffixes"), ({"suffixes": str(tmp_path)}, "/cookies/suffixes"),
            ({"suffixes": str(path), "name": "work"}, "/cookies/suffixes"),
        ):
            error = line.call("session.create", {"cookies": cookies})["error"]
            assert error["code"] == -32602 and error["data"]["pointer"] == place, error


def test_a_text_that_is_no_list_replaces_no_public_suffixes(jars, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("hello\nworld\n")
    with sealed(jars, ("--public-suffixes", str(path))) as line:
        result(line.call("session.create", {"cookies": True}))
        suffixes = result(line.call("server.info"))["publicSuffixes"]
        assert suffixes["source"] != str(path) and "BEGIN ICANN DOMAINS" in suffixes["warning"], suffixes


def test_descriptions_show_that_there_are_cookies(jars, server):
    with wire(jars) as line:
        put(line, "sid=canary; Max-Age=1000; Path=/", url=server.url())
        session = result(line.call("session.create", {"cookies": "work"}))["session"]
        handle = result(line.call("data.start", {"url": server.url(), "session": session}))["request"]
        result(line.call("request.wait", {"request": handle, "timeout": 10}))
        told = result(line.call("request.curl", {"request": handle}))["command"]
        assert "Cookie: ***" in told and "canary" not in told
        assert "sid=canary" in result(line.call("request.curl", {"request": handle, "secrets": True}))["command"]
        assert "canary" not in result(line.call("request.describe", {"request": handle}))["text"]
