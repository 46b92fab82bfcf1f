# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Named jars on disk: shared by processes, whole after a kill, and no obstacle where they cannot be used."""

import contextlib
import os
import signal
import sqlite3
import stat
import threading
import time

import contract
import pytest
from cookie_server import CookieServer
from jar_calls import change, header, listed, put, wire
from request_client import result, until
from syscall_faults import injected, needs_strace

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

TRIALS = int(os.environ.get("OUTRIDER_TRIALS", "40"))


@pytest.fixture
def jars(tmp_path):
    return tmp_path / "jars"


@pytest.fixture
def server():
    with CookieServer() as server:
        yield server


def test_a_jar_outlives_the_service(jars):
    """[AD2]"""
    with wire(jars) as line:
        first = "a=1; Max-Age=1000; Secure; HttpOnly; SameSite=Strict; Path=/"
        put(line, first, "b=2", "c=3; Max-Age=1000; Domain=example.com")
        put(line, "b=; Max-Age=0")
        before = listed(line)["cookies"]
        assert [cookie["name"] for cookie in before] == ["a", "c"]
    with wire(jars) as line:
        assert listed(line)["cookies"] == before
        assert header(line, jar="other") is None
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (jars / "work").iterdir()}
    assert modes["jar.db"] == 0o600 and stat.S_IMODE((jars / "work").stat().st_mode) == 0o700


def test_what_a_client_has_seen_survives_a_kill(jars, server):
    """Each response whose result has arrived is on the disk, whenever the kill comes. Every tenth cookie is removed."""
    expected = {}
    for round_number in range(12):
        with wire(jars) as line:
            session = result(line.call("session.create", {"cookies": "work"}))["session"]
            for number in range(round_number % 5 + 1):
                name = f"c{round_number}x{number}"
                gone = f"{sorted(expected)[0]}=; Max-Age=0; Path=/" if len(expected) > 9 else "never=1; Max-Age=0"
                url = server.url(server.setting(f"{name}={number}; Max-Age=9999; Path=/", gone))
                assert result(line.call("data.send", {"url": url, "session": session}))["ok"]
                expected.pop(gone.partition("=")[0], None)
                expected[name] = str(number)
            # more is on its way when the kill comes
            for _ in range(20):
                url = server.url(server.setting("late=1; Max-Age=9999; Path=/"))
                line.start("data.send", {"url": url, "session": session})
            os.kill(line.process.pid, signal.SIGKILL)
            line.process.wait()
        with wire(jars) as line:
            found = {cookie["name"]: cookie["value"] for cookie in listed(line)["cookies"]}
        found.pop("late", None)
        assert found == expected, round_number


def test_two_services_share_a_jar(jars, server):
    with wire(jars) as one, wire(jars) as other:
        settings = {"cookies": {"name": "work", "events": True}, "name": "s"}
        session = result(other.call("session.create", settings))["session"]
        put(one, "a=1", url=server.url())
        events, reply = until(other, other.start("data.send", {"url": server.url(), "session": session}))
        assert result(reply)["ok"] and server.sent() == "a=1"
        told = [event["params"]["changes"] for event in events if event["method"] == "event.cookies"]
        assert [change["name"] for change in told[0]] == ["a"]
        put(other, "b=2; Max-Age=100", url=server.url())
        result(one.call("cookies.delete", {"jar": "work", "name": "a"}))
        assert header(other, url=server.url()) == "b=2"
        assert header(one, url=server.url()) == "b=2"


def test_a_cookie_goes_back_byte_for_byte(jars, server):
    """As in RFC 6265 section 5.4, whether or not the bytes are UTF-8, and from the disk, too."""
    server.planted = ["a=caf\xe9; Max-Age=100", "b=caf\xc3\xa9; Max-Age=100", "c=3; Max-Age=100"]
    # the server shows each byte as a character
    expected = "a=caf\xe9; b=caf\xc3\xa9; c=3"
    for first in ("/planted", "/"):
        with wire(jars) as line:
            session = result(line.call("session.create", {"cookies": "work"}))["session"]
            for path in (first, "/"):
                assert result(line.call("data.send", {"url": server.url(path), "session": session}))["ok"]
            assert server.sent() == expected
            shown = {cookie["name"]: cookie["value"] for cookie in listed(line)["cookies"]}
            assert shown == {"a": "caf\xe9", "b": "caf\xe9", "c": "3"}


