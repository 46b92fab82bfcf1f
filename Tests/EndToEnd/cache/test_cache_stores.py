# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Named caches on disk: what outlives a service, and what damage, kills and missing rights do."""

import base64
import contextlib
import os
import random
import sqlite3
import subprocess
import time

import contract
import pytest
from cache_server import Reply
from request_client import result, until
from shell import outrider, refused
from syscall_faults import injected, needs_strace

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
LONG = 200_000
TRIALS = int(os.environ.get("OUTRIDER_TRIALS", "40"))


def fetch(wire, url, cache="docs", **more):
    return result(wire.call("data.send", {"url": url, "cache": cache, "serialize": {"as": "text"}, **more}))


def status(wire, url, **more):
    return fetch(wire, url, **more)["cache"]["status"]


def settle(wire):
    """Waits until all that was stored is on the disk."""
    return result(wire.call("cache.stats", {"cache": "docs"}))


@pytest.mark.parametrize("size", [5, LONG])
def test_an_entry_outlives_the_service(server, folder, size):
    """[U1]"""
    url, seen = server.script(Reply(b"x" * size))
    with contract.Wire() as wire:
        assert status(wire, url) == "miss"
        assert settle(wire)["entries"] == 1
    with contract.Wire() as wire:
        again = fetch(wire, url)
        assert again["cache"]["status"] == "hit" and again["body"]["text"] == "x" * size
    assert len(seen) == 1
    files = list((folder / "docs/bodies").rglob("*"))
    assert sum(path.is_file() for path in files) == (size > 65536)
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))


@pytest.mark.parametrize("size", [(1 << 20) + 1, 5_000_000])
def test_a_long_body_is_stored_and_stays_readable(server, folder, size):
    url, seen = server.script(Reply(b"y" * size))
    with contract.Wire() as wire:
        assert result(wire.call("data.send", {"url": url, "cache": "docs"}))["cache"]["status"] == "miss"
        stats = settle(wire)
        assert stats["entries"] == 1 and "problem" not in stats, stats
    with contract.Wire() as wire:
        opened = result(wire.call("stream.open", {"url": url, "cache": "docs", "wait": "response"}))
        assert opened["response"]["cache"]["status"] == "hit"
        first = result(wire.call("stream.read", {"stream": opened["stream"], "bytes": 1000}))
        assert first["base64"]
        # the reader keeps its file, whatever becomes of the entry
        result(wire.call("cache.delete", {"cache": "docs", "all": True}))
        settle(wire)
        count = len(base64.b64decode(first["base64"]))
        while not first["end"]:
            first = result(wire.call("stream.read", {"stream": opened["stream"], "bytes": 1 << 20}))
            count += len(base64.b64decode(first["base64"]))
        assert "error" not in first and count == size
    assert len(seen) == 1


@pytest.mark.parametrize("count", [1, 3])
def test_a_body_that_goes_while_it_is_confirmed_is_fetched_again(server, folder, count):
    def answer(number, fields):
        if number == 2:
            for path in (folder / "docs/bodies").rglob("*"):
                path.is_file() and path.unlink()
        given = [("ETag", '"1"'), ("Cache-Control", "max-age=0")]
        same = "If-None-Match" in fields
        return Reply(b"" if same else b"z" * LONG, status=304 if same else 200, pause=0.2, fields=given)

    url, seen = server.script(answer)
    with contract.Wire() as wire:
        fetch(wire, url)
        settle(wire)
        params = {"url": url, "cache": "docs", "serialize": {"as": "text"}}
        numbers = [wire.start("data.send", params) for _ in range(count)]
        for reply in wire.replies(numbers).values():
            assert result(reply)["body"]["text"] == "z" * LONG, reply
    assert len(seen) == 3 and "If-None-Match" not in seen[2][2]


def test_an_entry_for_memory_stays_there_when_it_is_confirmed(server, folder):
    url, _ = server.script(
        lambda number, _: Reply(b"SECRETBODY" if number == 1 else b"", status=200 if number == 1 else 304,
                                fields=[("ETag", '"1"'), ("Cache-Control", "max-age=0")]))
    with contract.Wire() as wire:
        for told in ("miss", "revalidated"):
            cache = {"name": "docs", "storage": "memory"}
            assert status(wire, url, cache=cache) == told
        assert settle(wire)["entries"] == 0


