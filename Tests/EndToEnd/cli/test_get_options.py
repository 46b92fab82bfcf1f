# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The options that `outrider get` and its sisters share with curl, and the items that they share with httpie."""

import json
import os
import re
import socket
import time

import contract
import pytest
from shell import echoed, outrider, refused
from tcp_server import Host

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def run(service):
    return lambda *words, **more: outrider(words[0], "--socket", service, *words[1:], **more)


def test_a_form_has_texts_files_types_and_names(run, origin, tmp_path):
    file = tmp_path / "wolf.txt"
    file.write_text("howl")
    echo = echoed(
        run(
            "get", "-F", "title=Wolves", "-F", f"photo=@{file}", "-F", f"other=@{file};type=image/png;filename=a.png",
            "-F", f"text=<{file}", "-F", 'quoted="a;b"', "--form-string", "plain=@none;type=x", origin + "/echo",
        )
    )  # fmt: skip
    assert echo["method"] == "POST"
    assert echo["fields"]["content-type"].startswith("multipart/form-data; boundary=")
    body = echo["body"]
    assert 'name="title"\r\n\r\nWolves\r\n' in body
    assert 'name="photo"; filename="wolf.txt"\r\nContent-Type: text/plain\r\n\r\nhowl' in body
    assert 'name="other"; filename="a.png"\r\nContent-Type: image/png\r\n\r\nhowl' in body
    assert 'name="text"\r\n' in body and 'name="quoted"\r\n\r\na;b\r\n' in body
    assert 'name="plain"\r\n\r\n@none;type=x\r\n' in body


def test_a_form_of_standard_input_is_sent(run, origin):
    echo = echoed(run("get", "-F", "a=@-;filename=x.bin", origin + "/echo", stdin=b"from stdin"))
    assert 'filename="x.bin"' in echo["body"] and "from stdin" in echo["body"]


@pytest.mark.parametrize(
    "words, said",
    [
        (["-F", "wolf"], "-F 'name=text'"),
        (["-F", "a=@/nonexistent"], "/nonexistent"),
        (["-F", "a=b;colour=red"], "colour"),
        (["-F", 'a="b'], "quote"),
        (["-F", "a=b", "-d", "c=d"], "only one of --data and --form"),
        (["-T", "/nonexistent"], "/nonexistent"),
        (["-T", "/"], "directory"),
        (["-I", "-d", "a=b"], "-G"),
        (["-r", "wolf"], "0-99"),
        (["-J"], "-O"),
        (["-O", "-o", "x"], "--remote-name"),
        (["--retry-all-errors"], "--retry"),
        (["-L", "--no-location"], "--no-location"),
        (["-d", "@-", "-H", "@-"], "once"),
        (["-w", "@/nonexistent"], "/nonexistent"),
        (["--max-redirs", "101"], "100"),
        (["name:={"], "name is no JSON"),
        (["=x"], "item"),
        (["a=b", "-d", "c"], "not both"),
    ],
)
def test_wrong_options_are_named(run, origin, words, said):
    refused(run("get", origin + "/echo", *words), 2, said)


def test_data_is_encoded_for_a_form(run, origin, tmp_path):
    file = tmp_path / "text"
    file.write_text("ä&")
    words = ["--data-urlencode", "a=x y&z", "--data-urlencode", f"f@{file}", "--data-urlencode", "=p/q"]
    echo = echoed(run("get", "-d", "first=1", *words, origin + "/echo"))
    assert echo["body"] == "first=1&a=x%20y%26z&f=%C3%A4%26&p%2Fq"


def test_data_goes_into_the_query(run, origin):
    echo = echoed(run("get", "-G", "-d", "a=1", "--data-urlencode", "b=x y", origin + "/echo?z=0#part"))
    assert (echo["method"], echo["target"], echo["body"]) == ("GET", "/echo?z=0&a=1&b=x%20y", "")
    assert run("get", "-G", "-I", "-d", "a=1", origin + "/echo").stdout.startswith(b"HTTP/1.1 200")


def test_head_writes_the_fields_alone(run, origin):
    for words in (["get", "-I"], ["head"], ["get", "-I", "-X", "GET"]):
        done = run(*words, origin + "/json")
        assert done.stdout.startswith(b"HTTP/1.1 200 \r\n") and done.stdout.endswith(b"\r\n\r\n")


