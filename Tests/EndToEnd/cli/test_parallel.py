# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""`outrider get --parallel`, files with URLs, and names of files that are made of what stands in braces."""

import os
import socket
import subprocess
import threading

import contract
import pytest
from listeners import shut
from shell import LONG, outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


class Gate:
    """A server that keeps responses back until so many requests are there; `/no` is refused at once."""

    def __init__(self, wanted):
        self.wanted, self.there, self.most = wanted, 0, 0
        self.is_open = threading.Event()
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            target = connection.recv(65536).split()[1]
            if target == b"/no":
                return connection.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            with self.lock:
                self.there += 1
                self.most = max(self.most, self.there)
                if self.there == self.wanted:
                    self.is_open.set()
            self.is_open.wait(LONG)
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(target), target))
            with self.lock:
                self.there -= 1


@pytest.fixture
def gate():
    made = []

    def make(wanted):
        made.append(Gate(wanted))
        return made[-1]

    yield make
    for each in made:
        each.is_open.set()
        shut(each.listener)


def test_requests_are_made_at_the_same_time_and_written_in_order(get, gate):
    server = gate(20)
    done = get("-Z", "-w", "<%{http_code} %{urlnum}>", f"{server.url}/[1-20]")
    assert done.stdout.decode() == "".join(f"/{number + 1}<200 {number}>" for number in range(20)), done.stderr


def test_without_a_service_the_same(gate, tmp_path):
    server = gate(5)
    environment = {"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    assert outrider("get", "--parallel", f"{server.url}/[1-5]", env=environment).stdout == b"/1/2/3/4/5"


def test_no_more_than_allowed_are_on_the_way(get, gate):
    server = gate(3)
    assert get("-Z", "--parallel-max", "3", f"{server.url}/[10-19]").stdout.count(b"/") == 10
    assert server.most == 3
    refused(get("--parallel-max", "0", server.url), 2, "1 to 200")


def test_urls_of_a_file_go_to_files_named_by_a_pattern(get, gate, tmp_path):
    server = gate(4)
    (tmp_path / "urls").write_text(f"# wolves\n{server.url}/{{ab,cd}}/[1-2]\n\n")
    done = get("-Z", "--input-file", "urls", "-o", "page-#1-#2.html", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == b"", done.stderr
    names = {f"page-{name}-{number}.html": f"/{name}/{number}" for name in ("ab", "cd") for number in (1, 2)}
    assert {name: (tmp_path / name).read_text() for name in names} == names


def test_a_failure_stops_no_other_request(get, gate):
    server = gate(2)
    done = get("-Z", "-f", server.url + "/a", server.url + "/no", "http://127.0.0.1:1/", server.url + "/b")
    assert done.stdout == b"/a/b" and done.returncode in (12, 14)
    assert b"404" in done.stderr and b"127.0.0.1:1" in done.stderr


def test_a_large_body_holds_up_only_what_follows_it(get, origin):
    first = get(f"{origin}/bytes/9000000").stdout
    done = get("-Z", f"{origin}/bytes/9000000", f"{origin}/bytes/[1-30]")
    assert done.returncode == 0 and done.stdout == first + b"".join(first[:size] for size in range(1, 31))


# JSON on a terminal


def on_terminal(*words, **environment):
    """What a command writes to a terminal."""
    ours, theirs = os.openpty()
    clean = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    child = subprocess.Popen([contract.binary(), *words], stdout=theirs, env={**clean, "TERM": "xterm", **environment})
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 65536):
            seen += piece
    except OSError:
        pass
    os.close(ours)
    assert child.wait(LONG) == 0
    return seen.decode().replace("\r\n", "\n")


def test_json_is_laid_out_and_coloured_on_a_terminal_alone(service, get, origin):
    words = ("get", "--socket", service, origin + "/json")
    plain = '{\n  "id": 1,\n  "x": 0.1\n}\n'
    assert on_terminal(*words) == (
        '{\n  \x1b[34;1m"id"\x1b[0m: \x1b[36m1\x1b[0m,\n  \x1b[34;1m"x"\x1b[0m: \x1b[36m0.1\x1b[0m\n}\n')
    assert on_terminal(*words, NO_COLOR="1") == on_terminal(*words, TERM="dumb") == plain
    raw = on_terminal(*words, "--pretty", "none")
    assert raw == on_terminal(*words, "-o", "-") == get(origin + "/json").stdout.decode()
    assert get(origin + "/json", "--pretty", "format").stdout.decode() == plain
    assert get(origin + "/bytes/5", "--pretty", "all").stdout == get(origin + "/bytes/5").stdout
    refused(get(origin + "/json", "--pretty", "nice"), 2, "all', 'colors")


def test_a_result_is_laid_out_on_a_terminal_alone(service, call):
    assert call("server.info").stdout.count(b"\n") == 1
    assert on_terminal("call", "--socket", service, "server.info").count("\n") > 5
