# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What a line of curl does to several files, hosts and methods, and how a request to AWS is signed."""

import datetime
import hashlib
import hmac
import json
import re
import shutil
import subprocess
import time

import contract
import pytest
from capture_server import Capture
from shell import outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n"


@pytest.fixture
def run(service):
    return lambda *words, **more: outrider(words[0], "--socket", service, *words[1:], **more)


@pytest.mark.parametrize("words, status", [
    (["download", "-o", "file"], 0), (["sse", "--no-reconnect"], 0),
    # the server of the redirect refuses the handshake
    (["websocket"], 18),
])  # fmt: skip
def test_redirects_of_other_commands_are_led_elsewhere_too(run, home, tmp_path, words, status):
    with Capture(response=EVENTS) as capture:
        start = home.url(f"/to/302?http://other.test:{capture.port}/x").replace("127.0.0.1", "first.test")
        start = start.replace("http:", "ws:", 1) if words == ["websocket"] else start
        done = run(*words, "--connect-to", "::127.0.0.1:", start, cwd=tmp_path)
        assert done.returncode == status, done
        assert capture.take().first("host") == f"other.test:{capture.port}".encode()


def test_a_file_is_put_once(run, origin, tmp_path):
    (tmp_path / "a").write_bytes(b"first")
    (tmp_path / "b").write_bytes(b"second")
    with Capture() as capture:
        one, two = capture.url("/up/"), capture.url("/other/")
        refused(run("get", "-T", "a", "-T", "b", one, two, cwd=tmp_path), 2, "--upload-file", "--next")
        refused(run("get", "-T", "a", one, two, cwd=tmp_path), 2, "--upload-file", "--next")
        refused(outrider("import", "--run", f"curl -T a {one} {two}", cwd=tmp_path), 2, "--upload-file", "--next")
        done = run("get", "-T", "a", one, "--next", "-T", "b", two, cwd=tmp_path)
        assert done.returncode == 0, done
        assert [(sent.line.rstrip(), sent.body) for sent in (capture.take(), capture.take())] == [
            (b"PUT /up/a HTTP/1.1", b"first"), (b"PUT /other/b HTTP/1.1", b"second")]
        run("get", "-T", "a", capture.url("/{x,y}/"), cwd=tmp_path)
        assert [capture.take().line.rstrip() for _ in "xy"] == [b"PUT /x/a HTTP/1.1", b"PUT /y/a HTTP/1.1"]


FORMS = [
    ["-F", 'a=b;headers="X-One: 1"'],
    ["-F", "a=b;headers=@fields;type=text/plain"],
    ["-F", "a=@a;headers=X-One: 1;filename=c.txt"],
]


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
@pytest.mark.parametrize("words", FORMS)
def test_a_part_of_a_form_has_fields_as_by_curl(run, tmp_path, words):
    (tmp_path / "a").write_bytes(b"first")
    (tmp_path / "fields").write_text("# more\nX-One: 1\nX-Two: 2\n")
    with Capture() as capture:
        sent = []
        for command in (["curl", "-q", "-s"], ["get"]):
            line = [*command, *words, capture.url("/form")]
            done = (
                run(*line, cwd=tmp_path) if command == ["get"]
                else subprocess.run(line, cwd=tmp_path, capture_output=True, timeout=30, check=False))
            assert done.returncode == 0, done
            # their order is free
            fields = capture.take().body.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]
            sent.append(sorted(field.replace(b'"', b"") for field in fields))
        assert sent[0] == sent[1] and any(b"X-One: 1" in field for field in sent[0])


def test_a_part_of_a_form_has_one_file(run, home, tmp_path):
    (tmp_path / "a").write_bytes(b"first")
    words = ["-F", "x=@a;type=text/x,a;type=text/y", home.url("/echo")]
    refused(run("get", *words, cwd=tmp_path), 2, "a part has a single file")
    for name in ("encoder", "ENCODER"):
        words = ["-F", f"x=@a;type=text/plain;{name}=base64", home.url("/echo")]
        refused(run("get", *words, cwd=tmp_path), 2, f"a part has no {name}")
    assert home.seen == []


def test_the_ending_of_a_file_tells_the_type_that_its_other_name_has_not(run, tmp_path):
    (tmp_path / "wolf.png").write_bytes(b"howl")
    with Capture() as capture:
        for name, told in (("wolf", b"image/png"), ("wolf.pdf", b"application/pdf")):
            words = ["-F", f"a=@wolf.png ;filename={name}", "-F", "b= c ;type=text/x", "-F", 'd="e;" ;type=text/y']
            words += ["-F", 'f= "y;" ;type=text/z ', "-F", "g= z ", capture.url("/form")]
            assert run("get", *words, cwd=tmp_path).returncode == 0
            body = capture.take().body
            assert b"Content-Type: " + told + b"\r\n\r\nhowl\r\n" in body
            assert b"Content-Type: text/x\r\n\r\nc\r\n" in body
            assert b"Content-Type: text/y\r\n\r\ne;\r\n" in body
            assert b"Content-Type: text/z\r\n\r\ny;\r\n" in body
            assert b'name="g"\r\n\r\nz\r\n' in body