def test_offline_sends_nothing_whatever_the_request_is(server, folder):
    url, seen = server.script(Reply(b"x"))
    conditional, ranges = ["get", "-H", 'If-None-Match: "1"', url], ["get", "-H", "Range: bytes=0-1,3-4", url]
    for words in (["post", url, "a=1"], conditional, ranges):
        done = outrider(words[0], "--stdio", "--offline", "--cache", "docs", *words[1:],
                        env={"OUTRIDER_CACHES": str(folder)})
        assert done.returncode != 0 and b"no stored response" in done.stderr, done
    assert seen == []


def test_two_services_share_a_cache(server):
    """[U1]"""
    url, seen = server.script(lambda number, _: Reply(str(number).encode()))
    with contract.Wire() as one, contract.Wire() as other:
        fetch(one, url)
        settle(one)
        assert fetch(other, url)["body"]["text"] == "1" and len(seen) == 1
        fetch(other, url, method="PUT", body={"text": "new"})
        settle(other)
        assert fetch(one, url)["body"]["text"] == "3"


def test_kills_leave_whole_entries_or_none(server, folder, tmp_path):
    """Eight programs store while the service is killed; OUTRIDER_TRIALS=1000 kills it as often."""
    bodies = [bytes(range(97, 123)) * (8000 if number % 3 == 0 else 40) + b"%d" % number for number in range(12)]
    urls = {server.script(Reply(body))[0]: body for body in bodies}
    path, chance, kept = str(tmp_path / "s"), random.Random(4711), 0
    for _ in range(TRIALS + 1 if TRIALS >= 1000 else 7):
        command = [contract.binary(), "serve", "--socket", path]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        contract.await_socket(path, process)
        with contextlib.ExitStack() as stack:
            wires = [stack.enter_context(contract.Wire(path)) for _ in range(8)]
            verified = result(wires[0].call("cache.verify", {"cache": "docs"}))
            assert verified["ok"], verified
            for url, body in urls.items():
                found = fetch(wires[0], url, {"name": "docs", "mode": "onlyIfCached"})
                assert not found["ok"] or found["body"]["text"].encode() == body
                kept += found["ok"]
            numbers = [
                wires[0].start("data.send", {"url": url, "cache": {"name": "docs", "mode": "reload"}}) for url in urls]
            for url in urls:
                for wire in wires[1:]:
                    wire.start("data.send", {"url": url, "cache": {"name": "docs", "mode": "reload"}})
            # at every stage of storing, however slow the machine is
            wires[0].replies(chance.sample(numbers, chance.randrange(len(numbers))), 60)
            time.sleep(chance.uniform(0, 0.1))
            process.kill()
            process.wait()
    assert kept


def test_a_damaged_database_is_put_aside(server, folder):
    url, seen = server.script(Reply())
    with contract.Wire() as wire:
        fetch(wire, url)
        settle(wire)
    database = folder / "docs/cache.db"
    assert not database.with_name("cache.db-wal").exists()
    database.write_bytes(b"no database at all" * 1000)
    with contract.Wire() as wire:
        assert status(wire, url) == "miss"
        stats = settle(wire)
        assert status(wire, url) == "hit" and len(seen) == 2, stats
    assert list((folder / "docs").glob("damaged-*.db"))


def test_a_damaged_entry_is_absent(server, folder):
    url, seen = server.script(Reply(b"sound"))
    with contract.Wire() as wire:
        fetch(wire, url)
        settle(wire)
    with sqlite3.connect(folder / "docs/cache.db") as database:
        database.execute("UPDATE entry SET body = x'00'")
    with contract.Wire() as wire:
        assert fetch(wire, url)["body"]["text"] == "sound" and len(seen) == 2


def test_a_database_of_a_later_version_is_left_alone(server, folder):
    url, seen = server.script(Reply())
    with contract.Wire() as wire:
        fetch(wire, url)
        settle(wire)
    with sqlite3.connect(folder / "docs/cache.db") as database:
        database.execute("PRAGMA user_version = 99")
    with contract.Wire() as wire:
        assert fetch(wire, url)["ok"]
        assert "later version" in settle(wire)["problem"]
    with sqlite3.connect(folder / "docs/cache.db") as database:
        assert database.execute("PRAGMA user_version").fetchone() == (99,)


def test_no_credential_reaches_the_disk(server, folder):
    url, _ = server.script(Reply(fields=(("Cache-Control", "max-age=600"), ("Set-Cookie", "id=canary-3"))))
    with contract.Wire() as wire:
        fetch(wire, url, headers={"Authorization": "Bearer canary-1", "Cookie": "s=canary-2"})
        assert settle(wire)["entries"] == 1
        assert result(wire.call("cache.get", {"cache": "docs", "url": url}))["entries"][0]["forAll"] is False
    for path in folder.rglob("*"):
        if path.is_file():
            assert b"canary" not in path.read_bytes(), path