def test_a_file_is_put(run, origin, tmp_path):
    file = tmp_path / "a b.txt"
    file.write_text("content")
    echo = echoed(run("get", "-T", str(file), origin + "/echo"))
    assert (echo["method"], echo["body"]) == ("PUT", "content")
    # the signature of a URL that takes an upload may count on that
    assert "content-type" not in echo["fields"]
    typed = echoed(run("get", "-T", str(file), "-H", "Content-Type: text/x", origin + "/echo"))
    assert typed["fields"]["content-type"] == "text/x" and typed["body"] == "content"
    assert b"/a%20b.txt'" in run("get", "--curl", "-T", str(file), origin + "/").stdout
    assert echoed(run("get", "-T", "-", origin + "/echo", stdin=b"piped"))["body"] == "piped"


def test_options_name_fields(run, origin):
    echo = echoed(run("get", "-A", "wolf/1", "-e", "https://a.example/", "-r", "0-3", origin + "/echo"))
    fields = echo["fields"]
    assert (fields["user-agent"], fields["referer"], fields["range"]) == ("wolf/1", "https://a.example/", "bytes=0-3")
    assert echoed(run("get", "-A", "a", "-H", "user-agent: b", origin + "/echo"))["fields"]["user-agent"] == "b"


def test_redirects_are_followed_unless_told_otherwise(run, origin):
    assert b"302" in run("get", "-i", "--no-location", origin + "/redirect/1").stdout.split(b"\r\n")[0]
    assert b"200" in run("get", "-i", "-L", origin + "/redirect/1").stdout.split(b"\r\n")[0]
    refused(run("get", "--max-redirs", "1", origin + "/redirect/2"), 12, "redirect")
    told = run("get", "--no-location", "-o", "/dev/null", "-w", "%{redirect_url}", origin + "/redirect/1")
    assert told.stdout.decode() == origin + "/json"


def test_write_out_tells_what_is_known(run, origin, tmp_path):
    format = r"%{http_code} %{size_download} %{content_type} %{num_redirects} %header{server}"
    format += r" %% %{none}|\t%{exitcode}\n"
    done = run("get", "-o", str(tmp_path / "x"), "-w", format, origin + "/json")
    assert done.stdout.decode() == "200 16 application/json 0 outrider-origin % |\t0\n"
    format = "%{time_namelookup} %{time_connect} %{time_total}"
    times = run("get", "-s", "-o", "/dev/null", "-w", format, origin + "/json")
    assert re.fullmatch(r"\d+\.\d{6} \d+\.\d{6} \d+\.\d{6}", times.stdout.decode())
    address = origin.removeprefix("http://").split(":")
    assert run("get", "-I", "-w", "%{remote_ip} %{remote_port}", origin).stdout.decode().split()[-2:] == address
    told = json.loads(run("get", "-o", "/dev/null", "-w", "%{json}", origin + "/json").stdout)
    assert told["http_code"] == 200 and told["size_download"] == 16
    # the head of a redirect counts, too
    redirects = ["get", "-o", "/dev/null", "-w", "%{time_redirect}"]
    assert run(*redirects, origin + "/json").stdout == b"0.000000"
    assert float(run(*redirects, origin + "/redirect/1").stdout) > 0
    words = ["get", "-o", "/dev/null", "-w", "%{size_header}"]
    alone, behind = [int(run(*words, origin + path).stdout) for path in ("/json", "/redirect/1")]
    assert behind > alone + 50
    failed = run("get", "-s", "-w", "%{http_code} %{exitcode}%{onerror} bad", "http://127.0.0.1:1/")
    assert (failed.stdout, failed.returncode) == (b"000 12 bad", 12)
    apart = run("get", "-o", "/dev/null", "-w", "a%{stderr}b", origin + "/json")
    assert (apart.stdout, apart.stderr) == (b"a", b"b")


def test_write_out_names_variables_that_do_not_exist(run, origin, tmp_path):
    format = "%{none} %{http_code} %{none} %output{x} %header{x} %{stderr}%{stdout}%{onerror}"
    done = run("get", "-o", "/dev/null", "-w", format, origin + "/json")
    assert done.stdout == b" 200    "
    told = [line.split(" variable ")[1].split(": ")[0] for line in done.stderr.decode().splitlines()]
    assert told == ["none", "output{x}"]
    assert run("get", "-s", "-o", "/dev/null", "-w", format, origin + "/json").stderr == b""


def test_a_file_of_write_out_has_line_ends_for_reading_only(run, origin, tmp_path):
    """As with curl: the text of many guides ends each line twice."""
    (tmp_path / "format").write_bytes(b"  code: %{http_code}\\n\r\n  size: %{size_download}\\n\n")
    done = run("get", "-o", "/dev/null", "-w", f"@{tmp_path / 'format'}", origin + "/json")
    assert done.stdout == b"  code: 200\n  size: 16\n"


