# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""`outrider get-socket` and `serve`: one service for all, however it is started and ended."""

import concurrent.futures
import json
import os
import pathlib
import resource
import signal
import subprocess
import time

import contract
import pytest
from shell import LONG, outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def test_get_socket_starts_one_service(place):
    refused(outrider("get-socket", "--no-spawn", "--socket", place), 3, place)
    first = json.loads(outrider("get-socket", "--socket", place).stdout)
    assert list(first) == ["socket", "pid", "version", "protocol", "instanceId"]
    assert first["socket"] == place
    again = json.loads(outrider("get-socket", "--no-spawn", "--socket", place).stdout)
    assert outrider("get-socket", "--path", "--socket", place).stdout.decode() == f"{place}\n"
    assert again == first


def test_twenty_at_once_start_one_service(place):
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        done = list(pool.map(lambda _: outrider("get-socket", "--socket", place), range(20)))
    assert [one.returncode for one in done] == [0] * 20, [one.stderr for one in done]
    assert len({one.stdout for one in done}) == 1


def test_the_service_is_detached(place):
    pid = json.loads(outrider("get-socket", "--socket", place).stdout)["pid"]
    assert os.getsid(pid) == pid
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    files = {number: os.readlink(f"/proc/{pid}/fd/{number}") for number in os.listdir(f"/proc/{pid}/fd")}
    assert files["0"] == files["1"] == "/dev/null"
    assert files["2"] == place + ".log"
    assert not [name for name in files.values() if name.startswith("pipe:") and name in _own_pipes()]


def _own_pipes():
    return {os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd") if _is_open(number)}


def _is_open(number):
    return pathlib.Path(f"/proc/self/fd/{number}").is_symlink()


def test_spawn_starts_it_as_well(place):
    done = outrider("call", "--spawn", "--socket", place, "diagnostics.echo", "a=b")
    assert done.stdout == b'{"a":"b"}\n', done.stderr
    assert outrider("get-socket", "--no-spawn", "--socket", place).returncode == 0


def test_a_service_that_cannot_start_says_why(tmp_path):
    path = tmp_path / "s"
    path.write_text("no socket")
    refused(outrider("get-socket", "--socket", str(path)), 3, str(path))
    assert path.read_text() == "no socket"


@pytest.mark.parametrize("files, words", [(4, []), (8, []), (12, []), (30, ["--loops", "8"])])
def test_too_few_descriptors_are_named_at_the_start(tmp_path, files, words):
    """The event loops stopped the process with a line of their own, or without."""
    command = [contract.binary(), "serve", "--socket", str(tmp_path / "s"), *words]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)))
    refused(done, 1, f"the limit of {files} open files is too low", "ulimit -Hn")


def test_a_deep_schema_ends_no_service_with_small_stacks(tmp_path):
    """A single call ended the service where `ulimit -s` was 512."""
    path = str(tmp_path / "s")
    process = subprocess.Popen(
        [contract.binary(), "serve", "--socket", path], stdin=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (512 << 10, 512 << 10)))
    try:
        contract.await_socket(path, process)
        definitions = {"s110": True}
        for number in range(110):
            choice = {"anyOf": [{"allOf": [{"oneOf": [{"$ref": f"#/$defs/s{number + 1}"}]}]}]}
            definitions[f"s{number}"] = {"properties": {"k": choice}}
        value = 1
        for _ in range(110):
            value = {"k": value}
        schema = {"$defs": definitions, "$ref": "#/$defs/s0"}
        with contract.Wire(path) as wire:
            assert "result" in wire.call("evaluate.schema", {"schema": schema, "value": value}, 20)
    finally:
        process.terminate()
        process.wait(10)


def test_few_addresses_are_enough(tmp_path):
    """Most services hung at their start where `ulimit -v` was 400000."""
    for number in range(5):
        path = str(tmp_path / f"s{number}")
        process = subprocess.Popen(
            [contract.binary(), "serve", "--socket", path], stdin=subprocess.DEVNULL,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (400_000 << 10, 400_000 << 10)))
        try:
            contract.await_socket(path, process)
            with contract.Wire(path) as wire:
                sent = wire.call("data.send", {"url": "http://127.0.0.1:1/"}, 30)
                assert sent["result"]["error"]["code"] == 1402
        finally:
            # a service that hangs at its start takes no other signal
            process.kill()
            process.wait(20)


@pytest.mark.parametrize("words, said", [
    (["--socket"], "Missing value for '--socket"),
    (["--socket", "--stdio"], "Missing value for '--socket"),
    (["--socket", "a", "--stdio"], "leave out --socket"),
    (["--ready-file", "x"], "'x' is invalid for '--ready-file"),
    (["--stdi"], "--stdi"),
    (["here"], "here"),
])
def test_what_serve_cannot_understand_is_named(words, said):
    assert "outrider serve --help" in refused(outrider("serve", *words), 2, said)


