# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The commands of a shell, as a shell sees them: standard output, standard error, exit status."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import pty
import signal
import socket
import subprocess
import sys
import threading
import time

import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

LONG = 30


def outrider(*words, env=None, stdin=b"", **more):
    """Runs a command to its end; nothing of this user's own settings reaches it."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OUTRIDER", "XDG_"))}
    return subprocess.run(
        [contract.binary(), *words], env={**clean, **(env or {})}, input=stdin, capture_output=True, timeout=LONG, **more
    )


def refused(done, status, *words):
    """A failure: nothing on standard output, one sentence with these words on standard error."""
    said = done.stderr.decode()
    assert done.returncode == status, said
    assert done.stdout == b""
    for word in words:
        assert word in said
    return said


@pytest.fixture(scope="module")
def origin():
    """The URL of the small server on loopback."""
    command = [sys.executable, str(contract.ROOT / "scripts/origin.py"), "--port", "0", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield "http://127.0.0.1:" + process.stdout.readline().strip()
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """The path of a socket with a service behind it."""
    path = tmp_path_factory.mktemp("cli") / "s"
    process = subprocess.Popen([contract.binary(), "serve", "--socket", str(path)], stdin=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + LONG
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        yield str(path)
    finally:
        process.terminate()
        assert process.wait(10) == 128 + signal.SIGTERM


@pytest.fixture
def call(service):
    """Runs `outrider call` against that service."""
    return lambda *words, **more: outrider("call", "--socket", service, *words, **more)


@pytest.fixture
def get(service):
    """Runs `outrider get` against that service."""
    return lambda *words, **more: outrider("get", "--socket", service, *words, **more)


@pytest.fixture
def impostor(tmp_path):
    """Answers one connection at a socket in its own way."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "i"))
    listener.listen()
    listener.settimeout(LONG)

    def start(answer):
        def run():
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                answer(peer)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return str(tmp_path / "i"), thread

    with listener:
        yield start


# --- help


def test_help_teaches_by_example():
    done = outrider("--help")
    assert done.returncode == 0
    for word in (b"outrider get https://example.org/", b"outrider serve --stdio", b"get-socket", b"describe"):
        assert word in done.stdout
    for command in ("serve", "call", "get", "get-socket", "describe"):
        done = outrider(command, "--help")
        assert done.returncode == 0 and b"outrider " + command.encode() in done.stdout


def test_version_is_that_of_the_contract():
    assert outrider("--version").stdout.decode().strip() == contract.CONTRACT.document["info"]["version"]


def test_every_setting_is_a_flag_of_serve():
    said = outrider("serve", "--help").stdout.decode()
    for setting in contract.CONTRACT.document["x-outrider-settings"]:
        assert setting["flag"] in said


@pytest.mark.parametrize(
    "words",
    [
        ["--max-inline", "8388609"],
        ["--connections-per-host", "0"],
        ["--timeout-total", "0"],
        ["--timeout-idle", "nan"],
        ["--framing", "loose"],
        ["--log-level", "loud"],
        ["--stdio", "--socket", "/tmp/s"],
        ["--no-such-flag"],
    ],
)
def test_a_bad_setting_is_wrong_usage(words):
    refused(outrider("serve", *words), 2, "--")


def test_a_bad_environment_is_wrong_usage():
    refused(outrider("serve", "--stdio", env={"OUTRIDER_LOG": "loud"}), 2, "OUTRIDER_LOG", "warning")


# --- describe


def test_describe_lists_all_methods():
    lines = outrider("describe").stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == [method["name"] for method in contract.CONTRACT.document["methods"]]


def test_describe_explains_a_method():
    said = outrider("describe", "diagnostics.sleep").stdout.decode()
    for word in ("diagnostics.sleep", "seconds", "number, required", "outrider call diagnostics.sleep"):
        assert word in said


def test_describe_prints_the_contract():
    assert outrider("describe", "--json").stdout.decode() == contract.TEXT


