# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""`outrider download`, as a shell sees it."""

import os
import pty
import signal
import subprocess
import time

import contract
import pytest
from range_server import Ranging
from shell import LONG, outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
SIZE = 3_000_000


@pytest.fixture
def server():
    with Ranging(SIZE) as server:
        yield server


@pytest.fixture
def fetch(service):
    return lambda *words, **more: outrider("download", "--socket", service, *words, **more)


def arrived(part, size):
    """Until so many bytes have reached the hidden file."""
    deadline = time.monotonic() + LONG
    while not part.exists() or part.stat().st_size < size:
        assert time.monotonic() < deadline, "what came never reached the file"
        time.sleep(0.01)


def test_a_file_goes_into_this_directory_under_its_name(fetch, server, tmp_path):
    server.fields = ['Content-Disposition: attachment; filename="../report.pdf"']
    done = fetch(server.url("/fine"), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"{tmp_path}/report.pdf\n"
    assert (tmp_path / "report.pdf").read_bytes() == server.data and os.listdir(tmp_path) == ["report.pdf"]


def test_output_names_a_file_or_a_directory(fetch, server, tmp_path):
    (tmp_path / "dir").mkdir()
    for output, path in [("out", "out"), ("dir", "dir/x.bin"), ("dir/", "dir/x.bin"), (str(tmp_path / "abs"), "abs")]:
        done = fetch("-f", "-o", output, server.url("/fine/x.bin"), cwd=tmp_path)
        assert done.stdout.decode().strip() == str(tmp_path / path), done.stderr
        assert (tmp_path / path).read_bytes() == server.data
    refused(fetch("-o", "out", server.url("/fine"), cwd=tmp_path), 16, "out", "--force")


def test_a_missing_directory_names_the_remedy_of_a_shell(fetch, server, tmp_path):
    said = refused(fetch("-o", "absent/x", server.url("/fine"), cwd=tmp_path), 16, "absent", "mkdir -p")
    assert "createDirectories" not in said


def test_a_hyphen_names_no_file(fetch, server, tmp_path):
    refused(fetch("-o", "-", server.url("/fine"), cwd=tmp_path), 2, "--output", "outrider get", "./-")
    assert os.listdir(tmp_path) == []
    done = fetch("-o", "./-", server.url("/fine"), cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "-").read_bytes() == server.data


def test_a_lost_connection_is_tried_again_from_where_it_broke(fetch, server, tmp_path):
    server.cut = 1_000_000
    done = fetch("--retry", "2", "-m", "0", "-o", "x", server.url("/fine"), cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "x").read_bytes() == server.data, done.stderr
    assert server.ranges() == [None, "bytes=1000000-"]


def test_no_service_is_needed(server, tmp_path):
    done = outrider("download", "-o", "x", server.url("/fine"), cwd=tmp_path, env={"XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.returncode == 0 and (tmp_path / "x").read_bytes() == server.data


def test_exit_statuses_tell_what_went_wrong(fetch, server, tmp_path):
    refused(fetch("-o", "x", "http://127.0.0.1:1/", cwd=tmp_path), 12, "127.0.0.1:1")
    server.statuses["fine"] = 404
    refused(fetch("-o", "x", server.url("/fine"), cwd=tmp_path), 14, "404")
    refused(fetch("-o", "x", "--sha256", "0" * 64, server.url("/fine"), cwd=tmp_path), 14, "404")
    server.statuses.clear()
    refused(fetch("-o", "none/x", server.url("/fine"), cwd=tmp_path), 16, "none")
    refused(fetch("-o", "x", "--sha256", "0" * 64, server.url("/fine"), cwd=tmp_path), 16, server.digest())
    refused(fetch("--limit-rate", "fast", server.url("/fine")), 2, "--limit-rate")
    refused(fetch("--segments", "99", server.url("/fine")), 2, "--segments")
    refused(fetch("-H", "none", server.url("/fine")), 2, "Name: value")
    assert refused(fetch("-s", "-o", "x", "http://127.0.0.1:1/", cwd=tmp_path), 12) == ""
    assert os.listdir(tmp_path) == []
    digest = ["--checksum", f"sha-512={server.digest('sha512')}", "--sha256", server.digest()]
    more = ["--segments", "2", "--limit-rate", "900M"]
    assert fetch("-o", "x", *more, *digest, server.url("/fine"), cwd=tmp_path).returncode == 0
    assert (tmp_path / "x").read_bytes() == server.data


def test_a_slow_rate_does_not_extend_the_time(fetch, server, tmp_path):
    done = fetch("-o", "x", "--limit-rate", "500", "-m", "3", server.url("/fine"), cwd=tmp_path)
    refused(done, 12, "more than 3 s in all", "the same command goes on")


def test_the_same_command_goes_on(fetch, server, tmp_path):
    server.cut = 1_000_000
    refused(fetch("-o", "x", server.url("/fine"), cwd=tmp_path), 12, "the same command goes on")
    assert fetch("-o", "x", server.url("/fine"), cwd=tmp_path).returncode == 0
    assert server.ranges() == [None, "bytes=1000000-"] and (tmp_path / "x").read_bytes() == server.data
    server.cut = 1_000_000
    fetch("-o", "y", server.url("/fine"), cwd=tmp_path)
    assert fetch("--restart", "-o", "y", server.url("/fine"), cwd=tmp_path).returncode == 0
    assert server.ranges()[2:] == [None, None] and (tmp_path / "y").read_bytes() == server.data


@pytest.mark.parametrize("manner", ["retagged", "silent"])
def test_a_server_without_a_rest_that_fits_leaves_a_way_out(fetch, server, tmp_path, manner):
    """The same command would fail for ever."""
    server.cut = 1_000_000
    refused(fetch("-o", "x", server.url(f"/{manner}"), cwd=tmp_path), 12, "the same command goes on")
    done = fetch("-o", "x", server.url(f"/{manner}"), cwd=tmp_path)
    told = done.stderr.decode()
    assert done.returncode in (12, 16) and "--restart begins from the first byte" in told
    assert "goes on" not in told and "whenChanged" not in told
    assert fetch("-o", "x", "--restart", server.url(f"/{manner}"), cwd=tmp_path).returncode == 0
    assert (tmp_path / "x").read_bytes() == server.data


@pytest.mark.parametrize("way", ["socket", "private"])
def test_ctrl_c_leaves_what_has_come_and_says_how_to_go_on(service, server, tmp_path, way):
    """On a terminal, where the whole group of processes gets the signal."""
    server.stop = 1_000_000
    words = ["--socket", service] if way == "socket" else ["--stdio"]
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [contract.binary(), "download", *words, "-o", "x", server.url("/fine")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        cwd=tmp_path,
        start_new_session=True,
    )
    os.close(theirs)
    server.wait_for("stopped")
    arrived(tmp_path / ".x.outrider-part", 1_000_000)
    os.killpg(child.pid, signal.SIGINT)
    seen = b""
    try:
        while data := os.read(ours, 4096):
            seen += data
    except OSError:
        pass
    os.close(ours)
    assert child.wait(LONG) == 17 and child.stdout.read() == b""
    child.stdout.close()
    assert b" of 3.0 MB " in seen and b"cancelled" in seen and b"the same command goes on" in seen
    assert not (tmp_path / "x").exists()
    server.wait_for("gone")
    server.go.set()
    done = outrider("download", *words, "-o", "x", server.url("/fine"), cwd=tmp_path)
    assert done.returncode == 0 and server.ranges() == [None, "bytes=1000000-"]
    assert (tmp_path / "x").read_bytes() == server.data


def test_a_command_that_is_killed_leaves_what_has_come(service, server, tmp_path):
    """The service sees its client go, and keeps the file."""
    server.stop = 1_000_000
    command = [contract.binary(), "download", "--socket", service, "-o", "x", server.url("/fine")]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL) as child:
        server.wait_for("stopped")
        arrived(tmp_path / ".x.outrider-part", 1_000_000)
        child.kill()
    server.go.set()
    done = outrider("download", "--socket", service, "-o", "x", server.url("/fine"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x").read_bytes() == server.data
    # the server may send some more before the service sees that its client is gone
    assert int(server.ranges()[-1].removeprefix("bytes=").removesuffix("-")) >= 1_000_000


def test_a_service_that_is_killed_leaves_what_has_come_and_the_command_says_so(server, tmp_path, place):
    server.stop = 1_000_000
    command = [contract.binary(), "download", "--socket", place, "-o", "x", server.url("/fine")]
    service = subprocess.Popen([contract.binary(), "serve", "--socket", place])
    try:
        contract.await_socket(place, service, LONG)
        with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
            server.wait_for("stopped")
            arrived(tmp_path / ".x.outrider-part", 1_000_000)
            # the first bytes are there before the journal that lets a download resume
            arrived(tmp_path / ".x.outrider-journal", 1)
            service.kill()
            said = child.communicate(timeout=LONG)[1]
    finally:
        service.kill()
        service.wait()
    assert child.returncode == 5 and b"the same command goes on" in said, said
    server.go.set()
    done = outrider("download", "--stdio", "-o", "x", server.url("/fine"), cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "x").read_bytes() == server.data
    assert server.ranges()[-1].startswith("bytes=")