@pytest.mark.parametrize("variable", [
    "OUTRIDER_LOG", "OUTRIDER_LOG_FORMAT", "OUTRIDER_PROXY", "OUTRIDER_CREDENTIAL_KEY", "OUTRIDER_NO_DEVICE_LOGIN"])
def test_the_environment_is_looked_at_whether_flags_are_parsed_or_not(variable, place):
    plain, parsed = [outrider("serve", "--socket", place, *words, env={variable: "x:/y"})
                     for words in ([], ["--framing", "auto"])]
    assert refused(plain, 2, variable) == refused(parsed, 2)


def test_the_defaults_are_the_same_whether_flags_are_parsed_or_not():
    call = b'{"jsonrpc":"2.0","id":1,"method":"server.info"}'
    plain, parsed = [json.loads(outrider("serve", "--stdio", *words, stdin=call).stdout)["result"]
                     for words in ([], ["--framing", "auto"])]
    own = {"pid", "uptime", "instanceId", "connection"}
    assert {name: value for name, value in plain.items() if name not in own} == {
        name: value for name, value in parsed.items() if name not in own}
    assert plain["limits"]["messageBytes"] == 16_777_216


def test_a_stale_socket_is_replaced(place):
    pid = json.loads(outrider("get-socket", "--socket", place).stdout)["pid"]
    os.kill(pid, signal.SIGKILL)
    while pathlib.Path(f"/proc/{pid}").exists() and pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z":
        time.sleep(0.01)
    assert json.loads(outrider("get-socket", "--socket", place).stdout)["pid"] != pid


def test_the_place_is_private(tmp_path):
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    info = json.loads(outrider("get-socket", env=env).stdout)
    try:
        assert info["socket"] == str(tmp_path / "outrider/outrider.sock")
        assert (tmp_path / "outrider").stat().st_mode & 0o777 == 0o700
        assert pathlib.Path(info["socket"]).stat().st_mode & 0o777 == 0o600
        assert pathlib.Path(info["socket"] + ".log").stat().st_mode & 0o777 == 0o600
    finally:
        outrider("call", "server.stop", "grace:=0", env=env)


def test_a_place_that_others_could_change_is_refused(tmp_path):
    (tmp_path / "outrider").mkdir(mode=0o777)
    (tmp_path / "outrider").chmod(0o777)
    refused(outrider("get-socket", env={"XDG_RUNTIME_DIR": str(tmp_path)}), 3, str(tmp_path / "outrider"))


def test_one_socket_has_one_service(service):
    done = outrider("serve", "--socket", service)
    assert done.returncode == 75 and service.encode() in done.stderr


def test_an_idle_service_ends(tmp_path):
    begin = time.monotonic()
    assert outrider("serve", "--socket", str(tmp_path / "s"), "--idle-exit", "0.3").returncode == 0
    assert time.monotonic() - begin < 10
    assert not (tmp_path / "s").exists()


def test_the_end_of_the_editor_ends_its_service():
    editor = subprocess.Popen(["sleep", "60"])
    process = subprocess.Popen([contract.binary(), "serve", "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": editor.pid}}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    assert b'"result"' in process.stdout.readline()
    editor.kill()
    editor.wait()
    assert process.wait(LONG) == 1
    process.stdin.close()
    process.stdout.close()


def test_replies_that_cannot_be_written_are_an_error():
    """Standard output may be a file, and its disk full."""
    call = b'{"jsonrpc":"2.0","id":1,"method":"server.info"}\n'
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [contract.binary(), "serve", "--stdio"], input=call, stdout=full, stderr=subprocess.PIPE, timeout=LONG)
    assert done.returncode == 1
    assert b"standard output cannot be written to: No space left on device" in done.stderr


def test_an_input_that_cannot_be_read_is_an_error(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        done = subprocess.run(
            [contract.binary(), "serve", "--stdio"], stdin=folder, capture_output=True, timeout=LONG)
    finally:
        os.close(folder)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"standard input cannot be read: Is a directory" in done.stderr


def test_the_log_goes_to_a_file_and_back(call, tmp_path):
    file = tmp_path / "log"
    before = json.loads(call("server.setLog", "level=debug", "to=file", f"path={file}").stdout)
    assert before == {"level": "warning", "to": "stderr", "format": "text"}
    call("server.info")
    back = json.loads(call("server.setLog", "level=warning").stdout)
    assert back == {"level": "debug", "to": "file", "format": "text", "path": str(file)}
    assert file.stat().st_mode & 0o777 == 0o600
    refused(call("server.setLog", "level=debug", "to=file", f"path={tmp_path}/none/log"), 1, "/path")
