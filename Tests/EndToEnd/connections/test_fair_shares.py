# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Work of one client that hangs, or takes every connection, keeps no other client waiting."""

import contextlib
import os
import pathlib
import resource
import shutil
import socket
import subprocess
import threading
import time

import contract
import pytest
from listeners import shut
from socket_service import running

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

HERE = pathlib.Path(__file__).parent
# a small call, or a request to this machine, takes milliseconds; a call that hangs never ends
SOON = 5


def build(name, folder):
    """A library to be preloaded."""
    compiler = shutil.which("clang") or shutil.which("cc")
    assert compiler, "no C compiler"
    library = folder / f"{name}.so"
    source = HERE / f"{name}.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def hanging(tmp_path_factory):
    """The library that makes calls of the system hang."""
    return build("hanging", tmp_path_factory.mktemp("hanging"))


@contextlib.contextmanager
def serving(tmp_path, files=None, **environment):
    """A service with these variables, and at most so many open files; gives the path of its socket."""
    path = str(tmp_path / "s")
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files)) if files else None
    with running(path, variables={"TMPDIR": str(tmp_path), **environment}, preexec_fn=limit) as process:
        yield path, process


@pytest.fixture
def hung(tmp_path, hanging):
    """A service whose slow work hangs until the test ends."""
    mark = tmp_path / "mark"
    mark.touch()
    variables = {"LD_PRELOAD": str(hanging), "OUTRIDER_TEST_HANG": str(mark), "OUTRIDER_TEST_REMOVAL": "100"}
    with serving(tmp_path, **variables) as (path, _):
        try:
            yield path
        finally:
            mark.unlink()


def timed(work):
    began = time.monotonic()
    found = work()
    return found, time.monotonic() - began


@pytest.mark.parametrize("count", [4, 40, 200])
def test_silent_name_servers_of_one_client_stop_no_other_lookup(hung, origin, count):
    port = origin.rpartition(":")[2]
    with contract.Wire(hung) as one, contract.Wire(hung) as other:
        for number in range(count):
            one.start("data.send", {"url": f"http://silent{number}.test/", "timeout": {"resolve": 30}})
        one.call("server.info")
        found, seconds = timed(lambda: other.call("data.send", {"url": f"http://there.test:{port}/json"}))
        assert found["result"]["ok"] and seconds < SOON, (found, seconds)
        if count < 30:
            # nor those of the same client, as long as it has not taken its share
            found, seconds = timed(lambda: one.call("data.send", {"url": f"http://there.test:{port}/json"}))
            assert found["result"]["ok"] and seconds < SOON, (found, seconds)


@pytest.mark.parametrize("count", [4, 100])
def test_hung_reads_of_one_client_stop_no_transfer_of_another(hung, origin, tmp_path, count):
    file, fine = tmp_path / "never-read", tmp_path / "fine"
    port = origin.rpartition(":")[2]
    file.write_bytes(b"x" * 10000)
    fine.write_bytes(b"x" * 10000)
    with contract.Wire(hung) as one, contract.Wire(hung) as other:
        for number in range(count):
            url = f"http://h{number}.localhost:{port}/echo"
            one.start("data.send", {"url": url, "method": "POST", "body": {"file": str(file)}})
        one.call("server.info")
        post = {"url": f"{origin}/echo", "method": "POST", "body": {"file": str(fine)}}
        found, seconds = timed(lambda: other.call("data.send", post))
        assert found["result"]["ok"] and seconds < SOON, (found, seconds)
        target = tmp_path / "download"
        params = {"url": f"{origin}/bytes/100000", "destination": {"path": str(target)}}
        found, seconds = timed(lambda: other.call("download.send", params))
        assert found["result"]["ok"] and target.stat().st_size == 100000 and seconds < SOON, (found, seconds)


def test_removing_files_holds_no_loop(tmp_path, hanging, origin):
    """Two removals of three seconds each: of kept bodies, by the end of their client."""
    variables = {"LD_PRELOAD": str(hanging), "OUTRIDER_TEST_REMOVAL": "3000"}
    with serving(tmp_path, **variables) as (path, _), contract.Wire(path) as other:
        with contract.Wire(path) as one:
            bodies = [one.call("data.send", {"url": f"{origin}/bytes/1000", "bodyTo": "file"}) for _ in range(2)]
            files = [body["result"]["body"]["path"] for body in bodies]
        waits = []
        while any(map(os.path.exists, files)):
            waits.append(timed(lambda: other.call("server.info"))[1])
        assert len(waits) > 2 and max(waits) < 2, sorted(waits)[-10:]