def test_two_services_that_write_without_rest_lose_nothing(jars):
    """Neither fails, and each cookie of either is there at the end."""
    problems = []

    def fill(letter):
        with wire(jars) as line:
            for number in range(60):
                url = f"https://{letter}{number % 7}.test/"
                changes = put(line, f"{letter}{number}={number}; Max-Age=999", url=url)
                if [change["kind"] for change in changes] != ["added"]:
                    problems.append(changes)
            problems.extend(filter(None, [listed(line).get("problem")]))

    threads = [threading.Thread(target=fill, args=(letter,)) for letter in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with wire(jars) as line:
        found = {cookie["name"] for cookie in listed(line)["cookies"]}
    assert found == {f"{letter}{number}" for letter in "ab" for number in range(60)}


def test_a_newer_or_foreign_store_is_refused_and_left_alone(jars):
    with wire(jars) as line:
        put(line, "a=1; Max-Age=100")
    path = jars / "work/jar.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 99")
    (jars / "mine").mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(jars / "mine/jar.db")) as database:
        database.execute("CREATE TABLE t (x)")
    before = {name: (jars / name / "jar.db").read_bytes() for name in ("work", "mine")}
    with wire(jars) as line:
        for name, state in (("work", "newer"), ("mine", "foreign")):
            error = line.call("session.create", {"cookies": name})["error"]
            assert error["code"] == -32013 and error["data"] == {"pointer": "/cookies", "state": state}
            assert line.call("cookies.list", {"jar": name})["error"]["data"]["state"] == state
        assert result(line.call("session.create", {"cookies": "fresh"}))
    assert before == {name: (jars / name / "jar.db").read_bytes() for name in ("work", "mine")}


