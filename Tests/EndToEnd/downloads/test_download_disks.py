# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads when the service is killed at any moment of finishing one, and when the file system has no room."""

import os
import random
import resource
import shutil
import subprocess
import time

import contract
import pytest
from download_client import PART, SIZE, download, failure, hidden, interrupted, resumed, server, slow, to
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
__all__ = ["server"]

# every call by which a download changes the file system; between two of them there is nothing to be lost
CHANGES = ["pwritev", "ftruncate", "fsync", "fdatasync", "renameat", "renameat2", "unlinkat", "flock", "write"]
# what only a longer one does, where the file system can
LATER = ["fallocate", "sync_file_range"]
# those without which no download comes to its end
NEEDED = {"pwritev", "ftruncate", "fsync", "unlinkat", "flock"}


needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="strace is not here; scripts/setup --test installs it"
)


class Traced(contract.Wire):
    """A service whose calls of some names are noted, and to which something happens at them."""

    def __init__(self, calls, notes, happens=None):
        super().__init__()
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()
        command = ["strace", "-f", "-y", "-qq", "-o", str(notes), "-e", f"trace={calls}"]
        command += ["-e", f"inject={calls}:{happens}"] if happens else []
        self.process = subprocess.Popen(
            [*command, contract.binary(), "serve", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.reader, self.writer = self.process.stdout.fileno(), self.process.stdin.fileno()


@needs_strace
@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("call", CHANGES + LATER)
def test_a_kill_at_any_change_leaves_all_or_nothing_under_the_name(server, tmp_path, monkeypatch, call, replace):
    """And the next download to the same place ends it, byte for byte."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    if call in LATER:
        server.data = random.Random(1).randbytes(20_000_000)
    first = 1
    for number in range(first, first + 40):
        place = tmp_path / str(number)
        place.mkdir()
        path = place / "file"
        old = b"old" if replace else None
        if replace:
            path.write_bytes(old)
        wish = {"url": server.url("/fine"), "destination": to(path, replace=replace), "resume": True}
        survived = False
        with Traced(call, tmp_path / "trace", f"signal=KILL:when={number}") as wire:
            try:
                survived = result(wire.call("download.send", wish, 60))["ok"]
            except (contract.Gone, OSError):
                pass
        found = path.read_bytes() if path.exists() else None
        assert found in (old, server.data), f"killed at {call} {number}, the file is neither old nor whole"
        if survived:
            assert found == server.data and hidden(place) == []
            needed = NEEDED | {"renameat" if replace else "renameat2"}
            assert number > first or call not in needed, f"{call} is not called at all"
            return
        with contract.Wire() as wire:
            if found == server.data:
                wish["destination"]["replace"] = True
            assert result(wire.call("download.send", wish, 60))["ok"]
        assert path.read_bytes() == server.data and hidden(place) == [], f"after a kill at {call} {number}"
    pytest.fail("the service never came to the end of a download")


@needs_strace
@pytest.mark.parametrize("resumes", [False, True])
def test_all_bytes_are_on_the_medium_before_the_file_has_its_name(server, tmp_path, monkeypatch, resumes):
    """So that a machine that loses its power has the whole file under its name, or none."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    place, notes = tmp_path / "place", tmp_path / "trace"
    place.mkdir()
    if resumes:
        with contract.Wire() as wire:
            interrupted(wire, server, "/fine", place / "file")
    with Traced("pwritev,fsync,renameat2,unlinkat,ftruncate", notes) as wire:
        wish = {"destination": to(place / "file"), "resume": True}
        assert download(wire, server.url("/fine"), 60, **wish)["ok"]
    assert server.ranges()[-1] == (f"bytes={PART}-" if resumes else None)
    done = [line.split(" ", 1)[1].strip() for line in notes.read_text().splitlines() if str(place) in line]
    done = [line for line in done if "resumed>" not in line]
    part, folder = f"<{place}/.file.outrider-part>", f"<{place}>"

    def last(call, of):
        return max(number for number, line in enumerate(done) if line.startswith(call + "(") and of in line)

    named = last("renameat2", '"file"')
    assert last("pwritev", part) < last("fsync", part) < named < last("fsync", folder), done
    assert not any(part in line for line in done[last("fsync", part) + 1 : named]), done


@needs_strace
def test_a_medium_that_loses_bytes_once_gets_no_second_chance_to_say_that_all_is_well(server, tmp_path, monkeypatch):
    """Linux tells of a loss once; the next fsync succeeds, and the bytes are gone all the same."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    place = tmp_path / "place"
    place.mkdir()
    with Traced("fsync", tmp_path / "trace", "error=EIO:when=1") as wire:
        response = download(wire, server.url("/fine"), 60, destination=to(place / "file"))
        error = failure(response, 1803, "medium")
        assert error["underlying"]["code"] == 5 and "resumeData" not in response
        assert os.listdir(place) == []
    with contract.Wire() as wire:
        assert download(wire, server.url("/fine"), destination=to(place / "file"), resume=True)["ok"]
    assert server.ranges() == [None, None] and (place / "file").read_bytes() == server.data


@needs_strace
def test_what_the_medium_did_not_take_is_nothing_to_go_on_with(server, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    place = tmp_path / "place"
    place.mkdir()
    with Traced("fdatasync", tmp_path / "trace", "error=EIO") as wire:
        server.cut = PART
        response = download(wire, server.url("/fine"), 60, destination=to(place / "file"))
        failure(response, 1404)
        assert "resumeData" not in response and os.listdir(place) == []
        # another attempt begins with the first byte, and what it writes is judged anew
        server.cut = PART
        wish = {"destination": to(place / "file"), "retry": {"limit": 1, "scale": 0}}
        assert download(wire, server.url("/fine"), 60, **wish)["ok"]
    assert (place / "file").read_bytes() == server.data


@pytest.fixture
def small(tmp_path):
    """A file system with room for half of the file."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE // 2}", "none", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_told_before_the_first_byte_and_ends_nothing(wire, server, small):
    response = download(wire, server.url("/fine"), destination=to(small / "file"))
    error = failure(response, 1807, SIZE, small)
    assert error["data"]["needed"] == SIZE and 0 < error["data"]["available"] < SIZE
    assert not (small / "file").exists() and response["resumeData"]
    subprocess.run(["mount", "-o", f"remount,size={4 * SIZE}", str(small)], check=True)
    assert resumed(wire, resumeData=response["resumeData"])["ok"]
    assert (small / "file").read_bytes() == server.data


def test_a_disk_that_fills_up_on_the_way_keeps_what_is_whole(wire, server, small):
    """Another process takes the room while the file is coming."""
    subprocess.run(["mount", "-o", f"remount,size={2 * SIZE}", str(small)], check=True)
    server.stop = 100_000
    wish = {"url": server.url("/fine"), "destination": to(small / "file")}
    number = wire.start("download.send", wish)
    server.wait_for("stopped")
    part = small / ".file.outrider-part"
    deadline = contract.time.monotonic() + 20
    while not part.exists() or part.stat().st_size < 100_000:
        assert contract.time.monotonic() < deadline, "what came never reached the file"
    (small / "other").write_bytes(bytes(SIZE + SIZE // 2))
    server.go.set()
    response = result(wire.reply(number, 20))
    error = failure(response, 1807)
    assert error["underlying"]["code"] in (28, 122) and error["data"]["needed"] < SIZE and not (small / "file").exists()
    (small / "other").unlink()
    again = resumed(wire, resumeData=response["resumeData"])
    assert again["ok"] and again["status"] == 206 and (small / "file").read_bytes() == server.data
    assert int(server.ranges()[-1].split("=")[1].split("-")[0]) >= 100_000


def test_a_limit_on_the_size_of_files_is_a_failure_and_not_the_end(server, tmp_path):
    """The signal that would kill the service is ignored (SIGXFSZ)."""
    with contract.Wire() as wire:
        resource.prlimit(wire.process.pid, resource.RLIMIT_FSIZE, (SIZE // 2, resource.RLIM_INFINITY))
        response = download(wire, server.url("/fine"), destination=to(tmp_path / "file"))
        error = failure(response, 1803)
        assert error["underlying"]["code"] == 27 and not (tmp_path / "file").exists()
        resource.prlimit(wire.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert resumed(wire, resumeData=response["resumeData"])["ok"]
        assert (tmp_path / "file").read_bytes() == server.data


@pytest.mark.parametrize("what", ["directory", "file"])
@pytest.mark.parametrize("ends", ["whole", "lost"])
def test_nothing_goes_on_with_a_file_that_another_program_removed(wire, server, tmp_path, what, ends):
    """The response had resume data for a file that does not exist, and the journal stayed."""
    directory = tmp_path / "there"
    directory.mkdir()
    server.cut = None if ends == "whole" else 10
    request = slow(wire, server, directory / "file")
    deadline = time.monotonic() + 20
    # the last file that is written before the stop
    while not (directory / ".file.outrider-journal").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    if what == "directory":
        directory.rename(tmp_path / "trash")
        shutil.rmtree(tmp_path / "trash")
        directory.mkdir()
    else:
        (directory / ".file.outrider-part").unlink()
    server.go.set()
    response = result(wire.call("request.wait", {"request": request}, 30))
    if ends == "whole":
        error = failure(response, 1800, directory / ".file.outrider-part", "was removed", "begin again")
        assert error["data"] == {"path": str(directory / "file")} and not error["retryable"]
    else:
        failure(response, 1404)
    assert "resumeData" not in response and os.listdir(directory) == []
