# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads when the service is killed at any moment of finishing one, and when the file system has no room."""

import os
import random
import resource
import shutil
import subprocess

import contract
import pytest
from asking import result
from downloading import SIZE, download, failure, hidden, resumed, server, to

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
__all__ = ["server"]

# every call by which a download changes the file system; between two of them there is nothing to be lost
CHANGES = ["pwritev", "ftruncate", "fsync", "fdatasync", "renameat", "renameat2", "unlinkat", "flock", "write"]
# what only a longer one does, where the file system can
LATER = ["fallocate", "sync_file_range"]
# those without which no download comes to its end
NEEDED = {"pwritev", "ftruncate", "fsync", "unlinkat", "flock"}


class Traced(contract.Wire):
    """A service that is killed as one of its threads makes its nth call of that name."""

    def __init__(self, call, number, notes):
        super().__init__()
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()
        command = ["strace", "-f", "-qq", "-o", str(notes), "-e", f"trace={call}"]
        command += ["-e", f"inject={call}:signal=KILL:when={number}"]
        self.process = subprocess.Popen(
            [*command, contract.binary(), "serve", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.reader, self.writer = self.process.stdout.fileno(), self.process.stdin.fileno()


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not here; scripts/setup --test installs it")
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
        with Traced(call, number, tmp_path / "trace") as wire:
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
    answer = download(wire, server.url("/fine"), destination=to(small / "file"))
    error = failure(answer, 1807, SIZE, small)
    assert error["data"]["needed"] == SIZE and 0 < error["data"]["available"] < SIZE
    assert not (small / "file").exists() and answer["resumeData"]
    subprocess.run(["mount", "-o", f"remount,size={4 * SIZE}", str(small)], check=True)
    assert resumed(wire, resumeData=answer["resumeData"])["ok"]
    assert (small / "file").read_bytes() == server.data


def test_a_disk_that_fills_up_on_the_way_keeps_what_is_whole(wire, server, small):
    """Somebody else takes the room while the file is coming."""
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
    answer = result(wire.reply(number, 20))
    error = failure(answer, 1807)
    assert error["underlying"]["code"] in (28, 122) and error["data"]["needed"] < SIZE and not (small / "file").exists()
    (small / "other").unlink()
    again = resumed(wire, resumeData=answer["resumeData"])
    assert again["ok"] and again["status"] == 206 and (small / "file").read_bytes() == server.data
    assert int(server.ranges()[-1].split("=")[1].split("-")[0]) >= 100_000


def test_a_limit_on_the_size_of_files_is_a_failure_and_not_the_end(server, tmp_path):
    """The signal that would kill the service is ignored (SIGXFSZ)."""
    with contract.Wire() as wire:
        resource.prlimit(wire.process.pid, resource.RLIMIT_FSIZE, (SIZE // 2, resource.RLIM_INFINITY))
        answer = download(wire, server.url("/fine"), destination=to(tmp_path / "file"))
        error = failure(answer, 1803)
        assert error["underlying"]["code"] == 27 and not (tmp_path / "file").exists()
        resource.prlimit(wire.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert resumed(wire, resumeData=answer["resumeData"])["ok"]
        assert (tmp_path / "file").read_bytes() == server.data