@pytest.mark.parametrize("damage", ["zeros", "noise", "cut"])
def test_a_damaged_store_is_put_aside(jars, server, damage):
    with wire(jars) as line:
        put(line, *(f"c{number}={'v' * 1000}; Max-Age=100" for number in range(100)), url=server.url())
    path = jars / "work/jar.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    with path.open("r+b") as file:
        if damage == "cut":
            file.truncate(size // 2)
        else:
            file.seek(0 if damage == "noise" else size // 2)
            file.write(os.urandom(4096) if damage == "noise" else bytes(size - size // 2))
    for name in ("jar.db-wal", "jar.db-shm"):
        (jars / "work" / name).unlink(missing_ok=True)
    with wire(jars) as line:
        session = result(line.call("session.create", {"cookies": "work"}))["session"]
        assert result(line.call("data.send", {"url": server.url(), "session": session}))["ok"]
        put(line, "new=1; Max-Age=100", url=server.url())
        first = listed(line)
        assert "damaged" in first["problem"]
    assert any(entry.name.startswith("damaged-") for entry in (jars / "work").iterdir())
    with wire(jars) as line:
        found = {cookie["name"] for cookie in listed(line)["cookies"]}
    assert {cookie["name"] for cookie in first["cookies"]} == found
    assert "new" in found and found <= {"new"} | {f"c{number}" for number in range(100)}


def test_cookies_on_both_sides_of_a_broken_page_are_kept(jars):
    with wire(jars) as line:
        put(line, *(f"c{number:03}={'v' * 200}; Max-Age=1000" for number in range(100)))
    path = jars / "work/jar.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = path.read_bytes()
    pages = [(start, content[start : start + 4096]) for start in range(0, len(content), 4096)]
    # a leaf with rows (SQLite's type 10) between the first and the last: an inner page would take its leaves along
    leaves = [(start, page) for start, page in pages if page[0] == 10 and b"vv" in page]
    start, page = next(one for one in leaves if b"c000" not in one[1] and b"c099" not in one[1])
    lost = page.count(b"v" * 200)
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xff" * 4096)
    with wire(jars) as line:
        found = [cookie["name"] for cookie in listed(line)["cookies"]]
    assert len(found) == 100 - lost and {"c000", "c099"} < set(found)


def test_a_damaged_number_in_a_row_does_not_end_the_service(jars):
    with wire(jars) as line:
        put(line, "a=1; Max-Age=1000", "b=2; Max-Age=1000")
    change(jars, f"UPDATE cookie SET change = {2**63 - 1} WHERE name = 'b'")
    with wire(jars) as line:
        # what has happened to a jar is told as long as the jar is open
        result(line.call("session.create", {"cookies": "work"}))
        put(line, "c=3; Max-Age=1000")
        told = listed(line)
        assert {cookie["name"] for cookie in told["cookies"]} == {"a", "b", "c"} and "damaged" in told["problem"]
    with wire(jars) as line:
        assert header(line) == "a=1; b=2; c=3"


def test_rows_that_no_response_could_set_are_not_sent(jars):
    with wire(jars) as line:
        put(line, "a=1; Max-Age=1000", "b=2; Max-Age=1000")
    change(jars, "UPDATE cookie SET value = CAST('2' || char(13, 10) || 'X-Injected: 1' AS BLOB) WHERE name = 'b'")
    with wire(jars) as line:
        assert header(line) == "a=1"


def test_no_request_goes_out_without_cookies_while_the_jar_moves(jars, server):
    stop = threading.Event()

    def move():
        with wire(jars) as line:
            number = 0
            while not stop.is_set():
                number += 1
                put(line, f"other={number}; Max-Age=1000", url="https://elsewhere.test/")

    with wire(jars) as line:
        put(line, "keep=1; Max-Age=1000; Path=/", url=server.url())
        session = result(line.call("session.create", {"cookies": "work"}))["session"]
        threads = [threading.Thread(target=move) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(200):
                assert result(line.call("data.send", {"url": server.url(), "session": session}))["ok"]
                assert server.sent() == "keep=1"
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def test_a_store_that_is_damaged_while_it_is_open(jars, server):
    """What is in memory is written into the new one."""
    with wire(jars) as line:
        # a session holds the jar: without one it leaves the memory when it likes
        result(line.call("session.create", {"cookies": "work"}))
        put(line, *(f"c{number}={'v' * 1000}; Max-Age=100" for number in range(50)), url=server.url())
        path = jars / "work/jar.db"
        with path.open("r+b") as file:
            file.write(os.urandom(path.stat().st_size))
        with (jars / "work/jar.db-wal").open("r+b") as file:
            file.write(os.urandom(file.seek(0, 2)))
        for number in range(3):
            put(line, f"new{number}=1; Max-Age=100", url=server.url())
        found = {cookie["name"] for cookie in listed(line)["cookies"]}
        assert len(found) == 53


def test_reading_a_jar_that_does_not_exist_makes_none(jars):
    """A typo in the name of a jar leaves nothing behind."""
    with wire(jars) as line:
        assert listed(line, "typo") == {"cookies": [], "jar": "typo"} and header(line, jar="typo") is None
        for method, more in (
            ("cookies.get", {"name": "a"}),
            ("cookies.explain", {"url": "https://www.example.com/", "setCookie": ["a=1"]}),
            ("cookies.export", {}),
            ("cookies.delete", {"name": "a"}),
            ("cookies.clear", {}),
        ):
            result(line.call(method, {"jar": "typo", **more}))
        assert not (jars / "typo").exists()
        put(line, "a=1", jar="typo")
        assert header(line, jar="typo") == "a=1" and (jars / "typo").is_dir()


def test_a_store_that_cannot_be_made_stays_in_memory(tmp_path):
    (tmp_path / "file").write_text("no directory")
    with wire(tmp_path / "file") as line:
        put(line, "a=1")
        assert header(line) == "a=1" and "problem" in listed(line)


def test_a_directory_that_can_be_made_later_is_used(tmp_path):
    """Cookies of the time without it are stored, too."""
    place = tmp_path / "file"
    place.write_text("no directory")
    with wire(place) as line:
        put(line, "a=1; Max-Age=100")
        assert "problem" in listed(line)
        place.unlink()
        end = time.monotonic() + 20
        while "problem" in listed(line) and time.monotonic() < end:
            time.sleep(0.05)
        put(line, "b=2; Max-Age=100")
        assert header(line) == "a=1; b=2" and "problem" not in listed(line)
    with wire(place) as line:
        assert header(line) == "a=1; b=2"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_without_permission_stays_in_memory(jars):
    jars.mkdir(mode=0o500)
    with wire(jars) as line:
        put(line, "a=1")
        assert header(line) == "a=1" and "problem" in listed(line)


def test_a_full_disk_does_not_hold_up_requests(jars, server):
    """No file may grow beyond a few KB: the jar goes on in memory."""
    with wire(jars) as line:
        put(line, "old=1; Max-Age=100", url=server.url())
    with wire(jars, under=("prlimit", "--fsize=40960")) as line:
        session = result(line.call("session.create", {"cookies": "work"}))["session"]
        for number in range(30):
            url = server.url(server.setting(f"c{number}={'v' * 3000}; Max-Age=100; Path=/"))
            assert result(line.call("data.send", {"url": url, "session": session}))["ok"]
        told = listed(line)
        assert len(told["cookies"]) == 31 and "problem" in told
        assert "vvv" not in told["problem"]
    with wire(jars) as line:
        assert {"old"} <= {cookie["name"] for cookie in listed(line)["cookies"]}


def test_values_are_in_no_log_no_event_and_no_archive(jars, server, tmp_path):
    canary = "canary31d4d96e407aad42"
    log = tmp_path / "log"
    arguments = ("--jars", str(jars), "--log-level", "trace", "--log-file", str(log))
    with contract.Wire(arguments=arguments) as line:
        result(line.call("events.subscribe", {"topics": ["*"]}))
        session = result(line.call("session.create", {"cookies": {"name": "work", "events": True}}))["session"]
        server.planted = [f"sid={canary}; Max-Age=100; Path=/", f"bad={canary}; Domain=com"]
        url = server.url("/planted")
        said = []
        for target in (url, server.url()):
            events, reply = until(line, line.start("data.start", {"url": target, "session": session}))
            handle = result(reply)["request"]
            more, reply = until(line, line.start("request.wait", {"request": handle, "timeout": 10}))
            said += events + more
            for method in ("request.describe", "request.curl"):
                said.append(line.call(method, {"request": handle}))
        assert server.sent() == f"sid={canary}"
        said.append(line.call("har.export", {}))
        said.append(line.call("session.get", {"session": session}))
    # the response itself has its Set-Cookie field and its body: they are what the client asked for
    assert canary not in repr([one for one in said if one.get("method", "").startswith("event")])
    assert canary not in repr(said[-6:])
    assert canary not in log.read_text()


# every call by which a jar changes the disk
SAVING = ["pwrite64", "fsync", "fdatasync", "openat", "flock", "mkdir", "write", "ftruncate", "unlink"]
MOMENTS = range(1, 400) if TRIALS >= 1000 else (1, 2, 5)


@needs_strace
@pytest.mark.parametrize("call", SAVING if TRIALS >= 1000 else SAVING[:3])
def test_a_kill_at_any_call_loses_no_cookie_that_was_seen(jars, server, tmp_path, call):
    kept = set()
    for number in MOMENTS:
        seen, is_killed = set(), False
        try:
            with wire(jars, under=injected(call, "signal=KILL", number, tmp_path / "notes")) as line:
                session = result(line.call("session.create", {"cookies": "work"}))["session"]
                for index in range(3):
                    name = f"c{number}-{index}"
                    url = server.url(server.setting(f"{name}={'v' * 1000}; Max-Age=1000; Path=/"))
                    assert result(line.call("data.send", {"url": url, "session": session}))["ok"]
                    seen.add(name)
        except (contract.Gone, OSError):
            is_killed = True
        kept |= seen
        with wire(jars) as line:
            found = {cookie["name"]: cookie["value"] for cookie in listed(line)["cookies"]}
            assert kept - set(found) == set(), (call, number)
            assert set(found.values()) <= {"v" * 1000}
            put(line, *(f"{name}=; Max-Age=0; Path=/" for name in found), url=server.url())
            kept = set()
        if not is_killed:
            break
