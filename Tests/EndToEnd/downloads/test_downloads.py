# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Files that are downloaded: where they go, under what name, and what happens when they cannot."""

import contextlib
import fcntl
import os
import socket
import stat
import time

import contract
import pytest
from download_client import SIZE, download, failure, hidden, server, to
from range_server import Ranging
from reply_server import Replying
from request_client import result, until

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
__all__ = ["server"]

# Where they go


def test_a_file_arrives_at_a_path(wire, server, tmp_path):
    """[O1] [3.L.1] [3.L.3]"""
    path = tmp_path / "file"
    response = download(wire, server.url("/fine"), destination=to(path), validate=True)
    assert response["ok"] and response["status"] == 200 and response["body"]["kind"] == "file"
    assert response["body"]["path"] == str(path) and response["body"]["size"] == SIZE
    assert "resumeData" not in response
    assert path.read_bytes() == server.data
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert hidden(tmp_path) == []


def test_the_request_is_like_any_other(wire, origin, tmp_path):
    """Headers, query, method: what the server saw is in the file. [3.L.2] [3.L.7]"""
    path = tmp_path / "echo.json"
    response = download(
        wire, origin + "/echo", destination=to(path), headers={"Authorization": "123456"}, query={"foo": "bar"}
    )
    seen = contract.json.loads(path.read_text())
    fields = {name.lower(): value for name, value in seen["headers"]}
    assert response["ok"] and seen["method"] == "GET" and seen["target"] == "/echo?foo=bar"
    assert fields["authorization"] == "123456" and fields["accept-encoding"] == "identity"


def test_the_server_is_asked_for_no_coding_unless_told_to(wire, origin, tmp_path):
    """What is compressed on its way is kept as it came, or unpacked where compression was asked for."""
    download(wire, origin + "/gzip", destination=to(tmp_path / "packed"))
    download(wire, origin + "/gzip", destination=to(tmp_path / "plain"), headers={"Accept-Encoding": "gzip"})
    assert (tmp_path / "packed").read_bytes()[:2] == b"\x1f\x8b"
    assert (tmp_path / "plain").read_bytes() == b"this was compressed with gzip\n"


def test_a_file_that_is_current_stays_as_it_is(wire, tmp_path):
    """304 has no content (RFC 9110 section 15.4.5)."""
    path = tmp_path / "file"
    path.write_bytes(b"kept")
    with Replying() as current:
        for destination in (to(path, replace=True), to(tmp_path / "new")):
            params = {"destination": destination, "headers": {"If-None-Match": '"a"'}}
            response = download(wire, current.url(304, ETag='"a"'), **params)
            assert (response["ok"], response["status"], response["body"]["kind"]) == (True, 304, "none")
    assert path.read_bytes() == b"kept" and os.listdir(tmp_path) == ["file"]


def test_without_a_destination_the_file_is_private_and_goes_with_its_response(wire, server, tmp_path):
    """[O5] [3.L.4]"""
    body = download(wire, server.url("/fine"))["body"]
    assert open(body["path"], "rb").read() == server.data
    assert os.path.basename(body["path"]).startswith("outrider_") and body["path"].startswith(str(tmp_path))
    result(wire.call("response.release", {"response": body["response"]}))
    assert not os.path.exists(body["path"])


def test_a_file_at_a_path_is_its_owners(wire, server, tmp_path):
    """Releasing its response, or leaving, does not remove it."""
    path = tmp_path / "file"
    body = download(wire, server.url("/fine"), destination=to(path))["body"]
    piece = result(wire.call("response.read", {"response": body["response"], "bytes": 9}))
    assert contract.json.dumps(piece)
    result(wire.call("response.release", {"response": body["response"]}))
    assert path.read_bytes() == server.data


def test_directories_are_made_when_asked_for(wire, server, tmp_path):
    """[O2] [O3] [O4] [3.L.8] [3.L.9]"""
    path = tmp_path / "a/b/file"
    response = download(wire, server.url("/fine"), destination=to(path))
    error = failure(response, 1800, "a/b")
    assert error["underlying"]["code"] == 2 and error["data"]["path"] == str(tmp_path / "a/b")
    assert "set createDirectories" in error["message"]
    assert not (tmp_path / "a").exists() and server.requests == []
    assert download(wire, server.url("/fine"), destination=to(path, createDirectories=True))["ok"]
    assert path.read_bytes() == server.data


def test_a_directory_that_takes_no_files_is_not_called_busy(wire, server):
    """No file can be made in /proc: for root, the attempt ends as in a directory that has just been removed."""
    response = download(wire, server.url("/fine"), destination=to("/proc/file"))
    assert not failure(response, 1803, "/proc/")["retryable"] and server.requests == []


