# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Files that another user has put where the service opens one: no open waits for them, and none is believed."""

import os
import pathlib
import shutil
import stat
import tempfile

import contract
import pytest
from download_client import PART, SIZE, download, failure, interrupted, resumed, server, to
from range_server import Ranging
from request_client import result

pytestmark = [
    pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as other users"),
]

__all__ = ["server"]
STRANGER = 63_000 + os.getpid() % 1000
USER = STRANGER + 1000
US = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
NAMES = [".file.outrider-journal", ".file.outrider-journal~", ".file.outrider-part"]


@pytest.fixture
def place():
    """A directory like /tmp: every user may make files there, and remove only their own."""
    with tempfile.TemporaryDirectory(prefix="or-", dir="/tmp") as path:
        os.chmod(path, 0o1777)
        yield pathlib.Path(path)


@pytest.fixture
def ours(place, monkeypatch):
    """A service of a user who is not root."""
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setenv("HOME", str(place))
    with contract.Wire(under=US) as wire:
        yield wire
        assert wire.call("diagnostics.echo", {"alive": True})["result"] == {"alive": True}


def plant(path, kind, content=b""):
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(path.parent / "victim")
    else:
        path.write_bytes(content)
    if kind != "link":
        path.chmod(0o666)
    os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


@pytest.mark.parametrize("kind", ["pipe", "link", "file"])
@pytest.mark.parametrize("name", NAMES)
def test_a_file_planted_beside_a_download_stops_no_download(ours, server, place, name, kind):
    plant(place / name, kind, b"planted")
    response = download(ours, server.url("/fine"), destination=to(place / "file"))
    if name.endswith("part"):
        failure(response, 1808, name)
    else:
        assert response["ok"] and (place / "file").read_bytes() == server.data
    assert (place / name).is_symlink() or stat.S_ISFIFO((place / name).stat().st_mode) or (
        (place / name).read_bytes() == b"planted")
    assert not (place / "victim").exists()


def test_planted_pipes_stop_no_download_of_the_service(ours, origin, place):
    """As many as the service has threads that write files, and more."""
    for number in range(8):
        for name in NAMES[:2]:
            plant(place / name.replace("file", f"f{number}"), "pipe")
    numbers = [
        ours.start("download.send", {"url": f"{origin}/bytes/3000000", "destination": to(place / f"f{number}")})
        for number in range(8)]
    assert all(result(reply)["ok"] for reply in ours.replies(numbers).values())
    assert all((place / f"f{number}").stat().st_size == 3_000_000 for number in range(8))


def test_a_planted_journal_is_not_followed(ours, server, place):
    with Ranging(SIZE) as planter, contract.Wire() as wire:
        elsewhere = place / "elsewhere"
        elsewhere.mkdir()
        interrupted(wire, planter, "/fine", elsewhere / "file", resume=True)
        content = (elsewhere / ".file.outrider-journal").read_bytes()
        plant(place / ".file.outrider-journal", "file", content)
        interrupted(ours, server, "/fine", place / "file", resume=True)
        assert (place / ".file.outrider-part").stat().st_size == PART
        before = len(planter.requests)
        response = ours.call("download.resume", {"path": str(place / "file")})
        assert "error" in response or not result(response)["ok"], response
        assert len(planter.requests) == before and not (place / "file").exists()
        assert download(ours, server.url("/fine"), destination=to(place / "file"), resume=True)["ok"]
        assert (place / "file").read_bytes() == server.data and len(planter.requests) == before


def test_journals_have_names_that_cannot_be_foreseen(ours, server, place):
    data = interrupted(ours, server, "/fine", place / "file", resume=True)["resumeData"]
    journal = place / ".file.outrider-journal"
    status = journal.stat()
    assert stat.S_IMODE(status.st_mode) == 0o600 and status.st_uid == USER
    left = place / ".file.outrider-journal~1"
    left.write_bytes(b"of a service that was killed")
    os.chown(left, USER, USER)
    assert resumed(ours, resumeData=data)["ok"]
    assert [path.name for path in place.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("kind", ["directory", "file", "link"])
def test_a_name_in_the_temporary_directory_that_another_user_has_taken_is_left(place, server, monkeypatch, kind):
    taken = place / f"outrider-{USER}"
    if kind == "directory":
        taken.mkdir(mode=0o700)
    elif kind == "link":
        taken.symlink_to("/etc")
    else:
        taken.write_bytes(b"")
    os.chown(taken, STRANGER, STRANGER, follow_symlinks=False)
    monkeypatch.setenv("TMPDIR", str(place))
    folders = set()
    for _ in range(2):
        with contract.Wire(under=US) as wire:
            response = result(wire.call("data.send", {"url": server.url("/fine"), "bodyTo": "file"}))
            assert response["ok"] and pathlib.Path(response["body"]["path"]).read_bytes() == server.data
            response = download(wire, server.url("/fine"))
            assert response["ok"] and pathlib.Path(response["body"]["path"]).stat().st_uid == USER
            folders.add(pathlib.Path(response["body"]["path"]).parent.parent)
    (folder,) = folders
    assert folder.parent == place and folder != taken and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert kind != "directory" or list(taken.iterdir()) == []
    shutil.rmtree(folder)


KINDS = ["pipe", "device", "link", "dangling link", "directory", "socket"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("replace", [False, True])
def test_a_saved_body_replaces_regular_files_only(wire, server, tmp_path, kind, replace):
    stored = result(wire.call("data.send", {"url": server.url("/fine"), "bodyTo": "stored"}))
    path, other = tmp_path / "target", tmp_path / "other"
    other.write_bytes(b"other")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    elif kind == "link":
        path.symlink_to(other)
    elif kind == "dangling link":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "directory":
        path.mkdir()
    else:
        os.mknod(path, 0o600 | stat.S_IFSOCK)
    before = path.lstat()
    error = wire.call(
        "response.save", {"response": stored["body"]["response"], "path": str(path), "replace": replace})["error"]
    assert error["data"]["failure"]["code"] == 1808 and str(path) in error["message"], error
    assert path.lstat().st_ino == before.st_ino and other.read_bytes() == b"other"
    assert sorted(entry.name for entry in tmp_path.iterdir() if "target" in entry.name) == ["target"]


@pytest.mark.parametrize("path", ["body.file", "multipart", "caFile", "router"])
def test_a_pipe_that_nobody_writes_to_holds_nothing_up(wire, server, tmp_path, path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    url = server.url("/fine")
    calls = {
        "body.file": ("data.send", {"url": url, "method": "POST", "body": {"file": str(pipe)}}),
        "multipart": ("data.send", {
            "url": url, "method": "POST", "body": {"multipart": [{"name": "a", "file": str(pipe)}]}}),
        "caFile": ("data.send", {"url": "https://127.0.0.1:9/", "timeout": 5, "tls": {"caFile": str(pipe)}}),
        "router": ("router.import", {"path": str(pipe)}),
    }
    response = wire.call(*calls[path], 10)
    assert "error" in response or not response["result"]["ok"], response


def test_a_downloaded_file_that_became_a_pipe_is_not_read(wire, server, tmp_path):
    response = download(wire, server.url("/fine"), destination=to(tmp_path / "file"))
    (tmp_path / "file").unlink()
    os.mkfifo(tmp_path / "file")
    handle = response["body"].get("response")
    if handle is None:
        pytest.skip("a downloaded body has no handle")
    error = wire.call("response.read", {"response": handle}, 10)["error"]
    assert "pipe" in error["message"], error