def test_the_name_of_a_file_may_begin_with_a_combining_mark(run, tmp_path):
    (tmp_path / "\u0301x").write_bytes(b"howl")
    with Capture() as capture:
        assert run("get", "-d", "@\u0301x", capture.url(), cwd=tmp_path).returncode == 0
        assert capture.take().body == b"howl"


@pytest.mark.parametrize("words", [["-i"], ["-I"], ["-i", "-o", "file"]])
def test_the_head_of_a_failure_by_status_is_written_as_by_curl(run, home, tmp_path, words):
    (tmp_path / "file").write_bytes(b"old")
    done = run("get", "-f", *words, home.url("/fails/9/404"), cwd=tmp_path)
    assert done.returncode == 14 and b"404" in done.stderr
    written = (tmp_path / "file").read_bytes() if "file" in words else done.stdout
    assert written.startswith(b"HTTP/1.1 404 \r\n") and written.endswith(b"\r\n\r\n")
    assert done.stdout == b"" or "file" not in words


def test_a_name_without_a_choice_is_the_file_of_one_url(run, home, tmp_path):
    done = run("get", "-o", "C#1.json", home.url("/echo?a"), home.url("/echo?b"), cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["path"]) == (0, "/echo?b")
    assert json.loads((tmp_path / "C#1.json").read_text())["path"] == "/echo?a"
    done = run("get", "-o", "#1", home.url("/echo?{a,b}"), home.url("/echo?{c,d}"), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    assert [json.loads((tmp_path / name).read_text())["path"][-1] for name in "abcd"] == list("abcd")


def test_a_flag_with_an_empty_value_stays_a_flag(run, home, tmp_path):
    (tmp_path / "options").write_text('compressed = ""\n')
    for words in (["--silent="], ["--compressed="], ["-K", "options"], ["--user-agent="]):
        done = run("get", *words, home.url("/echo"), cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, b""), (words, done)
    with Capture(response=EVENTS) as capture:
        done = run("sse", "--no-reconnect=", capture.url())
        assert (done.returncode, done.stderr) == (0, b""), done


def test_folders_are_made_for_heads_too(run, home, tmp_path):
    for words in (["-o", "new/body", "-D", "new/heads"], ["-D", "a/b/heads"]):
        done = run("get", "--create-dirs", *words, home.url("/echo"), cwd=tmp_path)
        assert done.returncode == 0, done
        assert (tmp_path / words[-1]).read_bytes().startswith(b"HTTP/1.1 200")
    assert json.loads((tmp_path / "new/body").read_text())["path"] == "/echo"


def test_places_are_checked_before_anything_is_sent(run, home, tmp_path):
    refused(run("post", "-D", "none/head", home.url("/echo"), cwd=tmp_path), 16, "none/head")
    for option in ("--output-dir", "--dump-header"):
        (tmp_path / "options").write_text(f'{option[2:]} = ""\n')
        for words in ([option, ""], [f"{option}="], ["-K", "options"]):
            refused(run("get", *words, "-O", home.url("/echo"), cwd=tmp_path), 2, f"{option} is empty")
    assert home.seen == []
    # the heads of all URLs follow each other, also in a file that was there
    (tmp_path / "head").write_bytes(b"old" * 999)
    assert run("get", "-D", "head", home.url("/echo?{a,b}"), cwd=tmp_path).returncode == 0
    assert re.findall(rb"^HTTP.* \d+|old", (tmp_path / "head").read_bytes(), re.M) == [b"HTTP/1.1 200"] * 2


@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/stderr"])
@pytest.mark.parametrize("mode", ["ab", "wb"])
def test_heads_in_the_file_of_standard_output_or_error_write_over_nothing(home, tmp_path, place, mode):
    """As `>>log` and `{ …; } >log` of a shell."""
    line = [contract.binary(), "get", "--stdio", "-D", place, home.url("/echo?a"), home.url("/echo?b")]
    with open(tmp_path / "log", mode) as log:
        log.write(b"old\n")
        log.flush()
        assert subprocess.run(line, stdout=log, stderr=log, timeout=60, check=False).returncode == 0
    assert re.findall(rb"^old|HTTP/\S+ \d+|/echo\?\w", (tmp_path / "log").read_bytes(), re.M) == [
        b"old", b"HTTP/1.1 200", b"/echo?a", b"HTTP/1.1 200", b"/echo?b"]


def test_a_file_that_the_server_names_gets_no_head_of_a_failure(run, home, tmp_path):
    for words in (["-i"], ["-I"]):
        done = run("get", "-f", "-O", "-J", *words, "-D", "head", home.url("/fails/9/404"), cwd=tmp_path)
        assert (done.returncode, done.stdout) == (14, b"") and b"404" in done.stderr
        assert [file.name for file in tmp_path.iterdir()] == ["head"]


def test_a_pasted_line_reads_its_files_of_options(home, tmp_path):
    (tmp_path / "options").write_text(f'request = PUT\nheader = "X-One: 1"\nurl = "{home.url("/echo")}"\n')
    told = json.loads(outrider("import", "curl -K options", cwd=tmp_path).stdout)
    assert (told["method"], told["url"], told["redirect"]) == ("PUT", home.url("/echo"), "none")
    assert told["headers"] == [{"name": "X-One", "value": "1"}]
    refused(outrider("import", "curl -K none", cwd=tmp_path), 2, "cannot read none")


@pytest.mark.parametrize("words", ["-d @- {}", "-K -", "{} -sK-", "--config=- {}"])
def test_standard_input_is_no_line_and_body_at_once(home, words):
    line = f"curl {words.format(home.url('/echo'))}".encode()
    refused(outrider("import", "--run", "-", stdin=line), 2, "standard input has the command line")
    assert home.seen == []


def test_a_method_that_a_redirect_changed_is_told(run, home):
    url = home.url(f"/to/302?{home.url('/echo')}")
    for done in (run("get", "-X", "POST", url), outrider("import", "--run", f"curl -L -X POST {url}")):
        assert json.loads(done.stdout)["method"] == "GET"
        assert b"made the POST a GET" in done.stderr and b"/echo, in place" in done.stderr
    for words in (["get", "-sX", "POST", url], ["get", "-d", "a=b", url], ["post", url], ["get", "-XPUT", url]):
        done = run(*words)
        assert (done.returncode, done.stderr) == (0, b""), done


def test_a_query_that_a_redirect_names_is_not_told(run, home):
    secret = "?X-Amz-Signature=s3cret"
    url = home.url(f"/to/302?{home.url('/echo')}{secret}")
    assert b"/echo?\xe2\x80\xa6, in place" in run("get", "-X", "POST", url).stderr
    assert home.seen[-1]["path"] == f"/echo{secret}"
    # that of the user is
    failing = home.url("/fails/9/404")
    refused(run("get", "-f", f"{failing}?a=b"), 14, "/404?a=b responded with")
    assert "s3cret" not in refused(run("get", "-f", home.url(f"/to/302?{failing}{secret}")), 14, "/404?… responded")


KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI+bPx:RfiCY"
ADA = ["-u", f"{KEY}:{SECRET}"]


def signature(sent, names, scope, digest):
    """As the server computes it: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html"""
    method, target, _ = sent.line.decode().split(" ")
    path, _, query = target.partition("?")
    lines = [f"{name}:{sent.first(name).decode()}\n" for name in names]
    request = "\n".join([method, path, query, "".join(lines), ";".join(names), digest])
    stamp = sent.first("x-amz-date").decode()
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for word in [*scope.split("/"), text]:
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    return key.hex()


@pytest.mark.parametrize("words, target, body, names", [
    ([], "/list?a=1&b=2", b"", ""),
    (["-d", "a=b"], "/", b"a=b", ""),
    (["-d", "@a", "-H", "Content-Type: application/x-amz-json-1.0"], "/", b"first\n", "content-type"),
    (["-T", "a"], "/bucket/a", b"first\n", ""),
    (["-T", "-"], "/bucket/a", b"from stdin", ""),
    (["-H", "X-Amz-Security-Token: abc", "-I"], "/", b"", "x-amz-security-token"),
    (["-F", "a=b"], "/", None, ""),
    # items: the method and the type are of the body
    (["a=b", "c:=1.50"], "/", b'{"a":"b","c":1.50}', ""),
    (["a=b", "Content-Type:application/x-amz-json-1.0"], "/", b'{"a":"b"}', "content-type"),
    (["-H", "X-Amz-Date: 20150830T123600Z"], "/", b"", ""),
])  # fmt: skip
def test_a_request_to_aws_is_signed(run, tmp_path, words, target, body, names):
    (tmp_path / "a").write_bytes(b"first\n")
    with Capture() as capture:
        line = ["get", "--aws-sigv4", "aws:amz:eu-west-1:s3", *ADA, capture.url(target), *words]
        done = run(*line, cwd=tmp_path, stdin=b"from stdin")
        assert done.returncode == 0, done
        sent = capture.take()
    assert body is None or sent.body == body
    digest = "UNSIGNED-PAYLOAD" if body is None else hashlib.sha256(body).hexdigest()
    assert sent.first("x-amz-content-sha256").decode() == digest
    day = sent.first("x-amz-date").decode()[:8]
    now = datetime.datetime.now(datetime.timezone.utc)
    days = {f"{now - datetime.timedelta(days=passed):%Y%m%d}" for passed in (0, 1)}
    assert day in ({"20150830"} if "X-Amz-Date" in " ".join(words) else days)
    scope = f"{day}/eu-west-1/s3/aws4_request"
    signed = sorted(["host", "x-amz-content-sha256", "x-amz-date", *names.split()])
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=(.*), SignedHeaders=(.*), Signature=(.*)",
        sent.first("authorization").decode())
    assert found and found.groups() == (
        f"{KEY}/{scope}", ";".join(signed), signature(sent, signed, scope, digest))