def test_a_file_that_is_there_is_replaced_only_when_asked_for(wire, server, tmp_path):
    """[O2] [O4] [3.L.10]"""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    response = download(wire, server.url("/fine"), destination=to(path))
    assert failure(response, 1801, path)["data"] == {"path": str(path)}
    assert path.read_bytes() == b"old" and server.requests == []
    assert download(wire, server.url("/fine"), destination=to(path, replace=True))["ok"]
    assert path.read_bytes() == server.data


def test_a_file_that_appears_meanwhile_is_not_replaced(wire, server, tmp_path):
    """And what has come is kept, so that nothing must come again."""
    path = tmp_path / "file"
    server.stop = 10
    number = wire.start("download.send", {"url": server.url("/fine"), "destination": to(path)})
    server.wait_for("stopped")
    path.write_bytes(b"mine")
    server.go.set()
    response = result(wire.reply(number))
    failure(response, 1801, path)
    assert path.read_bytes() == b"mine"
    path.unlink()
    request = result(wire.call("download.resume", {"resumeData": response["resumeData"]}))["request"]
    assert result(wire.call("request.wait", {"request": request}))["status"] == 416
    assert path.read_bytes() == server.data


@pytest.mark.parametrize("kind", ["symlink", "dangling", "directory", "pipe", "socket", "device"])
@pytest.mark.parametrize("replace", [False, True])
def test_only_files_are_replaced(wire, server, tmp_path, kind, replace):
    path, other = tmp_path / "target", tmp_path / "other"
    other.write_bytes(b"other")
    if kind == "symlink":
        path.symlink_to(other)
    elif kind == "dangling":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "directory":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        short = contextlib.closing(socket.socket(socket.AF_UNIX))
        with short as one, contextlib.chdir(tmp_path) if hasattr(contextlib, "chdir") else contextlib.nullcontext():
            one.bind(str(path) if len(str(path)) < 100 else pytest.skip("the path of a socket must be short"))
    else:
        path = "/dev/null"
    response = download(wire, server.url("/fine"), destination=to(path, replace=replace))
    assert failure(response, 1808, path)["data"]["path"] == str(path)
    assert other.read_bytes() == b"other" and not (tmp_path / "nowhere").exists() and server.requests == []


def test_a_link_in_the_way_of_the_hidden_file_is_refused(wire, server, tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"other")
    (tmp_path / ".file.outrider-part").symlink_to(other)
    failure(download(wire, server.url("/fine"), destination=to(tmp_path / "file")), 1808)
    assert other.read_bytes() == b"other"


def test_a_directory_that_is_swapped_gets_nothing(wire, server, tmp_path):
    """The file arrives in the directory that was there in the beginning, whatever its path leads to later."""
    directory, elsewhere = tmp_path / "there", tmp_path / "elsewhere"
    directory.mkdir()
    elsewhere.mkdir()
    server.stop = 10
    number = wire.start("download.send", {"url": server.url("/fine"), "destination": to(directory / "file")})
    server.wait_for("stopped")
    directory.rename(tmp_path / "moved")
    directory.symlink_to(elsewhere)
    server.go.set()
    assert result(wire.reply(number))["ok"]
    assert os.listdir(elsewhere) == [] and (tmp_path / "moved/file").read_bytes() == server.data


def test_one_download_at_a_time_goes_to_a_path(wire, server, tmp_path, monkeypatch):
    """Whichever service asks; afterwards the next one may."""
    path = tmp_path / "file"
    server.stop = 10
    number = wire.start("download.send", {"url": server.url("/fine"), "destination": to(path)})
    server.wait_for("stopped")
    error = failure(download(wire, server.url("/fine"), destination=to(path, replace=True)), 1804, path)
    assert error["retryable"] and error["data"]["path"] == str(path) and error["reason"] == "destinationBusy"
    with contract.Wire() as other:
        place = {"directory": str(tmp_path), "filename": "file"}
        failure(download(other, server.url("/fine"), destination=place), 1804)
    server.go.set()
    assert result(wire.reply(number))["ok"]
    assert download(wire, server.url("/fine"), destination=to(path, replace=True))["ok"]