def test_a_release_has_its_result_when_the_file_is_gone(hung, origin):
    with contract.Wire(hung) as one:
        body = one.call("data.send", {"url": f"{origin}/bytes/1000", "bodyTo": "file"})["result"]["body"]
        assert os.path.exists(body["path"])
        assert one.call("response.release", {"response": body["response"]})["result"] == {}
        assert not os.path.exists(body["path"])


class Deaf:
    """A host of many ports' worth of connections: takes them, and never says a word."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.listener.getsockname()[1]
        self.taken = []
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        with contextlib.suppress(OSError):
            while True:
                self.taken.append(self.listener.accept()[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shut(self.listener)
        for connection in self.taken:
            connection.close()


def most_files():
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def test_the_soft_limit_of_files_is_raised_at_the_start(tmp_path):
    with serving(tmp_path, files=(256, most_files())) as (_, process):
        lines = pathlib.Path(f"/proc/{process.pid}/limits").read_text().splitlines()
        words = next(line for line in lines if "open files" in line).split()
        assert words[3] == words[4] == str(most_files())


def test_slow_hosts_of_one_client_leave_connections_for_others(tmp_path, origin):
    """With 800 files, hard; each host is a name of its own."""
    with Deaf() as deaf, serving(tmp_path, files=(800, 800)) as (path, process):
        with contract.Wire(path) as one, contract.Wire(path) as more, contract.Wire(path) as other:
            for wire in (one, more):
                for number in range(250):
                    url = f"http://h{number}.{'one' if wire is one else 'more'}.localhost:{deaf.port}/"
                    wire.start("data.send", {"url": url, "timeout": {"connect": 1, "firstByte": 60}})
            # what had to wait for a connection says so, and can be tried again; others had one that nothing came from
            waited = 0
            while waited < 20:
                error = one.receive()["result"]["error"]
                if error["code"] == 1405:
                    continue
                assert error["code"] == 1422 and error["retryable"] and error["phase"] == "queue", error
                assert "share" in error["message"]
                waited += 1
            found, seconds = timed(lambda: other.call("data.send", {"url": f"{origin}/json"}))
            assert found["result"]["ok"] and seconds < SOON, (found, seconds)
            assert len(os.listdir(f"/proc/{process.pid}/fd")) < 700
            # a new client is still welcome
            with contract.Wire(path) as new:
                assert "result" in new.call("server.info")


def test_a_connection_that_ends_makes_room_for_the_next(tmp_path, origin):
    """Every host is asked in the end, however many there are."""
    port = origin.rpartition(":")[2]
    with serving(tmp_path, files=(500, 500)) as (path, _), contract.Wire(path) as one:
        numbers = [one.start("data.send", {"url": f"http://h{n}.localhost:{port}/json"}) for n in range(250)]
        replies = one.replies(numbers, 60)
        assert all(reply["result"]["ok"] for reply in replies.values())


def test_a_want_of_descriptors_is_a_failure_of_its_own(tmp_path, origin):
    with serving(tmp_path) as (path, process), contract.Wire(path) as one:
        assert one.call("data.send", {"url": f"{origin}/json"})["result"]["ok"]
        limits = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        used = max(map(int, os.listdir(f"/proc/{process.pid}/fd"))) + 1
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (used, limits[1]))
        try:
            file = tmp_path / "body"
            file.write_bytes(b"x")
            calls = {
                "connection": {"url": "http://other.localhost:1/"},
                "file": {"url": f"{origin}/echo", "method": "POST", "body": {"file": str(file)}},
                "spill": {"url": f"{origin}/bytes/1000", "bodyTo": "file"},
            }
            for what, params in calls.items():
                # descriptors that have become free meanwhile are taken here
                found = one.call("data.send", params)["result"]
                if what == "connection" and found["error"]["code"] == 1402:
                    continue
                assert found["error"]["code"] == 1422, (what, found)
                assert found["error"]["reason"] == "tooManyOpenFiles" and found["error"]["retryable"]
        finally:
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, limits)
        assert one.call("data.send", calls["file"])["result"]["ok"]


def test_a_want_of_descriptors_does_not_stop_a_service_with_much_work(tmp_path, origin):
    """libdispatch looks at its threads in /proc while work waits for them."""
    mark = tmp_path / "mark"
    variables = {"LD_PRELOAD": str(build("crowding", tmp_path)), "OUTRIDER_TEST_CROWD": str(mark)}
    with serving(tmp_path, **variables) as (path, process), contract.Wire(path) as one:
        mark.touch()
        end = time.monotonic() + 8
        while mark.exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        assert process.poll() is None, f"the service ended with {process.returncode}"
        if mark.exists():
            pytest.skip("the binary holds libdispatch, so a library cannot give it work")
        assert one.call("data.send", {"url": f"{origin}/json"})["result"]["ok"]