# --- call


def test_a_result_is_one_line(call):
    done = call("diagnostics.echo", '{"b":0.1,"a":[1,null]}')
    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"b":0.1,"a":[1,null]}\n', b"")


def test_words_are_parameters(call):
    done = call("diagnostics.echo", "text=a=b", "number:=1.50", 'list:=[1,{"a":2}]', '{"text":"first","more":true}')
    assert done.returncode == 0
    assert json.loads(done.stdout) == {"text": "first", "number": 1.5, "list": [1, {"a": 2}], "more": True}


def test_parameters_come_from_standard_input(call):
    assert call("diagnostics.echo", "-", stdin=b'{"a":"\xc3\xa9"}').stdout == b'{"a":"\\u00e9"}\n'


def test_an_error_goes_to_standard_error(call):
    done = call("diagnostics.fail", "code:=1600", "message=as you wished", 'data:={"a":1}')
    said = refused(done, 1)
    assert json.loads(said) == {"code": 1600, "message": "as you wished", "data": {"a": 1}}


def test_raw_prints_the_whole_answer(call):
    assert json.loads(call("--raw", "diagnostics.echo", "a=b").stdout) == {"jsonrpc": "2.0", "id": 1, "result": {"a": "b"}}
    done = call("--raw", "diagnostics.fail", "code:=7", "message=m")
    assert done.returncode == 1 and json.loads(done.stdout)["error"] == {"code": 7, "message": "m"}


def test_events_come_before_the_result(call):
    lines = [json.loads(line) for line in call("--events", "diagnostics.notify", "count:=2").stdout.splitlines()]
    assert [line.get("method") for line in lines] == ["diagnostics.tick", "diagnostics.tick", None]
    assert call("diagnostics.notify", "count:=2").stdout == b'{"sent":2}\n'


def test_questions_are_refused_at_once(call):
    done = call("diagnostics.callback", "timeout:=20")
    assert json.loads(refused(done, 1))["code"] == -32021


@pytest.mark.parametrize(
    "words, said",
    [
        (["data.sendd", "url=x"], "did you mean data.send?"),
        (["no.such.thing"], "outrider describe"),
        (["data.send", "urll=x"], "did you mean url?"),
        (["data.send"], "needs the parameter url"),
        (["data.send", "url"], "key=text"),
        (["data.send", "url:=nul"], "url is no JSON"),
        (["data.send", "{"], "no JSON"),
        (["data.send", "[]", "[1]"], "one JSON object"),
        (["data.send", "--timeout", "0", "url=x"], "--timeout"),
        (["--stdio", "--spawn", "server.info"], "--stdio"),
        (["server.info", "--loud"], "--loud"),
        ([], "method"),
    ],
)
def test_wrong_usage_is_found_before_anything_is_sent(words, said, tmp_path):
    refused(outrider("call", *words, env={"OUTRIDER_SOCKET": str(tmp_path / "none")}), 2, said)


def test_without_a_service_the_remedy_is_named(tmp_path):
    path = str(tmp_path / "none")
    refused(outrider("call", "--socket", path, "server.info"), 3, path, "outrider serve", "--spawn")


def test_the_environment_names_the_socket(service):
    assert outrider("call", "server.info", env={"OUTRIDER_SOCKET": service}).returncode == 0


def test_a_path_that_no_socket_can_have_is_wrong_usage():
    refused(outrider("call", "--socket", "/tmp/" + "x" * 120, "server.info"), 2, "125", "107")


def test_a_call_that_takes_too_long_is_cancelled(call):
    begin = time.monotonic()
    refused(call("--timeout", "0.2", "diagnostics.sleep", "seconds:=60"), 4, "time")
    assert time.monotonic() - begin < 10
    running = json.loads(call("server.stats").stdout)["calls"]["running"]
    assert running <= 2


def test_a_service_that_goes_away_is_told(impostor):
    path, _ = impostor(lambda peer: None)
    refused(outrider("call", "--socket", path, "server.info"), 5, "before it answered")