def test_a_download_waits_for_another_that_is_about_to_end(wire, server, tmp_path):
    """A client was cancelled just now, and the same command runs again."""
    assert download(wire, server.url("/fine"), destination=to(tmp_path / "other"))["ok"]
    with os.fdopen(os.open(tmp_path / ".file.outrider-part", os.O_CREAT | os.O_RDWR, 0o600)) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        number = wire.start("download.send", {"url": server.url("/fine"), "destination": to(tmp_path / "file")})
        time.sleep(0.2)
    assert result(wire.reply(number))["ok"]
    assert (tmp_path / "file").read_bytes() == server.data


def test_bad_destinations_are_named(wire, server):
    for destination, pointer in [
        ({"path": "file"}, "/destination/path"),
        ({"path": "/a", "directory": "/b"}, "/destination/path"),
        ({"filename": "a"}, "/destination/filename"),
        ({"directory": "/tmp", "filename": "../a"}, "/destination/filename"),
        ({"directory": "/tmp", "filename": ".."}, "/destination/filename"),
        ({"directory": "tmp"}, "/destination/directory"),
        ({"path": "/a\0b"}, "/destination/path"),
        ({"path": "/tmp/new/"}, "/destination/path"),
    ]:
        error = wire.call("download.send", {"url": server.url("/fine"), "destination": destination})["error"]
        assert (error["code"], error["data"]["pointer"]) == (-32602, pointer), error
    for name in ("bodyTo", "maxInline", "serialize"):
        error = wire.call("download.send", {"url": server.url("/fine"), name: "json"})["error"]
        assert (error["code"], error["data"]["pointer"]) == (-32602, "/" + name)
    assert server.requests == []


# What is looked at


def test_what_is_not_valid_gets_no_name(wire, server, tmp_path):
    """What the server said instead is in the response. [O1]"""
    server.statuses["fine"] = 404
    response = download(wire, server.url("/fine"), destination=to(tmp_path / "file"), validate=True)
    failure(response, 1600, "404")
    assert os.listdir(tmp_path) == [name for name in os.listdir(tmp_path) if name.startswith("outrider-")]
    assert response["status"] == 404 and response["body"]["kind"] == "stored" and "resumeData" not in response
    assert result(wire.call("response.read", {"response": response["body"]["response"]}))["base64"] == "NDA0"


def test_without_validation_any_response_is_a_file(wire, server, tmp_path):
    server.statuses["fine"] = 404
    response = download(wire, server.url("/fine"), destination=to(tmp_path / "file"))
    assert response["ok"] and (tmp_path / "file").read_bytes() == b"404"


def test_serializers_read_the_file(wire, server, origin, tmp_path):
    """[H8] [H9] [O15] [3.L.22]"""
    handlers = [{"id": "json", "serialize": {"as": "json"}}, {"id": "text", "serialize": {"as": "text"}}]
    response = download(wire, origin + "/json", destination=to(tmp_path / "j"), handlers=handlers)
    assert response["ok"] and response["results"][0]["body"]["json"] == {"id": 1, "x": 0.1}
    assert response["results"][1]["body"]["text"] == '{"id":1,"x":0.1}'
    response = download(wire, server.url("/fine"), destination=to(tmp_path / "b"), handlers=handlers[:1])
    assert response["results"][0]["error"]["code"] == 1704
    assert (tmp_path / "b").read_bytes() == server.data, "a shape that is not there takes nothing away"


def test_a_schema_is_held_against_the_file(wire, origin, tmp_path):
    rule = {"schema": {"type": "object", "required": ["name"]}}
    response = download(wire, origin + "/json", destination=to(tmp_path / "j"), validate=rule)
    assert not response["ok"] and not (tmp_path / "j").exists()


# Digests


@pytest.mark.parametrize("algorithm", ["md5", "sha-1", "sha-256", "sha-384", "sha-512"])
def test_a_digest_decides_whether_the_file_gets_its_name(wire, server, tmp_path, algorithm):
    right = server.digest(algorithm.replace("-", ""))
    wrong = right[:-1] + ("0" if right[-1] != "0" else "1")
    path = tmp_path / "file"
    response = download(wire, server.url("/fine"), destination=to(path), checksum={algorithm: wrong})
    error = failure(response, 1806, right, wrong)
    assert error["data"] == {"algorithm": algorithm, "expected": wrong, "actual": right}
    assert not path.exists() and hidden(tmp_path) == [] and "resumeData" not in response
    assert download(wire, server.url("/fine"), destination=to(path), checksum={algorithm: right.upper()})["ok"]
    assert path.read_bytes() == server.data


