# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The log of what happens: for people and for programs, in a file and on standard error, and without secrets."""

import json
import os
import re
import subprocess
import time

import contract
import pytest
from request_client import get, result
from socket_service import running

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def lines(path, holds, seconds=10.0):
    """The lines of a file, once they are as they shall be."""
    deadline = time.monotonic() + seconds
    while True:
        found = path.read_text("utf-8").splitlines() if path.exists() else []
        if holds(found):
            return found
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def test_each_level_shows_more(wire, origin, log):
    """`warning` is silent about requests, `info` shows their ends, `debug` their way, `trace` every piece."""
    counts = {}
    for level in ("warning", "info", "debug", "trace"):
        path = log.with_name(level)
        wire.call("server.setLog", {"level": level, "to": "file", "path": str(path), "format": "json"})
        get(wire, origin + "/bytes/10")
        wire.call("server.setLog", {"level": "warning"})
        found = lines(path, lambda lines, level=level: level == "warning" or any("request.parsed" in line or (
            level == "info" and "request.finished" in line) for line in lines))
        counts[level] = [json.loads(line).get("topic") for line in found]
    assert counts["warning"] == [] and counts["info"] == ["request.finished"]
    assert "attempt.answered" in counts["debug"] and "attempt.received" not in counts["debug"]
    assert "attempt.received" in counts["trace"] and set(counts["debug"]) < set(counts["trace"])


def test_a_line_for_people(wire, origin, log):
    wire.call("server.setLog", {"level": "info", "to": "file", "path": str(log)})
    request = get(wire, origin + "/status/404?key=CANARY", tag="mine")["request"]
    line = lines(log, len)[0]
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info: request\.finished GET http://127\.0\.0\.1:\d+/status/404"
        r"\?\*\*\* 404 in [0-9.e-]+ s, \d+ bytes \[" + request + r" con_\w+ tag mine\]", line)


def test_a_line_for_programs_fits_the_contract(wire, origin, log):
    wire.call("server.setLog", {"level": "trace", "to": "file", "path": str(log), "format": "json"})
    request = get(wire, origin + "/redirect/1", retry=True)["request"]
    found = [json.loads(line) for line in lines(log, lambda found: any("request.parsed" in line for line in found))]
    told = [line for line in found if "topic" in line]
    topics = {topic["name"]: topic for topic in result(wire.call("events.topics"))["topics"]}
    assert {line.get("request") for line in told} == {request} and len(told) > 10
    for line in told:
        topic = topics[line["topic"]]
        assert line["level"] == topic["level"] and line["message"].startswith(line["topic"])
        assert set(topic["detail"].get("required", [])) <= set(line["detail"])
        assert set(line["detail"]) <= set(topic["detail"].get("properties", {}))


def test_no_log_holds_a_secret(tmp_path, origin, log):
    """Whatever its level: neither queries, nor fields, nor bodies, nor what a client's own code said."""
    wire = contract.Wire(arguments=["--log-level", "trace", "--log-file", str(log), "--log-format", "json"])
    with wire:
        url = origin + "/redirect/1?anything=CANARY"
        get(wire, url, headers={"Authorization": "Bearer CANARY", "X-Any": "CANARY", "Cookie": "a=CANARY"})
        get(wire, origin + "/echo", method="POST", body={"text": "CANARY"})
        get(wire, origin + "/echo", method="POST", body={"form": {"password": "CANARY"}}, auth={"bearer": "CANARY"})
        get(wire, "http://ada:CANARY@127.0.0.1:1/?CANARY")
        get(wire, origin + "/json", validate={"callback": "CANARY", "timeout": 1})
        get(wire, "http://127.0.0.1:1/?a=CANARY#CANARY", retry={"limit": 1, "scale": 0.01})
        wire.call("no.CANARY", {"a": "CANARY"})
        wire.call("data.send", {"url": origin, "headers": {"a": "CANARY\n"}})
        wire.send_text('{"jsonrpc":"2.0","id":77,"method":"CANARY","params":{"CANARY":')
        wire.receive()
    found = lines(log, lambda found: sum("request.finished" in line for line in found) >= 6)
    # the name that a client gave its callback is no secret; what it holds is
    named = [line for line in found if "CANARY" in line and "callback." not in line]
    assert named == [] and all("X-Any" in line or "CANARY" not in line or "callback" in line for line in found)


def test_flags_and_variables_say_where_the_log_goes(tmp_path, origin, log):
    environment = {**os.environ, "OUTRIDER_LOG": "info", "OUTRIDER_LOG_FILE": str(log), "OUTRIDER_LOG_FORMAT": "json"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "data.send", "params": {"url": origin + "/json"}}
    for flags in ([], ["--log-file", str(tmp_path / "flag"), "--log-format", "text"]):
        done = subprocess.run([contract.binary(), "serve", "--stdio", *flags], env=environment, capture_output=True,
                              input=json.dumps(call).encode(), timeout=20)
        assert done.returncode == 0 and done.stderr == b"", done
    assert [json.loads(line)["topic"] for line in log.read_text().splitlines()] == ["request.finished"]
    assert " info: request.finished GET " in (tmp_path / "flag").read_text()
    for variable, value in (("OUTRIDER_LOG_FORMAT", "xml"), ("OUTRIDER_LOG", "loud")):
        done = subprocess.run([contract.binary(), "serve", "--stdio"], env={**environment, variable: value},
                              capture_output=True, input=b"", timeout=20)
        assert done.returncode == 2 and variable in done.stderr.decode() and value in done.stderr.decode()