@pytest.mark.parametrize(
    "answer",
    [
        b"hello\n",
        b'{"jsonrpc":"2.0","id":1}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}\n',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}\n',
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
)
def test_a_peer_that_breaks_the_protocol_is_told(impostor, answer):
    path, _ = impostor(lambda peer: peer.sendall(answer))
    refused(outrider("call", "--socket", path, "server.info"), 6)


def test_an_answer_in_small_pieces_after_others_is_found(impostor):
    def answer(peer):
        for byte in b'   {"jsonrpc":"2.0","id":9,"result":{}}\n\n {"jsonrpc":"2.0","id":1,"result":{"a":12345678901234567890.0}}\n':
            peer.sendall(bytes([byte]))

    path, _ = impostor(answer)
    done = outrider("call", "--socket", path, "server.info")
    assert done.stdout == b'{"a":12345678901234567890.0}\n', done.stderr


def test_a_service_of_its_own_serves_one_call():
    info = json.loads(outrider("call", "--stdio", "server.info").stdout)
    assert info["transport"] == "stdio"
    with pytest.raises(ProcessLookupError):
        for _ in range(200):
            os.kill(info["pid"], 0)
            time.sleep(0.02)


def test_a_closed_standard_output_is_no_crash(call):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [contract.binary(), "call", "--stdio", "server.info"], stdout=full, stderr=subprocess.PIPE, timeout=LONG
        )
    assert done.returncode == 1 and b"standard output" in done.stderr
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [contract.binary(), "call", "--stdio", "server.info"], stdout=writing, stderr=subprocess.PIPE, timeout=LONG
    )
    os.close(writing)
    assert done.returncode == 1 and done.stderr == b""


@pytest.mark.parametrize("path, status", [("/json", 0), ("", 12)])
def test_the_exit_status_tells_the_kind_of_a_failure(call, origin, path, status):
    url = origin + path if path else "http://127.0.0.1:1/"
    done = call("--exit-by-kind", "data.send", "url=" + url)
    assert done.returncode == status
    assert json.loads(done.stdout)["ok"] is (status == 0)
    assert call("data.send", "url=" + url).returncode == 0


# --- get


def test_get_writes_the_body_as_it_is(get, origin):
    assert get(origin + "/json").stdout == b'{"id":1,"x":0.1}'
    assert get(origin + "/gzip").stdout == outrider("get", "--stdio", origin + "/gzip").stdout


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 5_000_000])
def test_get_is_binary_safe_at_every_size(get, origin, size, tmp_path):
    there = subprocess.run(
        [sys.executable, "-c", "import sys,urllib.request as u; sys.stdout.buffer.write(u.urlopen(sys.argv[1]).read())"]
        + [f"{origin}/bytes/{size}"],
        capture_output=True,
        check=True,
    ).stdout
    assert len(there) == size
    assert hashlib.sha256(get(f"{origin}/bytes/{size}").stdout).digest() == hashlib.sha256(there).digest()
    file = tmp_path / "out"
    done = get("-o", str(file), f"{origin}/bytes/{size}")
    assert (done.returncode, done.stdout) == (0, b"")
    assert file.read_bytes() == there


def test_get_includes_the_head(get, origin):
    head, body = get("-i", origin + "/status/404").stdout.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 404\r\n") and b"Server: outrider-origin" in head
    assert body == get(origin + "/status/404").stdout


def test_a_status_is_a_failure_only_when_asked(get, origin):
    assert get(origin + "/status/404").returncode == 0
    refused(get("-f", origin + "/status/404"), 14, "404")
    assert get("-f", origin + "/json").returncode == 0


