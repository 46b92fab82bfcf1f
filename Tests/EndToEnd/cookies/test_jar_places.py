# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Named jars whose files change during their use: by `rm -rf`, by another program, or by the bytes of a server."""

import contextlib
import fcntl
import os
import shutil
import sqlite3
import struct
import subprocess

import contract
import pytest
from cache_server import CacheServer, Reply
from cookie_server import CookieServer
from jar_calls import URL, change, header, listed, put, wire
from request_client import result
from small_disk import on_small_disk

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def jars(tmp_path):
    return tmp_path / "jars"


@pytest.fixture
def server():
    with CookieServer() as server:
        yield server


FULL = ("prlimit", "--fsize=40960")


def test_a_full_disk_loses_no_change_of_a_jar_that_no_session_names(jars):
    """The calls say that the disk does not have the change, which stays in memory."""
    with wire(jars) as line:
        put(line, "old=1; Max-Age=100")
    with wire(jars, under=FULL) as line:
        names = [f"c{number}" for number in range(12)]
        for name in names:
            said = result(line.call("cookies.set", {
                "jar": "work", "url": URL, "setCookie": [f"{name}={'v' * 3000}; Max-Age=100"]}))
        assert said["changes"][0]["kind"] == "added" and "work/jar.db" in said["problem"]
        assert listed(line, jar="more")["cookies"] == []
        assert [cookie["name"] for cookie in listed(line)["cookies"]] == ["old", *names]
        said = result(line.call("cookies.delete", {"jar": "work", "name": "old"}))
        assert said["changes"][0]["kind"] == "deleted" and "problem" in said
        assert [cookie["name"] for cookie in listed(line)["cookies"]] == names
        text = "www.example.com\tFALSE\t/\tFALSE\t0\tmore\t1\n"
        said = result(line.call("cookies.import", {"jar": "work", "text": text}))
        assert said["imported"] == 1 and "problem" in said
        assert {"deleted": 13, "problem": said["problem"]} == result(line.call("cookies.clear", {"jar": "work"}))
        assert listed(line)["cookies"] == []


def test_the_cookies_of_a_jar_are_sent_though_the_disk_has_no_room_at_all(jars, server):
    with wire(jars) as line:
        put(line, "old=1; Max-Age=100", url=server.url())
    # less than the index of the log takes
    with wire(jars, under=("prlimit", "--fsize=20480")) as one, wire(jars, under=("prlimit", "--fsize=20480")) as two:
        for line in (one, two, one):
            session = result(line.call("session.create", {"cookies": "work"}))["session"]
            assert result(line.call("data.send", {"url": server.url(), "session": session}))["ok"]
            assert server.sent() == "old=1"
        fields = [f"c{number}={'v' * 3000}; Max-Age=100" for number in range(9)]
        said = result(two.call("cookies.set", {"jar": "work", "url": server.url(), "setCookie": fields}))
        assert "jar.db" in said["problem"] and len(listed(two)["cookies"]) == 10
        assert [cookie["name"] for cookie in listed(one)["cookies"]] == ["old"]
    with wire(jars) as line:
        assert header(line, url=server.url()) == "old=1"


def test_a_command_fails_if_its_cookies_are_not_on_the_disk(jars):
    words = [contract.binary(), "cookies", "set", "work", URL, *(f"c{number}={'v' * 3000}" for number in range(12))]
    done = subprocess.run(
        [*FULL, *words, "--stdio"], env={**os.environ, "OUTRIDER_JARS": str(jars)}, capture_output=True, text=True,
        timeout=60)
    assert done.returncode == 1 and "not on the disk" in done.stderr and str(jars) in done.stderr, done


def test_a_request_of_the_command_fails_if_its_cookies_are_not_on_the_disk(jars, server):
    url = server.url(server.setting(*(f"c{number}={'v' * 3000}; Max-Age=100" for number in range(12))))
    words = [contract.binary(), "get", "--stdio", "--jar", "work", url]
    for under, status in (((), 0), (FULL, 1)):
        done = subprocess.run(
            [*under, *words], env={**os.environ, "OUTRIDER_JARS": str(jars / str(status))}, capture_output=True,
            text=True, timeout=60)
        assert done.returncode == status and ("not on the disk" in done.stderr) == bool(status), done


@pytest.mark.parametrize("first", ["send", "take"])
def test_a_jar_whose_directory_is_removed_during_its_use_begins_anew(jars, server, first):
    """As with `rm -rf`: the removed cookies are gone, and later ones are on the disk for all services."""
    with wire(jars) as line:
        session = result(line.call("session.create", {"cookies": "work"}))["session"]

        def fetch(path):
            assert result(line.call("data.send", {"url": server.url(path), "session": session}))["ok"]

        fetch(server.setting("a=1; Max-Age=100; Path=/"))
        shutil.rmtree(jars / "work")
        if first == "send":
            fetch("/")
            assert server.sent() is None
        fetch(server.setting("b=2; Max-Age=100; Path=/"))
        with wire(jars) as other:
            assert header(other, url=server.url()) == "b=2"
            put(other, "c=3; Max-Age=100; Path=/", url=server.url())
        fetch("/")
        assert server.sent() == "b=2; c=3"


