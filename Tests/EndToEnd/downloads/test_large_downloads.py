# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads that are long: beyond four gigabytes, with room taken ahead, and on a medium that takes its time."""

import os
import shutil
import time

import contract
import pytest
from download_client import PART, download, hidden, interrupted, resumed, slow, to
from range_server import Ranging
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

LONG = (1 << 32) + 1_000_000


class Holes:
    """So many bytes, of which most are zero; only what is asked for is there."""

    def __init__(self, size, end):
        self.size, self.end = size, end

    def __len__(self):
        return self.size

    def __getitem__(self, part):
        first, last = part.start or 0, min(self.size if part.stop is None else part.stop, self.size)
        edge = self.size - len(self.end)
        zeros = max(0, min(last, edge) - first)
        assert zeros <= 10_000_000, "no request should be for all of it"
        return bytes(zeros) + self.end[max(0, first - edge) : max(0, last - edge)]


def test_what_lies_beyond_four_gigabytes_is_asked_for_and_written_there(wire, tmp_path):
    """The size of the partial file says how much is there, be it with holes."""
    if shutil.disk_usage(tmp_path).free < LONG + (1 << 28):
        pytest.skip("there is no room for it, holes or not")
    path, end = tmp_path / "long", os.urandom(300_000)
    with Ranging() as server:
        server.data = bytes(PART * 2)
        # the first response announces all of it, and breaks off
        server.length = LONG
        kept = interrupted(wire, server, "/fine", path)
        partial = tmp_path / ".long.outrider-part"
        assert partial.stat().st_size == PART
        os.truncate(partial, LONG - 200_000)
        server.data, server.length = Holes(LONG, end), None
        response = resumed(wire, 60, resumeData=kept["resumeData"])
        assert response["ok"] and response["body"]["size"] == LONG, response
        assert server.ranges()[-1] == f"bytes={LONG - 200_000}-"
    assert path.stat().st_size == LONG and hidden(tmp_path) == []
    with open(path, "rb") as file:
        file.seek(LONG - 200_000)
        assert file.read() == end[-200_000:]


def test_an_interrupted_download_gives_back_room_that_it_did_not_fill(wire, tmp_path):
    """Room is taken ahead, where the file system can; what is kept takes no more than it has."""
    path = tmp_path / "file"
    with Ranging(60_000_000) as server:
        request = slow(wire, server, path)
        partial = tmp_path / ".file.outrider-part"
        assert result(wire.call("request.cancel", {"request": request, "resumeData": True}))["resumeData"]
        result(wire.call("request.wait", {"request": request}, 20))
        assert partial.stat().st_size == PART and partial.stat().st_blocks * 512 < PART + (1 << 20)
        server.go.set()


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not here; scripts/setup --test installs it")
def test_a_medium_that_takes_its_time_holds_up_nobody_else(tmp_path):
    """Each sync takes twenty seconds. Meanwhile others get responses, and their bodies kept in files."""
    delay = ["-e", "trace=fsync", "-e", "inject=fsync:delay_enter=20000000"]
    traced = ["strace", "-f", "-qq", "-o", "/dev/null", *delay]
    with Ranging(1_000_000) as server, contract.Wire(under=traced) as wire:
        requests = [
            result(wire.call("download.start", {"url": server.url("/fine"), "destination": to(tmp_path / str(n))}))
            for n in range(6)
        ]
        for request in requests:
            arrived(wire, request["request"], 1_000_000)
        response = result(wire.call("data.send", {"url": server.url("/fine"), "bodyTo": "file"}, 15))
        assert response["ok"] and response["body"]["size"] == 1_000_000
        assert not any((tmp_path / str(n)).exists() for n in range(6)), "the syncs did not take long"
        wire.process.kill()


def arrived(wire, request, size):
    deadline = time.monotonic() + 15
    while result(wire.call("request.get", {"request": request}))["progress"]["received"] < size:
        assert time.monotonic() < deadline, "the body never came"


def test_a_download_without_an_end_that_is_known_is_whole_when_it_ends(wire, origin, tmp_path):
    """No room is taken ahead for it."""
    response = download(wire, origin + "/chunked", destination=to(tmp_path / "file"))
    assert response["ok"] and (tmp_path / "file").stat().st_size == response["body"]["size"]