def test_the_times_of_write_out_hold_the_phases_before_them(tmp_path):
    phases = {"queue": 0.5, "dns": 1, "connect": 2, "proxy": 4, "tls": 8, "request": 16, "firstByte": 32}
    attempt = {**phases, "total": 64, "reused": False, "bytesSent": 640, "bytesReceived": 0, "bodyBytes": 0}
    response = {"ok": True, "url": "https://host.test/", "method": "GET", "status": 200, "redirects": [], "attempts": 1}
    results = {
        "stream.open": {"stream": "str_1", "request": "req_1", "response": response},
        "stream.read": {"base64": "", "end": True},
        "request.wait": {**response, "metrics": {"total": 64, "attempts": [attempt]}},
    }

    def act(connection):
        for line in connection.makefile("rb"):
            call = json.loads(line)
            reply = {"jsonrpc": "2.0", "id": call["id"], "result": results[call["method"]]}
            connection.sendall(json.dumps(reply).encode() + b"\n")

    names = ["namelookup", "connect", "appconnect", "pretransfer", "starttransfer", "total"]
    format = " ".join(f"%{{time_{name}}}" for name in names) + " %{speed_upload}"
    place = str(tmp_path / "s")
    with Host(act, socket.AF_UNIX, place):
        os.chmod(place, 0o600)
        done = outrider("get", "--socket", place, "-o", "/dev/null", "-w", format, "https://host.test/")
    assert [float(one) for one in done.stdout.split()] == [1.5, 3.5, 15.5, 15.5, 63.5, 64, 10], done


def test_the_head_goes_to_a_file(run, origin, tmp_path):
    head = tmp_path / "head"
    done = run("get", "-D", str(head), origin + "/json")
    assert done.stdout == b'{"id":1,"x":0.1}'
    assert head.read_bytes().startswith(b"HTTP/1.1 200 \r\n")
    refused(run("get", "-D", str(tmp_path / "none/head"), origin + "/json"), 16, "none/head")


def test_a_file_is_named_like_the_url(run, origin, tmp_path):
    done = run("get", "-O", origin + "/json?x=1", cwd=tmp_path)
    assert (done.stdout, (tmp_path / "json").read_bytes()) == (b"", b'{"id":1,"x":0.1}')
    (tmp_path / "sub").mkdir()
    run("get", "-O", "--output-dir", "sub", origin + "/json", cwd=tmp_path)
    assert (tmp_path / "sub/json").exists()
    refused(run("get", "-O", origin + "/", cwd=tmp_path), 2, "-o FILE")
    refused(run("get", "-OJ", origin + "/json", cwd=tmp_path), 16, "json")
    assert (tmp_path / "json").read_bytes() == b'{"id":1,"x":0.1}'