def test_the_servers_own_digest_is_checked(wire, server, tmp_path):
    """RFC 9530, unless told not to; algorithms that prove nothing are not looked at."""
    for field in ("Repr-Digest", "Content-Digest"):
        path = tmp_path / field
        server.fields = [f"{field}: md5=:AAAA:, sha-256=:{server.digest_field()}:"]
        assert download(wire, server.url("/fine"), destination=to(path))["ok"]
        server.fields = [f"{field}: sha-512=:{'A' * 86}==:"]
        failure(download(wire, server.url("/fine"), destination=to(path, replace=True)), 1806, "sha-512")
        response = download(wire, server.url("/fine"), destination=to(path, replace=True), verifyDigest=False)
        assert response["ok"]


def test_bad_digests_are_refused(wire, server):
    for checksum, pointer in [
        ({"crc": "00"}, "/checksum/crc"),
        ({"md5": "00"}, "/checksum/md5"),
        ({"sha-1": 1}, "/checksum/sha-1"),
    ]:
        error = wire.call("download.send", {"url": server.url("/fine"), "checksum": checksum})["error"]
        assert (error["code"], error["data"]["pointer"]) == (-32602, pointer)


# Several at once, and slowly


@pytest.mark.parametrize("segments", [2, 3, 16])
def test_segments_bring_one_file(wire, tmp_path, segments):
    with Ranging(5_000_000) as server:
        path = tmp_path / "file"
        checksum = {"sha-256": server.digest()}
        response = download(wire, server.url("/fine"), destination=to(path), segments=segments, checksum=checksum)
        assert response["ok"] and path.read_bytes() == server.data
        ranges = server.ranges()
        assert ranges[0] is None and len(ranges) == min(segments, 4) and None not in ranges[1:]


class Locked(Ranging):
    """Gives its file to those with a cookie and a password."""

    challenge = ""

    def response(self, manner, fields):
        if manner == "login":
            return 200, ["Set-Cookie: id=1; Path=/"], b""
        if fields.get("cookie") != "id=1":
            return 403, [], b"no cookie"
        if "authorization" not in fields:
            return 401, [f"WWW-Authenticate: {self.challenge}"], b"who"
        return super().response(manner, fields)


@pytest.mark.parametrize("challenge", ['Basic realm="files"', 'Digest realm="files", nonce="n", qop="auth"'])
def test_segments_bring_the_cookies_and_the_password(wire, tmp_path, challenge):
    """Without them the parts were refused, and requested once more, one after the other."""
    with Locked(5_000_000) as server:
        server.challenge = challenge
        session = result(wire.call("session.create", {"cookies": True}))["session"]
        result(wire.call("data.send", {"url": server.url("/login"), "session": session}))
        path, auth = tmp_path / "file", {"username": "ada", "password": "s3cret"}
        response = download(wire, server.url("/fine"), destination=to(path), segments=4, session=session, auth=auth)
        assert response["ok"] and path.read_bytes() == server.data
        parts = [request["fields"] for request in server.requests if "range" in request["fields"]]
        assert len(parts) == 3 and all(part.get("cookie") == "id=1" for part in parts)
        said = [part.get("authorization") for part in parts]
        assert None not in said and len(set(said)) == (3 if challenge.startswith("Digest") else 1)
        received = result(wire.call("server.stats"))["bytes"]["received"]
        assert received > len(server.data)


@pytest.mark.parametrize("manner", ["deaf", "bare", "retagged", "busy", "silent", "shifted", "short", "lengthened"])
def test_a_server_that_cannot_give_parts_still_gives_the_file(wire, tmp_path, manner):
    with Ranging(5_000_000) as server:
        path = tmp_path / "file"
        response = download(
            wire, server.url("/" + manner), destination=to(path), segments=3, whenChanged="restart", seconds=30
        )
        # what one version began is never ended by another
        if response["ok"]:
            assert path.read_bytes() == server.data
        else:
            assert response["error"]["code"] in (1600, 1408) and not path.exists()
            assert manner in ("busy", "silent", "shifted")


def test_progress_is_told_to_the_end(wire, server, tmp_path):
    """[N3] [O14] [3.L.20]"""
    wish = {"url": server.url("/fine"), "destination": to(tmp_path / "f"), "events": ["progress", "state"]}
    number = wire.start("download.send", wish)
    events, _ = until(wire, number)
    told = [event["params"] for event in events if event["method"] == "event.progress"]
    assert told[-1]["completed"] == told[-1]["total"] == SIZE and told[-1]["fraction"] == 1
    assert [one["completed"] for one in told] == sorted(one["completed"] for one in told)
    states = [event["params"]["state"] for event in events if event["method"] == "event.state"]
    assert states == ["created", "resumed", "sent", "responded", "finished"]
