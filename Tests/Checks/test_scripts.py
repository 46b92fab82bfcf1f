# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The scripts that a newcomer meets first: the origin, `make run`, the set-up, the counting."""

import http.client
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest
from house import CHECKOUT

# stands in for the binary: "listens" while the file that stands for its socket is there
STAND_IN = """#!/bin/sh
case $1 in
    get-socket) [ -e "$HERE/alive" ] || exit 3
        echo '{"socket":"'$HERE'/s","pid":1,"version":"0"}' ;;
    serve) [ ! -e "$HERE/broken" ] || { echo no luck >&2; exit 9; }
        trap 'rm -f "$HERE/alive"; exit 0' TERM
        touch "$HERE/alive"; echo $$ >"$HERE/pid"
        while :; do sleep 0.1; done ;;
esac
"""


@pytest.fixture
def origin():
    """Asks a fresh origin; gives status, header fields and body."""
    command = [sys.executable, str(CHECKOUT / "scripts/origin.py"), "--port=0", "--quiet"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    wire = http.client.HTTPConnection("127.0.0.1", int(server.stdout.readline()), timeout=10)

    def request(path, method="GET", body=None, **fields):
        wire.request(method, path, body, fields)
        response = wire.getresponse()
        return response.status, response.getheaders(), response.read()

    yield request
    wire.close()
    server.terminate()
    server.wait(10)
    server.stdout.close()


def test_the_origin_serves_everything_on_one_connection(origin):
    assert origin("/")[0] == 200
    assert origin("/json")[2] == b'{"id":1,"x":0.1}'
    assert origin("/status/418")[0] == 418
    assert origin("/status/204")[2] == b""
    assert len(origin("/bytes/100000")[2]) == 100000
    assert origin("/bytes/10", "HEAD")[2] == b""
    assert origin("/chunked")[2] == b"one two three\n"
    assert origin("/trailers")[2] == b"one two three\n"
    assert [value for name, value in origin("/headers")[1] if name == "X-Twice"] == ["one", "two"]
    assert ("Content-Encoding", "gzip") in origin("/gzip")[1]
    assert origin("/nowhere")[0] == 404
    assert origin("/bytes/-1")[0] == 400
    assert origin("/status/many")[0] == 400


def test_the_origin_echoes_what_it_got(origin):
    seen = json.loads(origin("/echo?a=1", "PURGE", "héllo".encode(), **{"X-A": "1"})[2])
    assert (seen["method"], seen["target"], seen["body"]) == ("PURGE", "/echo?a=1", "héllo")
    assert ["X-A", "1"] in seen["headers"]


@pytest.fixture
def run(tmp_path):
    """Starts scripts/run with the stand-in; gives the process."""
    binary = tmp_path / "outrider"
    binary.write_text(STAND_IN)
    binary.chmod(0o755)
    started = []

    def start():
        environment = {**os.environ, "OUTRIDER": str(binary), "HERE": str(tmp_path)}
        process = subprocess.Popen(
            [sys.executable, str(CHECKOUT / "scripts/run")],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(10)
        process.stdout.close()


def until_shown(process):
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Ctrl-C ends"):
            return "".join(lines)
    pytest.fail("it ended: " + "".join(lines))


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def wait_until_dead(pids):
    deadline = time.monotonic() + 10
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, f"still there: {pids}"
        time.sleep(0.02)


@pytest.mark.skipif(shutil.which("socat") is None, reason="socat is not here; scripts/setup installs it")
@pytest.mark.parametrize("name", ["s", "a,b c", "it's: (one)", 'a"b[c]!{d}\\e'])
def test_the_line_for_socat_reaches_a_socket_of_any_name(tmp_path, capsys, name):
    path = str(tmp_path / name)
    loader = importlib.machinery.SourceFileLoader("run", str(CHECKOUT / "scripts/run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(module)
    module.show(path, "http://127.0.0.1:1", ours=True)
    shown = capsys.readouterr().out
    start = shown.index("  printf")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(1)
        listener.settimeout(10)
        process = subprocess.Popen(["bash", "-c", shown[start : shown.index("or this")]], stderr=subprocess.PIPE)
        try:
            connection, _ = listener.accept()
            with connection:
                assert b"data.send" in connection.recv(1000)
        finally:
            process.kill()
            process.communicate(timeout=10)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_make_run_ends_what_it_started(run, number):
    process = run()
    shown = until_shown(process)
    assert "socat - UNIX-CONNECT:" in shown and "import outrider" in shown and "Ctrl-C ends both." in shown
    children = children_of(process.pid)
    assert len(children) == 2
    process.send_signal(number)
    status = process.wait(10)
    assert status == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    wait_until_dead(children)


def test_make_run_uses_a_service_that_runs_already_and_leaves_it(run, tmp_path):
    (tmp_path / "alive").touch()
    process = run()
    shown = until_shown(process)
    assert "runs already" in shown and "the service stays" in shown
    assert len(children_of(process.pid)) == 1
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0
    assert (tmp_path / "alive").exists()


def test_make_run_says_when_the_service_ends_at_once(run, tmp_path):
    (tmp_path / "broken").touch()
    process = run()
    said = process.communicate(timeout=20)[0]
    assert process.returncode == 1 and "no luck" in said and "status 9" in said


def test_the_set_up_refuses_an_unknown_option():
    said = subprocess.run([CHECKOUT / "scripts/setup", "--nonsense"], capture_output=True, text=True)
    assert said.returncode == 2 and "unknown option --nonsense" in said.stderr


@pytest.mark.parametrize(
    "report, status, expected",
    [
        ('<testsuite tests="5" failures="1" errors="0" skipped="1"/>', 1, "3 passed, 1 failed, 1 skipped"),
        ('<testsuite tests="5" failures="0" errors="0"/>', 0, "5 passed, 0 failed, 0 skipped"),
        ('<testsuite tests="5" failures="0" errors="0"/>', 139, "5 passed, 1 failed, 0 skipped"),
        ('<testsuite tests="0" failures="0" errors="0"/>', 0, "0 passed, 1 failed, 0 skipped"),
        (None, 0, "0 passed, 1 failed, 0 skipped"),
    ],
)
def test_what_did_not_run_to_its_end_counts_as_a_failure(tmp_path, report, status, expected):
    counting: dict = {"__name__": "counting", "__file__": str(CHECKOUT / "scripts/test")}
    exec((CHECKOUT / "scripts/test").read_text(), counting)
    reports = []
    if report is not None:
        reports.append(tmp_path / "report.xml")
        reports[0].write_text(f"<testsuites>{report}</testsuites>")
    assert str(counting["counted"](reports, status)) == expected


def test_the_quick_tests_have_a_file_of_each_room():
    counting: dict = {"__name__": "counting", "__file__": str(CHECKOUT / "scripts/test")}
    exec((CHECKOUT / "scripts/test").read_text(), counting)
    rooms = CHECKOUT / "Tests/EndToEnd"
    for name in counting["QUICK"]:
        assert (rooms / f"{name}.py").exists(), f"{name} is not there: correct QUICK in scripts/test"
    covered = {name.split("/")[0] for name in counting["QUICK"]}
    assert covered == {place.parent.name for place in rooms.glob("*/test_*.py")}