def test_entries_are_listed_and_removed(wire, server):
    """[U7]"""
    urls = [server.script(Reply())[0] for _ in range(3)]
    for number, url in enumerate(urls):
        fetch(wire, url, {"name": "docs", "tags": [f"tag-{number}"]})
    assert {entry["url"] for entry in result(wire.call("cache.list", {"cache": "docs"}))["entries"]} == set(urls)
    assert result(wire.call("cache.delete", {"cache": "docs", "tag": "tag-1"}))["deleted"] == 1
    assert result(wire.call("cache.delete", {"cache": "docs", "url": urls[0]}))["deleted"] == 1
    assert [entry["url"] for entry in result(wire.call("cache.list", {"cache": "docs"}))["entries"]] == [urls[2]]
    assert result(wire.call("cache.delete", {"cache": "docs", "all": True}))["deleted"] == 1


def test_reading_a_cache_that_does_not_exist_makes_none(wire, server, folder):
    """A typo in the name of a cache leaves nothing behind."""
    url, _ = server.script(Reply())
    assert result(wire.call("cache.list", {"cache": "typo"})) == {"entries": []}
    stats = result(wire.call("cache.stats", {"cache": "typo"}))
    assert stats["cache"] == "typo" and stats["entries"] == 0 and "path" not in stats
    assert result(wire.call("cache.verify", {"cache": "typo"}))["ok"]
    assert result(wire.call("cache.get", {"cache": "typo", "url": url}))["entries"] == []
    assert wire.call("cache.read", {"cache": "typo", "url": url})["error"]["data"]["state"] == "missing"
    assert result(wire.call("cache.delete", {"cache": "typo", "all": True}))["deleted"] == 0
    assert not (folder / "typo").exists()
    fetch(wire, url, "typo")
    assert len(result(wire.call("cache.list", {"cache": "typo"}))["entries"]) == 1 and (folder / "typo").is_dir()


@pytest.mark.parametrize("control", ["no-cache, max-age=600", 'no-cache="Set-Cookie", max-age=600'])
def test_an_entry_with_no_cache_is_not_told_as_fresh(wire, server, control):
    """[RFC 9111 section 5.2.2.4]"""
    url, seen = server.script(Reply(fields=(("Cache-Control", control), ("ETag", '"1"'))))
    fetch(wire, url)
    for method, params in (("cache.get", {"url": url}), ("cache.list", {})):
        [entry] = result(wire.call(method, {"cache": "docs", **params}))["entries"]
        assert entry["fresh"] is False and entry["ttl"] > 0, entry
    fetch(wire, url)
    assert len(seen) == 2


def test_old_entries_give_way(wire, server):
    result(wire.call("cache.configure", {"cache": "docs", "maxBytes": 400_000}))
    for _ in range(40):
        fetch(wire, server.script(Reply(b"x" * 20_000))[0])
    stats = settle(wire)
    assert stats["bytes"] <= 400_000 and stats["evicted"] > 10


def test_the_shell_uses_caches(server, folder):
    url, seen = server.script(Reply(b"page"))
    env = {"OUTRIDER_CACHES": str(folder)}

    def run(*words):
        return outrider(*words, "--stdio", env=env)

    for _ in range(2):
        assert run("get", "--cache", "docs", url).stdout == b"page"
    assert run("get", "--cache", "docs", "--offline", url).stdout == b"page" and len(seen) == 1
    assert run("get", "--cache", "docs", "--offline", url + "/other").returncode != 0 and len(seen) == 1
    assert url in run("cache", "list", "docs").stdout.decode()
    assert run("cache", "delete", "docs", "--all").stdout.strip() == b"1"
    for words in (
        ["list", "dosc"], ["verify", "dosc"], ["delete", "dosc", "--all"], ["get", "dosc", url], ["stats", "dosc"]
    ):  # fmt: skip
        refused(run("cache", *words), 1, "no cache dosc", "there are: docs")
    for words in (["list", "docs"], ["verify", "docs"]):
        assert (run("cache", *words).returncode, run("cache", *words).stdout) == (0, b"")
    assert run("cache", "delete", "docs", "--all").stdout.strip() == b"0"


