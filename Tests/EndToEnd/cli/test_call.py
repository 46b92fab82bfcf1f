# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""`outrider call`, `describe` and help, as a shell sees them: standard output, standard error, exit status."""

import json
import os
import select
import socket
import subprocess
import threading
import time

import contract
import pytest
from shell import LONG, outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def impostor(tmp_path):
    """Serves one connection at a socket in its own way."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "i"))
    listener.listen()
    listener.settimeout(LONG)

    def start(reply):
        def run():
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                reply(peer)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return str(tmp_path / "i"), thread

    with listener:
        yield start


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


def test_describe_lists_all_methods():
    lines = outrider("describe").stdout.decode().splitlines()
    assert [line.split()[0] for line in lines] == [method["name"] for method in contract.CONTRACT.document["methods"]]


def test_describe_explains_a_method():
    said = outrider("describe", "diagnostics.sleep").stdout.decode()
    for word in ("diagnostics.sleep", "seconds", "number, required", "outrider call diagnostics.sleep"):
        assert word in said


@pytest.mark.parametrize(
    "name, said",
    [("RequestSpec", "url  (string, required)"), ("LogLevel", "warning"), ("event.end", "size  (integer, required)")],
)
def test_describe_explains_types_and_events(name, said):
    done = outrider("describe", name)
    assert done.returncode == 0 and said in done.stdout.decode()


@pytest.mark.parametrize("method, said", [("sse.open", b"method  (string)"), ("stream.open", b'default "GET"')])
def test_describe_names_the_default_method_of_a_request(method, said):
    """An event stream with a body is sent by POST."""
    lines = outrider("describe", method).stdout.splitlines()
    assert [line for line in lines if line.strip().startswith(b"method ") and said in line]


def test_describe_prints_the_contract():
    assert outrider("describe", "--json").stdout.decode() == contract.TEXT


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


def test_raw_prints_the_whole_reply(call):
    reply = json.loads(call("--raw", "diagnostics.echo", "a=b").stdout)
    assert reply == {"jsonrpc": "2.0", "id": 1, "result": {"a": "b"}}
    done = call("--raw", "diagnostics.fail", "code:=7", "message=m")
    assert done.returncode == 1 and json.loads(done.stdout)["error"] == {"code": 7, "message": "m"}


def test_events_come_before_the_result(call):
    lines = [json.loads(line) for line in call("--events", "diagnostics.notify", "count:=2").stdout.splitlines()]
    assert [line.get("method") for line in lines] == ["diagnostics.tick", "diagnostics.tick", None]
    assert call("diagnostics.notify", "count:=2").stdout == b'{"sent":2}\n'


def test_callbacks_are_refused_at_once(call):
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


@pytest.mark.parametrize(
    "words", [["call", "server.info"], ["get", "http://127.0.0.1:1/"], ["get-socket"], ["stop"], ["status"]])
def test_an_empty_path_is_wrong_usage(service, words):
    """A script whose variable was not set reached the service of its user."""
    refused(outrider(*words, "--socket", "", env={"OUTRIDER_SOCKET": service}), 2, "--socket names no path")


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
    "reply",
    [
        b"hello\n",
        b'{"jsonrpc":"2.0","id":1}\n',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}\n',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}\n',
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
)
def test_a_peer_that_breaks_the_protocol_is_told(impostor, reply):
    path, _ = impostor(lambda peer: peer.sendall(reply))
    refused(outrider("call", "--socket", path, "server.info"), 6)


def test_a_reply_in_small_pieces_after_others_is_found(impostor):
    def reply(peer):
        other = b'   {"jsonrpc":"2.0","id":9,"result":{}}\n\n'
        for byte in other + b' {"jsonrpc":"2.0","id":1,"result":{"a":12345678901234567890.0}}\n':
            peer.sendall(bytes([byte]))

    path, _ = impostor(reply)
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


@pytest.mark.parametrize("words", [["call", "server.info"], ["get", "URL"], ["get", "-Z", "URL", "URL"]])
def test_a_service_that_dies_before_it_reads_a_call_is_replaced(place, origin, words):
    """A process that is killed accepts connections for some milliseconds more."""
    with socket.socket(socket.AF_UNIX) as dying:
        dying.bind(place)
        os.chmod(place, 0o600)
        dying.listen()
        words = [origin + "/json" if word == "URL" else word for word in words]
        command = [contract.binary(), words[0], "--socket", place, "--spawn", *words[1:]]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert select.select([dying], [], [], LONG)[0]
            os.unlink(place)
            dying.close()
            said, errors = process.communicate(timeout=LONG)
    assert process.returncode == 0, errors
    assert said


def test_a_call_that_was_read_is_not_repeated(place):
    with socket.socket(socket.AF_UNIX) as dying:
        dying.bind(place)
        os.chmod(place, 0o600)
        dying.listen()
        command = [contract.binary(), "call", "--socket", place, "--spawn", "server.info"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            connection, _ = dying.accept()
            assert connection.recv(65536).endswith(b"\n")
            connection.close()
            process.communicate(timeout=LONG)
    assert process.returncode == 5
