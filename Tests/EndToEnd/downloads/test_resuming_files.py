# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads that go on with what is on the disk: after changes there, and after the end of clients and services."""

import base64
import gzip
import json
import os
import signal
import time

import contract
import pytest
from download_client import PART, SIZE, download, failure, hidden, interrupted, journal, resumed, server, slow, to
from range_server import Ranging
from request_client import read_all, result, until

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
__all__ = ["server"]


# What is on the disk


def test_resume_data_that_cannot_be_used_is_refused(wire, server, tmp_path):
    begun = interrupted(wire, server, "/fine", tmp_path / "file")
    data = begun["resumeData"]
    text = base64.b64decode(data)
    failure(resumed(wire, resumeData="!"), 1802)
    for spoiled in (b"", b"{}\n", text[:-3], text.replace(b"fine", b"fins")):
        failure(resumed(wire, resumeData=base64.b64encode(spoiled).decode()), 1802)
    for wrong in ({}, {"resumeData": data, "path": "/a"}):
        assert wire.call("download.resume", wrong)["error"]["code"] == -32602
    for name in hidden(tmp_path):
        (tmp_path / name).unlink()
    failure(resumed(wire, resumeData=data), 1802, tmp_path)
    error = wire.call("download.resume", {"path": str(tmp_path / "file")})["error"]
    assert (error["code"], error["data"]["state"]) == (-32013, "absent")


def test_a_path_that_cannot_be_resumed_is_not_called_busy(wire, tmp_path):
    """A program waits for the end of a download that is busy, and would wait forever."""
    for path in ("file", "", "~root/file", "/a\u0000b"):
        error = wire.call("download.resume", {"path": path})["error"]
        assert (error["code"], error["data"]["pointer"]) == (-32602, "/path"), error
    (tmp_path / "file").write_bytes(b"")
    states = {tmp_path / "none" / "file": "absent", tmp_path / "file" / "x": "unusable", "/": "unusable"}
    for path, state in states.items():
        error = wire.call("download.resume", {"path": str(path)})["error"]
        assert (error["code"], error["data"]["state"]) == (-32013, state), error


def forged(**members):
    """Resume data as only the service should make it."""
    line = json.dumps({"format": 1, "url": "http://127.0.0.1:1/", "boot": "", "held": [], **members}).encode()
    number = 0xCBF29CE484222325
    for byte in line:
        number = ((number ^ byte) * 0x100000001B3) & (2**64 - 1)
    return base64.b64encode(line + b"\n" + b"%016x" % number + b"\n").decode()