def test_on_standard_error_a_line_says_who_speaks(origin):
    call = {"jsonrpc": "2.0", "id": 1, "method": "data.send", "params": {"url": origin + "/json"}}
    done = subprocess.run([contract.binary(), "serve", "--stdio", "--log-level", "info"], capture_output=True,
                          input=json.dumps(call).encode(), timeout=20)
    assert done.stderr.decode().startswith("outrider: info: request.finished GET " + origin)


@pytest.mark.parametrize("path", ["/nowhere/at/all", "/", "/dev/full"])
def test_a_file_that_cannot_be_written_hurts_nobody(path, origin):
    """The service runs on, and says so once on standard error."""
    calls = [{"jsonrpc": "2.0", "id": n, "method": "data.send", "params": {"url": origin + "/json"}} for n in range(20)]
    done = subprocess.run(
        [contract.binary(), "serve", "--stdio", "--log-level", "info", "--log-file", path], capture_output=True,
        input="\n".join(map(json.dumps, calls)).encode(), timeout=30)
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and sorted(reply["id"] for reply in replies) == list(range(20))
    said = done.stderr.decode()
    assert said.count("cannot be written" if path == "/dev/full" else "the log goes to standard error") == 1


def test_a_file_that_cannot_be_opened_later_is_an_error_and_changes_nothing(wire, log):
    error = wire.call("server.setLog", {"level": "info", "to": "file", "path": "/nowhere/at/all"})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/path"
    before = result(wire.call("server.setLog", {"level": "warning", "format": "json"}))
    assert before == {"level": "warning", "to": "stderr", "format": "text"}
    assert result(wire.call("server.setLog", {"level": "warning"}))["format"] == "json"


def test_a_log_that_nobody_reads_holds_nobody_up(origin):
    """Standard error is a pipe that is never read; lines are dropped and counted, replies come."""
    with subprocess.Popen([contract.binary(), "serve", "--stdio", "--log-level", "trace"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        tag = "x" * 10_000
        for number in range(120):
            params = {"url": origin + "/json", "tag": tag}
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "data.send",
                                            "params": params}).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["result"]["ok"]
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"server.stats"}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["log"]["dropped"] > 0
        process.stdin.close()
        process.stderr.close()
        process.stdout.close()
        assert process.wait(10) == 0


def test_the_log_goes_back_to_its_file_when_the_client_that_gets_it_leaves(tmp_path, log):
    path = str(tmp_path / "s")
    with running(path, "--log-level", "debug", "--log-file", str(log)):
        with contract.Wire(path) as one:
            result(one.call("server.setLog", {"level": "trace", "to": "events"}))
            name = result(one.call("server.info"))["connection"]
        lines(log, lambda found: any(f"debug: {name} left" in line for line in found))
        with contract.Wire(path) as other:
            before = result(other.call("server.setLog", {"level": "warning"}))
    assert before == {"level": "debug", "to": "file", "format": "text", "path": str(log)}


def test_requests_of_others_are_not_in_a_log_that_a_client_gets(listening, origin):
    with contract.Wire(listening) as one, contract.Wire(listening) as other:
        result(one.call("server.setLog", {"level": "trace", "to": "events"}))
        assert get(other, origin + "/json")["ok"]
        number = one.start("diagnostics.echo")
        while True:
            message = one.receive()
            if message.get("id") == number:
                break
            assert "request." not in message["params"]["message"] and "attempt." not in message["params"]["message"]


@pytest.fixture
def places(tmp_path):
    """Paths that are no regular files of this user."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    os.link(tmp_path / "file", tmp_path / "second")
    (tmp_path / "foreign").touch()
    if os.geteuid() == 0:
        os.chown(tmp_path / "foreign", 65534, 65534)
    return tmp_path


@pytest.mark.parametrize("name", [
    "/dev/null", "/dev/full", "/proc/self/mem", "/proc/self/comm", "/proc/sys/kernel/core_pattern", "/sys/power/state",
    "{}", "{}/pipe", "{}/link", "{}/second",
    pytest.param("{}/foreign", marks=pytest.mark.skipif(os.geteuid() != 0, reason="only root makes such a file")),
])  # fmt: skip
def test_a_log_goes_into_regular_files_of_the_user_only(wire, places, name):
    path = name.format(places)
    reply = wire.call("server.setLog", {"level": "trace", "to": "file", "path": path})
    assert reply["error"]["code"] == -32602 and reply["error"]["data"]["pointer"] == "/path"
    assert path in reply["error"]["message"]
    assert result(wire.call("server.setLog", {"level": "warning"}))["to"] == "stderr"


def logged(path, arguments, log):
    """What a log holds that one client turned on, while another one sends a request, too."""
    path, silent = str(path), subprocess.DEVNULL
    with running(path, *arguments, stderr=silent), contract.Wire(path) as client, contract.Wire(path) as other:
        wanted = {"level": "debug", "to": "file", "path": str(log)}
        assert "result" in client.call("server.setLog", wanted)
        other.call("data.send", {"url": "http://127.0.0.1:1/of-another-client"})
        client.call("data.send", {"url": "http://127.0.0.1:1/of-this-client"})
        return "\n".join(lines(log, lambda found: any("request.finished" in line and "of-this" in line
                                                      for line in found)))


def test_a_client_sees_its_own_requests_in_a_log_that_it_turns_on(tmp_path, log):
    found = logged(tmp_path / "s", [], log)
    assert "of-another-client" not in found and "of-this-client" in found


def test_a_log_that_the_service_was_started_with_is_of_all_clients(tmp_path, log):
    found = logged(tmp_path / "s", ["--log-file", str(tmp_path / "first")], log)
    assert "of-another-client" in found and "of-this-client" in found
