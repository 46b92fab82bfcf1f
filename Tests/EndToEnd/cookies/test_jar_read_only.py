# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Named jars on a disk that the service may only read, such as a volume of a container."""

import contract
import pytest
from cookie_server import CookieServer
from jar_calls import header, listed, put, wire
from request_client import result
from small_disk import make_writable, on_read_only_disk

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
AGE = "Max-Age=1000"


@pytest.fixture
def jars(tmp_path):
    # an address of SQLite would take these characters for its own
    place = tmp_path / "jars 100%?#1"
    place.mkdir(mode=0o700)
    return place


@pytest.fixture
def server():
    with CookieServer() as server:
        yield server


@pytest.mark.parametrize("end", ["closed", "killed"])
def test_the_cookies_are_sent_and_changes_stay_in_memory(jars, server, end):
    url = server.url()
    with wire(jars) as line:
        result(line.call("session.create", {"cookies": "work"}))
        put(line, f"old=1; {AGE}", url=url)
        if end == "killed":
            # the log stays beside the database
            line.process.kill()
            line.process.wait()
    with wire(jars, under=on_read_only_disk(jars)) as line:
        assert [cookie["name"] for cookie in listed(line)["cookies"]] == ["old"]
        assert "cannot be written" in listed(line)["problem"]
        session = result(line.call("session.create", {"cookies": "work"}))["session"]
        said = result(line.call("cookies.set", {"jar": "work", "url": url, "setCookie": [f"new=2; {AGE}"]}))
        assert said["changes"][0]["kind"] == "added" and "cannot be written" in said["problem"]
        assert result(line.call("data.send", {"url": url, "session": session}))["ok"]
        assert server.sent() == "old=1; new=2"
    with wire(jars) as line:
        assert header(line, url=url) == "old=1" and "problem" not in listed(line)


@pytest.mark.parametrize("isOpen", [True, False])
def test_the_changes_of_a_service_that_may_write_are_read(jars, isOpen):
    with wire(jars) as host:
        if isOpen:
            result(host.call("session.create", {"cookies": "work"}))
        put(host, f"a=1; {AGE}")
        with wire(jars, under=on_read_only_disk(jars)) as guest:
            result(guest.call("session.create", {"cookies": "work"}))
            assert header(guest) == "a=1"
            for number in range(2, 5):
                put(host, f"a={number}; {AGE}")
                assert header(guest) == f"a={number}"
            result(host.call("cookies.clear", {"jar": "work"}))
            assert header(guest) is None


def test_events_tell_of_the_changes_of_others(jars):
    with wire(jars) as host:
        put(host, f"a=1; {AGE}")
        with wire(jars, under=on_read_only_disk(jars)) as guest:
            result(guest.call("session.create", {"cookies": {"name": "work", "events": True}}))
            assert header(guest) == "a=1"
            # one that cannot be written must not hide those that come
            put(guest, f"own=1; {AGE}", url="https://own.example.net/")
            for name in "bcd":
                put(host, f"{name}=2; {AGE}")
                guest.start("cookies.header", {"jar": "work", "url": "https://www.example.com/"})
                while True:
                    said = guest.receive()
                    changes = said["params"]["changes"] if said.get("method") == "event.cookies" else []
                    if [change["name"] for change in changes] == [name]:
                        break


def test_changes_are_written_as_soon_as_the_disk_allows_it(jars):
    with wire(jars) as line:
        put(line, f"old=1; {AGE}")
    with wire(jars, under=on_read_only_disk(jars)) as line:
        assert "problem" in listed(line)
        make_writable(line.process, jars)
        said = result(line.call("cookies.set", {
            "jar": "work", "url": "https://www.example.com/", "setCookie": [f"new=2; {AGE}"]}))
        assert "problem" not in said and "problem" not in listed(line)
        with wire(jars) as other:
            assert header(other) == "old=1; new=2"