def test_resume_data_names_no_file_but_partial_ones(wire, server, tmp_path):
    """A forger writes to nothing else."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    link = tmp_path / ".linked.outrider-part"
    link.symlink_to(victim)
    for partial in (victim, link, tmp_path / "..outrider-part" / "x", tmp_path / ".outrider-part"):
        response = resumed(wire, resumeData=forged(partial=str(partial)), url=server.url("/fine"))
        assert response["error"]["code"] in (1802, 1808), response
    assert victim.read_bytes() == b"mine" and server.requests == []


@pytest.mark.parametrize("spoil", ["cut", "grown", "journal"])
def test_a_partial_file_that_was_changed_is_not_trusted_too_far(wire, server, tmp_path, spoil):
    path = tmp_path / "file"
    begun = interrupted(wire, server, "/fine", path)
    part, notes = tmp_path / ".file.outrider-part", tmp_path / ".file.outrider-journal"
    assert part.stat().st_size == PART
    checksum = {"sha-256": server.digest()}
    if spoil == "cut":
        os.truncate(part, 1000)
    elif spoil == "grown":
        os.truncate(part, SIZE + 1)
    else:
        notes.write_bytes(notes.read_bytes()[:-20])
    response = resumed(wire, resumeData=begun["resumeData"], checksum=checksum)
    if spoil == "grown":
        # bytes that are there and not right: the digest tells
        assert response["error"]["code"] in (1805, 1806) and not path.exists()
    else:
        assert response["ok"] and path.read_bytes() == server.data
        assert server.ranges()[-1] == ("bytes=1000-" if spoil == "cut" else f"bytes={PART}-")


def test_another_boot_trusts_only_what_had_reached_the_disk(wire, server, tmp_path):
    path = tmp_path / "file"
    begun = interrupted(wire, server, "/fine", path)
    notes = journal(begun["resumeData"])
    (tmp_path / ".file.outrider-journal").unlink()
    notes.update(boot="another", held=[[0, 100_000]])
    assert resumed(wire, resumeData=forged(**notes))["ok"]
    assert server.ranges()[-1] == "bytes=100000-" and path.read_bytes() == server.data


def test_segments_go_on_with_what_is_missing(wire, tmp_path):
    with Ranging(5_000_000) as server:
        path = tmp_path / "file"
        request = slow(wire, server, path, stop=200_000, segments=4, rateLimit=100_000_000)
        deadline = time.monotonic() + 20
        while result(wire.call("request.get", {"request": request}))["progress"]["received"] < 3_950_000:
            assert time.monotonic() < deadline, "the other segments never came"
        data = result(wire.call("request.cancel", {"request": request, "resumeData": True}))["resumeData"]
        held = journal(data)["held"]
        assert len(held) == 2 and held[0][0] == 0 and held[1][1] == 5_000_000 and held[0][1] < held[1][0]
        server.go.set()
        assert resumed(wire, resumeData=data)["ok"] and path.read_bytes() == server.data
        assert server.ranges()[-1] == f"bytes={held[0][1]}-{held[1][0] - 1}"


class Waiting(Ranging):
    """Its parts wait for `go`."""

    def respond(self, connection, manner, fields):
        if "range" in fields:
            self.note(self.arrived, "part")
            self.go.wait(60)
        return super().respond(connection, manner, fields)


def test_the_time_of_segments_stands_still_while_their_download_is_suspended(wire, tmp_path):
    with Waiting(5_000_000) as server:
        spec = {"url": server.url("/fine"), "destination": to(tmp_path / "file"), "timeout": {"total": 3}}
        request = result(wire.call("download.start", {**spec, "segments": 4}))["request"]
        server.wait_for("part", 3)
        assert result(wire.call("request.suspend", {"request": request}))["state"] == "suspended"
        result(wire.call("diagnostics.sleep", {"seconds": 3.3}))
        result(wire.call("request.resume", {"request": request}))
        server.go.set()
        response = result(wire.call("request.wait", {"request": request}, 20))
        assert response["ok"] and (tmp_path / "file").read_bytes() == server.data, response
        assert len(server.requests) == 4


# A place that remembers


def test_the_same_download_again_goes_on_when_it_may(wire, server, tmp_path):
    """By path, and by a name that only the server knows."""
    for destination in (to(tmp_path / "file"), {"directory": str(tmp_path)}):
        server.cut = PART
        wish = {"url": server.url("/fine/name"), "destination": destination, "resume": True}
        assert result(wire.call("download.send", wish))["error"]["code"] == 1404
        response = result(wire.call("download.send", wish))
        assert response["ok"] and server.ranges()[-1] == f"bytes={PART}-", server.ranges()
        assert open(response["body"]["path"], "rb").read() == server.data


def test_the_partial_file_of_another_url_is_not_gone_on_with(wire, server, tmp_path):
    """Two files of one server may have the same tag. Only the query may differ, or the digest decides."""
    path = tmp_path / "file"
    digest = {"checksum": {"sha-256": server.digest()}}
    for url, more, goes_on in (("/fine/b", {}, False), ("/fine/a?signature=2", {}, True), ("/fine/b", digest, True)):
        interrupted(wire, server, "/fine/a?signature=1", path, resume=True)
        assert download(wire, server.url(url), destination=to(path), resume=True, **more)["ok"]
        assert server.ranges()[-1] == (f"bytes={PART}-" if goes_on else None), (url, more)
        assert path.read_bytes() == server.data
        path.unlink()


def test_a_private_file_that_goes_to_a_directory_has_the_name_of_the_server(wire, server, tmp_path):
    """Even if there is a file of the name without any suggestion."""
    server.fields = ['Content-Disposition: attachment; filename="report.pdf"']
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "download").write_bytes(b"other")
    server.cut = PART
    data = download(wire, server.url("/fine"))["resumeData"]
    server.cut = 100_000
    data = resumed(wire, resumeData=data, destination={"directory": str(folder)})["resumeData"]
    assert journal(data)["target"] == str(folder / "report.pdf")
    response = resumed(wire, resumeData=data)
    assert response["ok"] and response["body"]["path"] == str(folder / "report.pdf")
    assert (folder / "report.pdf").read_bytes() == server.data
    assert sorted(os.listdir(folder)) == ["download", "report.pdf"] and (folder / "download").read_bytes() == b"other"


@pytest.mark.parametrize("validate", [True, False])
def test_the_page_of_an_error_takes_no_partial_file_away(wire, server, tmp_path, validate):
    """By path, and by a name that only the server knows."""
    for destination in (to(tmp_path / "file"), {"directory": str(tmp_path)}):
        server.cut = PART
        wish = {"url": server.url("/fine/name"), "destination": destination, "resume": True, "validate": validate}
        assert result(wire.call("download.send", wish))["error"]["code"] == 1404
        server.statuses["fine"] = 503
        busy = result(wire.call("download.send", wish))
        assert failure(busy, 1600, 503)["data"]["status"] == 503 and journal(busy["resumeData"])["held"] == [[0, PART]]
        assert (busy["body"]["size"], "complete" in busy["body"]) == (3, False), busy["body"]
        assert read_all(wire, busy["body"]["response"]) == b"503"
        server.statuses.clear()
        response = result(wire.call("download.send", wish))
        assert response["ok"] and server.ranges()[-1] == f"bytes={PART}-", server.ranges()
        assert open(response["body"]["path"], "rb").read() == server.data


def test_the_page_of_a_refused_rest_is_no_progress(wire, server, tmp_path):
    """After a retry, too: the figures are those of the file. A long page is cut."""
    server.cut, server.pages["fine"] = PART, (503, b"x" * (1 << 21))
    wish = {"url": server.url("/fine"), "destination": to(tmp_path / "file"), "resume": True, "events": ["progress"]}
    number = wire.start("download.send", {**wish, "retry": {"limit": 1, "scale": 0}})
    events, reply = until(wire, number)
    response = result(reply)
    assert failure(response, 1600, 503) and (response["status"], response["attempts"]) == (503, 2)
    assert [event["params"]["completed"] for event in events][-1] == PART
    assert all(event["params"]["total"] == SIZE for event in events), events
    assert (response["body"]["size"], response["body"]["complete"]) == (1 << 20, False)
    assert read_all(wire, response["body"]["response"], bytes=1 << 20) == b"x" * (1 << 20)


def test_a_slow_page_of_a_refused_rest_holds_nothing_up(wire, server, tmp_path):
    """What came within a second is shown; the server sends the rest only after the end."""
    path = tmp_path / "file"
    interrupted(wire, server, "/fine", path, resume=True)
    server.pages["fine"], server.stop = (503, b"later on"), 5
    response = download(wire, server.url("/fine"), destination=to(path), resume=True)
    assert failure(response, 1600, 503) and response["resumeData"] and response["body"]["complete"] is False
    assert read_all(wire, response["body"]["response"]) == b"later"
    server.go.set()


def test_without_resume_the_same_download_begins_anew(wire, server, tmp_path):
    path = tmp_path / "file"
    interrupted(wire, server, "/fine", path)
    assert download(wire, server.url("/fine"), destination=to(path))["ok"]
    assert server.ranges() == [None, None] and hidden(tmp_path) == []


def test_a_cancelled_call_that_may_go_on_keeps_what_came(wire, server, tmp_path):
    path = tmp_path / "file"
    server.stop = PART
    wish = {"url": server.url("/fine"), "destination": to(path), "resume": True, "events": ["progress"]}
    number = wire.start("download.send", wish)
    while wire.receive()["params"]["completed"] < 1:
        pass
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
    while "method" in (message := wire.receive()):
        pass
    assert message["error"]["code"] == -32800
    server.go.set()
    assert download(wire, server.url("/fine"), destination=to(path), resume=True)["status"] == 206
    assert path.read_bytes() == server.data


# Ends of clients and services


def test_a_client_that_leaves_can_come_back(listening, server, tmp_path):
    path = tmp_path / "file"
    with contract.Wire(listening) as wire:
        slow(wire, server, path)
    server.go.set()
    with contract.Wire(listening) as wire:
        for _ in range(100):
            reply = wire.call("download.resume", {"path": str(path)})
            if "result" in reply:
                break
            time.sleep(0.05)
        response = result(wire.call("request.wait", {"request": result(reply)["request"]}))
        assert response["ok"] and response["status"] == 206 and path.read_bytes() == server.data


def test_a_detached_download_outlives_its_client(listening, server, tmp_path):
    path = tmp_path / "file"
    with contract.Wire(listening) as wire:
        request = slow(wire, server, path, detach=True)
    with contract.Wire(listening) as wire:
        server.go.set()
        assert result(wire.call("request.wait", {"request": request}))["ok"]
        assert path.read_bytes() == server.data and server.ranges() == [None]


@pytest.mark.parametrize("way", ["proxy", "connectTo"])
def test_no_other_client_leads_a_resume_to_a_host_of_its_own(listening, server, tmp_path, way):
    """The URL may hold secrets of the connection that gave it."""
    with Ranging(SIZE) as away, contract.Wire(listening) as wire, contract.Wire(listening) as other:
        server.cut = PART
        wish = {"url": server.url("/fine?token=secret"), "destination": to(tmp_path / "file"), "detach": True}
        request = result(wire.call("download.start", wish))["request"]
        assert result(wire.call("request.wait", {"request": request}))["error"]["code"] == 1404
        place = away.url("").rstrip("/") if way == "proxy" else away.url("").split("/")[2]
        error = other.call("download.resume", {"request": request, way: place})["error"]
        assert (error["code"], error["data"]["pointer"]) == (-32014, "/request") and away.requests == []
        assert resumed(other, request=request)["ok"] and away.requests == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_service_that_ends_leaves_something_to_go_on_with(server, tmp_path, how):
    path = tmp_path / "file"
    with contract.Wire() as wire:
        slow(wire, server, path)
        # what has come is on its way to the file within a moment, and the journal behind it
        deadline = time.monotonic() + 20
        part, notes = tmp_path / ".file.outrider-part", tmp_path / ".file.outrider-journal"
        while part.stat().st_size < PART or not notes.exists():
            assert time.monotonic() < deadline, "what came never reached the file"
        os.kill(wire.process.pid, how)
        wire.process.wait(20)
    server.go.set()
    assert not path.exists()
    with contract.Wire() as wire:
        response = resumed(wire, path=str(path))
        assert response["ok"] and path.read_bytes() == server.data
        assert server.ranges() == [None, f"bytes={PART}-"] and hidden(tmp_path) == []


class Chunked(Ranging):
    """Says no length; `/coded` is compressed, whatever was asked for."""

    def respond(self, connection, manner, fields):
        wanted = fields.get("range", "bytes=0-")
        first = int(wanted.removeprefix("bytes=").rstrip("-"))
        data = gzip.compress(self.data, mtime=0) if manner == "coded" else self.data
        head = [f"HTTP/1.1 {206 if 'range' in fields else 200} Chunked", 'ETag: "first"', "Transfer-Encoding: chunked"]
        if manner == "coded":
            head.append("Content-Encoding: gzip")
        if "range" in fields:
            head.append(f"Content-Range: bytes {first}-{len(data) - 1}/{len(data)}")
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        for start in range(first, len(data), PART):
            connection.sendall(b"%x\r\n%s\r\n" % (len(data[start : start + PART]), data[start : start + PART]))
            if not self.may_go_on(connection):
                return False
        connection.sendall(b"0\r\n\r\n")
        return True


@pytest.mark.parametrize(
    ("manner", "fields"), [("plain", {"Range": "bytes=1000-"}), ("coded", {"Accept-Encoding": "gzip"})]
)
def test_after_a_kill_nothing_goes_on_with_bytes_that_are_not_those_of_the_file(tmp_path, manner, fields):
    """A range that the caller asked for, or a body whose coding was undone."""
    path = tmp_path / "file"
    with Chunked(SIZE) as server:
        with contract.Wire() as wire:
            wish = {"url": server.url(f"/{manner}"), "destination": to(path), "resume": True}
            result(wire.call("download.start", {**wish, "headers": fields}))
            deadline = time.monotonic() + 20
            part = tmp_path / ".file.outrider-part"
            while not part.exists() or part.stat().st_size < PART // 2:
                assert time.monotonic() < deadline, "what came never reached the file"
                time.sleep(0.02)
            os.kill(wire.process.pid, signal.SIGKILL)
            wire.process.wait(20)
        server.go.set()
        with contract.Wire() as wire:
            assert download(wire, wish["url"], destination=to(path), resume=True)["ok"]
        assert path.read_bytes() == (gzip.compress(server.data, mtime=0) if manner == "coded" else server.data)
        assert server.ranges() == [fields.get("Range"), None] and hidden(tmp_path) == []


def test_a_partial_file_that_is_cut_during_the_download_is_not_published(wire, server, tmp_path):
    """The rest was written behind a hole of zeros, which the length of the file did not tell."""
    path = tmp_path / "file"
    request = slow(wire, server, path)
    part = tmp_path / ".file.outrider-part"
    ends = time.monotonic() + 20
    while part.stat().st_size < PART:
        assert time.monotonic() < ends, "the first bytes were never written"
    os.truncate(part, 1000)
    server.go.set()
    response = result(wire.call("request.wait", {"request": request}, 20))
    failure(response, 1803, "another program made", "shorter", "resume")
    assert not path.exists()
    server.stop = None
    response = resumed(wire, path=str(path))
    assert response["ok"] and path.read_bytes() == server.data
    assert server.ranges()[-1] == "bytes=1000-"