def test_a_key_for_aws_comes_from_a_file(run, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login {KEY} password {SECRET}\n")
    netrc.chmod(0o600)
    with Capture() as capture:
        words = ["--aws-sigv4", "aws:amz:us-east-1:execute-api", "--netrc-file", str(netrc), capture.url("/x")]
        assert run("get", *words).returncode == 0
        sent = capture.take()
        assert f"{KEY}/".encode() in sent.first("authorization") and sent.first("x-amz-content-sha256") is None
        assert run("download", *words, "-o", str(tmp_path / "file")).returncode == 0
        assert b"AWS4-HMAC-SHA256" in capture.take().first("authorization")


def test_what_cannot_be_signed_is_refused(run, home):
    url = home.url("/echo")
    scope = ["--aws-sigv4", "aws:amz:us-east-1:execute-api"]
    refused(run("get", *scope, url), 2, "--aws-sigv4 goes with -u KEY:SECRET")
    refused(run("get", *scope, "-u", KEY, url), 2, "--aws-sigv4 goes with -u KEY:SECRET")
    refused(run("get", "--aws-sigv4", "goog:amz", *ADA, url), 2, "aws:amz:REGION:SERVICE")
    refused(run("get", "--aws-sigv4", "aws:amz", *ADA, url), 2, "127.0.0.1", "aws:amz:REGION:SERVICE")
    refused(run("get", *scope, *ADA, "-F", "a=b", url), 2, "-F")
    for field in ("Authorization: x", "authorization;"):
        refused(run("get", *scope, *ADA, "-H", field, url), 2, "--aws-sigv4 and a field Authorization")
    for field in ("X-Amz-Date: x", "x-amz-date;", "X-Amz-Date: 2015083×T123600Z", "X-Amz-Date: 20150830T123600Z0"):
        refused(run("get", *scope, *ADA, "-H", field, url), 2, "X-Amz-Date must be such as")
    refused(run("get", *scope, *ADA, "--basic", url), 2, "--basic")
    assert home.seen == []
    shown = json.loads(outrider("import", f"curl --aws-sigv4 aws:amz -u {':'.join((KEY, SECRET))} "
                                "https://sqs.eu-west-1.amazonaws.com/").stdout)
    assert "/eu-west-1/sqs/aws4_request" in shown["headers"][-1]["value"] and "auth" not in shown


def test_a_failure_by_status_is_retried_like_every_other(run, home):
    words = ["--retry", "1", "--retry-delay", "0.01", home.url("/fails/1/404")]
    assert run("get", "-f", *words).returncode == 14
    for option in ("-f", "--fail-with-body"):
        home.forget()
        done = run("get", option, "--retry-all-errors", "--retry", "1", "--retry-delay", "0.01", words[-1])
        assert (done.returncode, len(home.seen)) == (0, 2), done
    home.forget()
    # without -f the status is no failure
    assert run("get", "--retry-all-errors", *words).returncode == 0 and len(home.seen) == 1


def test_requests_begin_no_faster_than_allowed(run, home):
    began = time.monotonic()
    done = run("get", "-s", "--rate", "2/s", home.url("/echo?{a,b}"), "--next", home.url("/echo?c"))
    assert done.returncode == 0 and time.monotonic() - began >= 1
    assert [seen["path"] for seen in home.seen] == ["/echo?a", "/echo?b", "/echo?c"]
    assert run("get", "--rate", "5/d", home.url("/echo")).returncode == 0
    for word in ("fast", "0/s", "2/x", "-1/s", "1/s/s"):
        refused(run("get", f"--rate={word}", home.url("/echo")), 2, "--rate", "30/m")
    refused(run("get", "-Z", "--rate", "2/s", home.url("/echo")), 2, "--parallel")


def test_the_standard_output_of_wget_is_no_url(run, home, tmp_path):
    refused(run("get", "-O", "-", home.url("/echo"), cwd=tmp_path), 2, "-O takes no name")
    assert home.seen == [] and list(tmp_path.iterdir()) == []