def test_a_service_that_ends_leaves_all_cookies_in_the_databases(jars):
    """A copy of `jar.db` alone has all of them: no log is left beside it."""
    names = [f"jar{number}" for number in range(40)]
    with wire(jars) as line:
        for name in names:
            result(line.call("session.create", {"cookies": name}))
            put(line, "a=1; Max-Age=100", jar=name)
        assert len(list(jars.glob("*/jar.db-wal"))) == 40
        line.process.stdin.close()
        line.process.wait(60)
    assert not list(jars.glob("*/jar.db-wal"))


@pytest.mark.parametrize("part", ["work", "work/jar.db"])
def test_a_jar_whose_files_are_replaced_during_its_use_has_the_new_cookies(jars, server, part):
    with wire(jars) as line:
        put(line, "a=1; Max-Age=100", url=server.url())
    (jars / "work").rename(jars / "kept")
    with wire(jars) as line:
        session = result(line.call("session.create", {"cookies": "work"}))["session"]
        put(line, "b=2; Max-Age=100", "c=3; Max-Age=100", url=server.url())
        (jars / part).rename(jars / "old")
        for end in ("-wal", "-shm"):
            (jars / f"{part}{end}").unlink(missing_ok=True)
        (jars / part.replace("work", "kept")).rename(jars / part)
        put(line, "d=4; Max-Age=100", url=server.url())
        assert result(line.call("data.send", {"url": server.url(), "session": session}))["ok"]
        assert server.sent() == "a=1; d=4"


def test_cookies_of_another_service_outlast_a_write_that_fails(jars):
    """They are read in the same step as the write, and reach the jar though that fails."""
    origin = CacheServer()
    with contextlib.closing(origin), wire(jars) as line:
        def answer(number, fields):
            put(line, f"o{number}=1; Max-Age=100", url="http://127.0.0.1/")
            return Reply(fields=[("Set-Cookie", f"c{number}={'v' * 3000}; Max-Age=100; Path=/")])

        url, seen = origin.script(answer)
        with wire(jars, under=("prlimit", "--fsize=40960")) as limited:
            session = result(limited.call("session.create", {"cookies": "work"}))["session"]
            for _ in range(20):
                assert result(limited.call("data.send", {"url": url, "session": session}))["ok"]
            assert "o1=1" in seen[1][2]["Cookie"]
            told = listed(limited)
            assert "problem" in told
            names = {cookie["name"] for cookie in told["cookies"]}
            assert names == {f"{letter}{number}" for letter in "co" for number in range(1, 21)}


@pytest.mark.parametrize("length, taken", [(4095, True), (4096, False)])
def test_the_bytes_of_a_cookie_are_counted_as_the_server_sent_them(jars, server, length, taken):
    """In ISO 8859-1, each character is one (RFC 6265bis section 5.6); and the cookie comes back from the disk."""
    server.planted = ["a" + "=" + "\xe9" * length + "; Max-Age=100; Path=/"]
    for path in ("/planted", "/"):
        with wire(jars) as line:
            session = result(line.call("session.create", {"cookies": "work"}))["session"]
            for target in (path, "/"):
                assert result(line.call("data.send", {"url": server.url(target), "session": session}))["ok"]
            assert server.sent() == ("a=" + "\xe9" * length if taken else None)


@contextlib.contextmanager
def another_program(jars):
    """Holds the lock of the jar, as each program does while it writes, and tells the change at the end."""
    with (jars / "work/store.lock").open("r+b", buffering=0) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.closing(sqlite3.connect(jars / "work/jar.db")) as database, database:
            yield database
        (count,) = struct.unpack("<Q", lock.read(8))
        lock.seek(0)
        lock.write(struct.pack("<Q", count + 1))


def test_the_use_of_a_cookie_does_not_undo_its_removal_by_another_program(jars, server):
    """A logout stays one, though a request that began before it notes when the cookie was used."""
    with wire(jars) as line:
        put(line, "a=1; Max-Age=1000; Path=/", url=server.url())
    # the use is noted once an hour
    change(jars, "UPDATE cookie SET usedHour = usedHour - 5")
    with wire(jars) as line:
        session = result(line.call("session.create", {"cookies": "work"}))["session"]

        def fetch():
            assert result(line.call("data.send", {"url": server.url(), "session": session}))["ok"]
            return server.sent()

        with another_program(jars) as database:
            assert fetch() == "a=1"
            database.execute("UPDATE cookie SET value = NULL, change = change + 1")
        # the next write comes behind the one that waited
        put(line, "b=2; Max-Age=1000; Path=/", url=server.url())
        assert fetch() == "b=2" and header(line, url=server.url()) == "b=2"


def test_a_disk_with_little_room_keeps_many_changes_of_few_cookies(tmp_path):
    """The room of the log is used again: at no time does it take more than there is."""
    place = tmp_path / "disk"
    place.mkdir(mode=0o700)
    with wire(place, under=on_small_disk(place, 200)) as line:
        result(line.call("session.create", {"cookies": "work"}))
        for number in range(60):
            said = result(line.call("cookies.set", {
                "jar": "work", "url": URL, "setCookie": [f"a={number}; Max-Age=100"]}))
            assert "problem" not in said, said
        assert "problem" not in listed(line)