def test_many_urls_are_asked_in_order(run, origin, tmp_path):
    done = run("get", origin + "/status/{200,404}", origin + "/json", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.endswith(b'{"id":1,"x":0.1}')
    run("get", "-o", "s#1.html", origin + "/status/[200-202]", cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s200.html", "s201.html", "s202.html"]
    words = ["-f", *["-o", "/dev/null"] * 3, "-w", "%{urlnum} %{http_code}\n", "--input-file", "-", origin + "/json"]
    listed = run("get", *words, stdin=f"# two\n{origin}/status/404\n\n{origin}/json\n".encode())
    assert listed.stdout.decode().splitlines()[-3:] == ["0 200", "1 404", "2 200"]
    assert listed.returncode == 14
    refused(run("get", origin + "/[1-99999]"), 2, "10000")


def test_verbose_tells_both_heads_and_no_secret(run, origin):
    done = run("get", "-v", "-u", "wolf:canary-secret", "-H", "X-Api-Key: canary-key", origin + "/json")
    said = done.stderr.decode()
    assert "> GET /json HTTP/1.1\n> Host: 127.0.0.1" in said and said.index("* Connected") < said.index("> GET")
    assert "< HTTP/1.1 200" in said and "* Connected" in said
    assert "canary" not in said and "X-Api-Key: " in said
    assert done.stdout == b'{"id":1,"x":0.1}'


def test_items_make_json_queries_and_fields(run, origin):
    echo = echoed(run("post", origin + "/echo", "name=wolf", "legs:=4", "tags:=[1.50]", "page==a b", "X-Trace:t1"))
    assert (echo["method"], echo["target"]) == ("POST", "/echo?page=a%20b")
    assert echo["body"] == '{"name":"wolf","legs":4,"tags":[1.50]}'
    assert (echo["fields"]["content-type"], echo["fields"]["x-trace"]) == ("application/json", "t1")
    for verb in ("put", "patch", "delete"):
        assert echoed(run(verb, origin + "/echo"))["method"] == verb.upper()


def test_items_with_a_file_make_a_form(run, origin, tmp_path):
    file = tmp_path / "wolf.png"
    file.write_text("howl")
    echo = echoed(run("post", origin + "/echo", "title=Wolves", f"photo@{file}"))
    assert 'name="title"\r\n\r\nWolves' in echo["body"] and 'filename="wolf.png"' in echo["body"]


def test_a_url_needs_no_scheme(run, origin):
    authority = origin.removeprefix("http://")
    port = authority.split(":")[1]
    for word in (authority, ":" + port, "localhost:" + port):
        assert run("get", word + "/json").stdout == b'{"id":1,"x":0.1}'
    assert run("get", "--curl", "example.org/x").stdout.rstrip().endswith(b"'https://example.org/x'")


def test_secrets_in_words_are_hidden(run, origin):
    done = run("post", "--curl", origin + "/echo", "token=canary-1", "Authorization:Bearer canary-2")
    assert b"canary" not in done.stdout
    assert os.path.exists("/proc/self/cmdline")


def test_another_attempt_follows_whatever_failed(run, origin):
    words = ["--retry", "1", "--retry-all-errors", "-d", "a=b", "-s", "-w", "%{exitcode}"]
    done = run("get", *words, "http://127.0.0.1:1/")
    assert (done.stdout, done.returncode) == (b"12", 12)


@pytest.mark.parametrize("words", [["-o"], ["-i", "-o"], ["-OJ", "--output-dir"]])
def test_a_file_is_written_anew_after_a_body_that_broke_off(run, tmp_path, words):
    long = b"x" * (3 << 20)
    bodies = [b"p" * 100, long[:-1], b"ok"]

    def act(connection):
        if connection.recv(65536):
            body = bodies.pop(0)
            length = len(body) if body == b"ok" else len(long)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length + body)

    with Host(act) as host:
        place = [str(tmp_path)] if "-OJ" in words else [str(tmp_path / "file")]
        retries = ["--retry", "2", "--retry-all-errors", "--retry-delay", "0.01", "-w", "%{num_retries}"]
        done = run("get", *retries, *words, *place, f"http://127.0.0.1:{host.port}/file")
    assert (done.returncode, done.stdout) == (0, b"2"), done.stderr
    written = (tmp_path / "file").read_bytes()
    assert written.endswith(b"ok") and written.startswith(b"HTTP/1.1 200" if "-i" in words else b"ok")


def test_what_a_pipe_has_got_is_not_sent_twice(run, tmp_path):
    seen = []

    def act(connection):
        seen.append(connection.recv(65536))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart")

    with Host(act) as host:
        url = f"http://127.0.0.1:{host.port}/"
        done = run("get", "--retry", "2", "--retry-all-errors", "--retry-delay", "0.01", url)
        assert (done.returncode, done.stdout, len(seen)) == (12, b"part", 1), done.stderr
        # without --retry-all-errors, and when no retry is left
        for words in (["--retry", "2"], ["--retry", "0", "--retry-all-errors"]):
            assert run("get", *words, "-o", str(tmp_path / "file"), url).returncode == 12
        assert len(seen) == 3 and (tmp_path / "file").read_bytes() == b"part"


def test_times_and_retries_of_curl_keep_their_meaning(origin):
    line = f"curl --retry 2 --retry-delay 3 --retry-max-time 60 --max-filesize 2k -m 0 --connect-timeout 0 {origin}/"
    params = json.loads(outrider("import", line).stdout)
    policy = params["retry"]
    assert (policy["limit"], policy["scale"], policy["maxDelay"], policy["deadline"]) == (2, 3, 3, 60)
    assert (params["maxBody"], params["timeout"]) == (2048, 86400)
    params = json.loads(outrider("import", f"curl --retry 2 --retry-delay 0 --max-filesize 0 {origin}/").stdout)
    assert "scale" not in params["retry"] and "maxBody" not in params and "timeout" not in params


def test_a_request_without_a_limit_of_time_is_made(run, origin):
    assert run("get", "-m", "0", "--connect-timeout", "0", origin + "/json").stdout == b'{"id":1,"x":0.1}'


def test_a_body_that_is_too_long_is_a_failure(run, origin, tmp_path):
    file = tmp_path / "body"
    said = refused(run("get", "--max-filesize", "10", "-o", str(file), origin + "/bytes/11"), 12, "10 bytes")
    assert "maxBody" not in said
    assert not file.exists()
    assert len(run("get", "--max-filesize", "10", origin + "/bytes/10").stdout) == 10


def test_a_server_without_the_demanded_version_is_told_with_the_option(run, origin):
    said = refused(run("get", "--http2-prior-knowledge", origin + "/json"), 12, "--http2-prior-knowledge")
    assert "httpVersion" not in said


def test_the_waits_between_attempts_are_no_part_of_their_time(run):
    responses = [b"HTTP/1.1 503 Later\r\nRetry-After: 14\r\nContent-Length: 0\r\n\r\n",
                 b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]  # fmt: skip

    def act(connection):
        while responses and connection.recv(65536):
            connection.sendall(responses.pop(0))

    with Host(act) as host:
        done = run("get", "-m", "3", "--retry", "1", f"http://127.0.0.1:{host.port}/")
        assert (done.returncode, done.stdout) == (0, b"ok"), done.stderr


def test_next_begins_a_request_with_options_of_its_own(run, origin, tmp_path):
    one = tmp_path / "one"
    words = ["-d", "a=b", "-o", str(one), origin + "/echo", "--next", "-A", "wolf", "-d", "--next", origin + "/echo"]
    second = echoed(run("get", *words))
    first = json.loads(one.read_text())
    assert (first["method"], first["body"]) == ("POST", "a=b") and "wolf" not in one.read_text()
    assert (second["method"], second["fields"]["user-agent"], second["body"]) == ("POST", "wolf", "--next")
    # options such as -s hold for all requests, and a failure stops none of them
    words = ["-f", origin + "/status/404", "-:", "-s", "http://127.0.0.1:1/", "--next", origin + "/json"]
    done = run("get", *words, "-o", "/dev/null", "-w", "%{http_code}")
    assert (done.returncode, done.stdout, done.stderr) == (12, b"200", b"")
    early = run("get", "-sf", origin + "/status/404", "--next", "--fail-early", origin + "/json")
    assert (early.returncode, early.stdout) == (14, b"")
    for words in ([origin + "/json", "--next", "--nonsense", origin], ["--next", origin], [origin + "/json", "--next"]):
        wrong = run("get", *words)
        refused(wrong, 2)
        assert wrong.stdout == b""


def test_next_stands_in_files_and_pasted_lines(run, origin, tmp_path):
    file = tmp_path / "options"
    file.write_text(f'url = "{origin}/json"\nhead\nnext\nurl = "{origin}/echo"\ndata = "a=b"\n')
    done = run("get", "-K", str(file))
    assert done.stdout.startswith(b"HTTP/1.1 200") and b'"POST"' in done.stdout
    line = f"curl -L -d a=b {origin}/echo --next -G -d c=d {origin}/json"
    first, second = [json.loads(one) for one in outrider("import", line).stdout.splitlines()]
    assert (first["method"], first["url"], "redirect" in first) == ("POST", origin + "/echo", False)
    assert (second["method"], second["url"], second["redirect"]) == ("GET", origin + "/json?c=d", "none")
    sent = outrider("import", "--run", line).stdout
    assert b"a=b" in sent and sent.count(b"{") >= 2


def test_items_without_a_url_are_told(run, origin):
    refused(run("post", "name=wolf", "legs:=4"), 2, "name=wolf is an item", "URL")
    refused(run("post", origin + "/echo", '{"name":"wolf"}'), 2, "--json")
    assert run("get", origin.removeprefix("http://") + "?a=b").returncode == 0


def test_failures_leave_no_stream_behind(run, origin):
    """A connection may have 256 streams."""
    assert run("get", "--fail", f"{origin}/status/404?n=[1-300]").returncode == 14


def test_the_end_of_a_failure_is_not_awaited(run):
    def act(connection):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 100000\r\n\r\n")
        connection.recv(1)

    with Host(act) as host:
        began = time.monotonic()
        done = run("get", "--fail", "-w", "%{http_code}\n", f"http://127.0.0.1:{host.port}/")
        assert (done.returncode, done.stdout) == (14, b"404\n"), done
        assert time.monotonic() - began < 8