def test_a_full_disk_does_not_hold_up_requests(server, folder):
    """No file may grow beyond a few KB: nothing is stored, and that is told."""
    url, seen = server.script(Reply(b"kept"))
    with contract.Wire() as wire:
        fetch(wire, url)
        settle(wire)
    with contract.Wire(under=("prlimit", "--fsize=65536")) as wire:
        for size in (30_000, LONG):
            for _ in range(4):
                assert fetch(wire, server.script(Reply(b"x" * size))[0])["ok"]
        stats = settle(wire)
        assert "no room" in stats["problem"] and "xxx" not in stats["problem"]
        assert status(wire, url) == "hit"
    with contract.Wire() as wire:
        assert status(wire, url) == "hit" and len(seen) == 1
        assert result(wire.call("cache.verify", {"cache": "docs"}))["ok"]


# every call by which storing changes the disk
STORING = ["pwrite64", "fsync", "fdatasync", "rename", "openat", "write", "mkdir", "flock", "unlink", "ftruncate"]
MOMENTS = range(1, 400) if TRIALS >= 1000 else (1, 2, 5)


@needs_strace
@pytest.mark.parametrize("call", STORING if TRIALS >= 1000 else STORING[:4])
def test_a_kill_at_any_call_leaves_whole_entries_or_none(server, folder, tmp_path, call):
    bodies = [b"small", b"x" * LONG]
    for number in MOMENTS:
        urls = [server.script(Reply(body))[0] for body in bodies]
        is_killed = False
        try:
            with contract.Wire(under=injected(call, "signal=KILL", number, tmp_path / "notes")) as wire:
                for url in urls:
                    fetch(wire, url)
                settle(wire)
        except (contract.Gone, OSError):
            is_killed = True
        with contract.Wire() as wire:
            assert result(wire.call("cache.verify", {"cache": "docs"}))["ok"], number
            for url, body in zip(urls, bodies):
                found = fetch(wire, url, {"name": "docs", "mode": "onlyIfCached"})
                assert not found["ok"] or found["body"]["text"].encode() == body, (call, number)
                assert found["ok"] or is_killed, (call, number)
        if not is_killed:
            break


def test_a_file_that_is_changed_is_absent(server, folder):
    url, seen = server.script(Reply(b"x" * LONG))
    with contract.Wire() as wire:
        fetch(wire, url)
        settle(wire)
    [path] = [path for path in (folder / "docs/bodies").rglob("*") if path.is_file()]
    path.write_bytes(b"x" * (LONG - 1))
    with contract.Wire() as wire:
        again = fetch(wire, url)
        assert again["body"]["size"] == LONG and len(seen) == 2
        # no entry for other values of Vary is there either
        assert again["cache"]["forward"] == "uri-miss"


def test_secrets_are_in_no_log_event_archive_or_store(server, folder):
    log = folder.parent / "log"
    with contract.Wire(arguments=("--log-level", "trace", "--log-file", str(log))) as wire:
        result(wire.call("events.subscribe", {"topics": ["*"]}))
        session = result(wire.call("session.create", {"cookies": True, "cache": "docs"}))["session"]
        url, _ = server.script(lambda number, _: Reply(
            b"page", fields=(("Cache-Control", "max-age=600"), ("Vary", "Authorization"),
                             ("Set-Cookie", f"sid=canary-cookie-{number}; HttpOnly"))))
        said = []
        for _ in range(3):
            params = {"url": url + "?token=canary-query", "session": session,
                      "headers": {"Authorization": "Bearer canary-auth", "X-Api-Key": "canary-key"}}
            events, reply = until(wire, wire.start("data.start", params))
            handle = result(reply)["request"]
            more, _ = until(wire, wire.start("request.wait", {"request": handle, "timeout": 10}))
            shown = [wire.call(name, {"request": handle}) for name in ("request.curl", "request.describe")]
            said += events + more + shown
        said += [wire.call("har.export", {}), wire.call("cache.list", {"cache": "docs"})]
        said += [wire.call("cache.get", {"cache": "docs", "url": url + "?token=canary-query"}), settle(wire)]
        stored = {"name": "docs", "mode": "onlyIfCached"}
        other = wire.call("data.send", {"url": url + "?token=canary-query", "cache": stored})
        assert other["result"]["error"]["code"] == 1421
    for one in said:
        assert "canary" not in repr(one), one
    for path in [log, *folder.rglob("*")]:
        if path.is_file():
            for canary in (b"canary-auth", b"canary-key", b"canary-cookie"):
                assert canary not in path.read_bytes(), (path, canary)