@pytest.mark.parametrize("data, sent", [("a=b", "a=b"), ("@-", "from stdin"), ("@FILE", "from a file")])
def test_get_sends_data(get, origin, data, sent, tmp_path):
    file = tmp_path / "data"
    file.write_text("from a file")
    done = get("-d", data.replace("FILE", str(file)), "-H", "X-Test:  1", origin + "/echo", stdin=b"from stdin")
    echo = json.loads(done.stdout)
    fields = {name.lower(): value for name, value in echo["headers"]}
    assert (echo["method"], echo["body"]) == ("POST", sent)
    assert (fields["x-test"], fields["content-type"]) == ("1", "application/x-www-form-urlencoded")


def test_get_takes_a_method_and_a_content_type(get, origin):
    done = get("-X", "PUT", "-H", "content-type: text/plain", "-d", "x", origin + "/echo")
    echo = json.loads(done.stdout)
    assert echo["method"] == "PUT"
    assert [value for name, value in echo["headers"] if name.lower() == "content-type"] == ["text/plain"]


def test_get_tells_failures_on_standard_error(get, tmp_path):
    refused(get("http://127.0.0.1:1/"), 12, "127.0.0.1:1")
    assert refused(get("-s", "http://127.0.0.1:1/"), 12) == ""
    refused(get("-H", "no field", "http://127.0.0.1:1/"), 2, "Name: value")
    refused(get("-d", "@" + str(tmp_path / "none"), "http://127.0.0.1:1/"), 2, "none")
    refused(get("-o", str(tmp_path / "none/out"), "http://127.0.0.1:1/"), 1, "none/out")
    assert get("not a url").returncode in (1, 10)


def test_get_gives_up_in_time(get, origin):
    begin = time.monotonic()
    refused(get("--timeout", "0.3", origin + "/delay/30"), 12)
    assert time.monotonic() - begin < 10


def test_get_needs_no_service(origin, tmp_path):
    done = outrider("get", origin + "/json", env={"XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.stdout == b'{"id":1,"x":0.1}'
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words, shown", [([], False), (["-o", "-"], True)])
def test_a_terminal_gets_no_binary_data_unless_asked(service, words, shown):
    def answer(peer):
        peer.recv(65536)
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\na\0bc")

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=lambda: answer(listener.accept()[0]), daemon=True)
    thread.start()
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [contract.binary(), "get", "--socket", service, *words, f"http://127.0.0.1:{listener.getsockname()[1]}/"],
        stdout=theirs,
        stderr=subprocess.PIPE,
        timeout=LONG,
    )
    os.write(theirs, b"|")
    seen = b""
    while not seen.endswith(b"|"):
        seen += os.read(ours, 100)
    os.close(ours)
    os.close(theirs)
    listener.close()
    assert seen == (b"a\0bc|" if shown else b"|")
    assert done.returncode == (0 if shown else 1)
    if not shown:
        assert b"image/png" in done.stderr and b"-o" in done.stderr


# --- get-socket


@pytest.fixture
def place(tmp_path):
    """The path of a socket with nothing behind it; what is started there ends with the test."""
    path = str(tmp_path / "s")
    yield path
    outrider("call", "--socket", path, "server.stop", "grace:=0")


def test_get_socket_starts_one_service(place):
    refused(outrider("get-socket", "--no-spawn", "--socket", place), 3, place)
    first = json.loads(outrider("get-socket", "--socket", place).stdout)
    assert list(first) == ["socket", "pid", "version", "protocol", "instanceId"]
    assert first["socket"] == place
    again = json.loads(outrider("get-socket", "--no-spawn", "--socket", place).stdout)
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


# --- serve


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


def test_the_log_goes_to_a_file_and_back(call, tmp_path):
    file = tmp_path / "log"
    before = json.loads(call("server.setLog", "level=debug", "to=file", f"path={file}").stdout)
    assert before == {"level": "warning", "to": "stderr"}
    call("server.info")
    back = json.loads(call("server.setLog", "level=warning").stdout)
    assert back == {"level": "debug", "to": "file", "path": str(file)}
    assert file.stat().st_mode & 0o777 == 0o600
    refused(call("server.setLog", "level=debug", "to=file", f"path={tmp_path}/none/log"), 1, "/path")
