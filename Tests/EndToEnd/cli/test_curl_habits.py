# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Options of curl that scripts have by habit, and command lines of documents: the request is the one of curl itself."""

import gzip
import json
import os
import re
import shutil
import subprocess
import time

import contract
import pytest
from capture_server import Capture
from range_server import Ranging
from shell import echoed, outrider, refused
from tcp_server import Host

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
# fields that each program writes in its own way
OWN = {b"user-agent", b"accept", b"accept-encoding", b"accept-language", b"connection", b"expect"}



def curl_version():
    """The version of curl here as two numbers; none without curl."""
    if shutil.which("curl") is None:
        return (0, 0)
    words = subprocess.run(["curl", "--version"], capture_output=True, text=True, timeout=30).stdout.split()
    return tuple(int(number) for number in words[1].split(".")[:2])


@pytest.fixture
def run(service):
    return lambda *words, **more: outrider(words[0], "--socket", service, *words[1:], **more)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "lines.txt").write_bytes(b"one\r\ntwo\n")
    (tmp_path / "wolf.png").write_bytes(b"\x89PNG\0\xff")
    return tmp_path


def essence(sent):
    fields = sorted((name.lower(), value) for name, value in sent.fields if name.lower() not in OWN)
    # some versions of curl write %2f in a query
    line = re.sub(rb"%[0-9a-f]{2}", lambda found: found[0].upper(), sent.line)
    return line, fields, sent.body


@pytest.mark.parametrize(("words", "first", "second"), [
    ("--resolve first.test:{0}:127.0.0.1 --resolve other.test:{0}:127.0.0.1", "first.test:{0}", "other.test:{0}"),
    ("--resolve first.test.:{0}:127.0.0.1 --resolve other.test.:{0}:127.0.0.1", "first.test.:{0}", "other.test.:{0}"),
    ("--connect-to ::127.0.0.1:", "first.test:{0}", "other.test:{0}"),
    ("--connect-to first.test::127.0.0.1: --connect-to other.test:1:127.0.0.1:{0}", "first.test:{0}", "other.test:1"),
    ("--connect-to first.test::127.0.0.1:{0}", "first.test:1", "first.test:2"),
    ("--resolve other.test:{0}:127.0.0.1", "127.0.0.1:{0}", "other.test:{0}"),
    # the first rule counts, and not the most specific one
    ("--connect-to ::127.0.0.1:{0} --connect-to other.test::127.0.0.1:1", "first.test:1", "other.test:1"),
    ("--connect-to other.test::127.0.0.1:{0} --connect-to other.test.:3:127.0.0.1:1 --connect-to :2:127.0.0.1:{0} "
     "--connect-to :3:127.0.0.1:1", "first.test:2", "other.test:3"),
    ("--connect-to 127.0.0.1::: --connect-to ::127.0.0.1:1", "127.0.0.1:{0}", "127.0.0.1:{0}"),
])
def test_a_redirect_is_led_elsewhere_as_its_request(run, home, words, first, second):
    port = home.url("/").rpartition(":")[2].rstrip("/")
    url = f"http://{first}/to/302?http://{second}/echo".format(port)
    done = run("get", *words.format(port).split(), url)
    assert done.returncode == 0 and json.loads(done.stdout)["path"] == "/echo", done


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
@pytest.mark.parametrize("line", [
    "curl -d @lines.txt $U/echo",
    "curl --data-ascii @lines.txt -d a=b $U/echo",
    "curl --data-binary @lines.txt $U/echo",
    "curl --data-urlencode x=y/z -d a=b --data-raw @no --data-urlencode name@wolf.png $U/echo",
    "curl --data-raw=@no -d @- $U/echo",
    "curl -G -d limit=3 --data-urlencode q=a/b -d z=1 '$U/search?x=1'",
    pytest.param("curl --url-query a/b=c --url-query +d=e/f '$U/search?x=1'", marks=pytest.mark.skipif(
        curl_version() < (7, 87), reason="curl has --url-query since 7.87")),
    "curl -d=foo -sd=bar=1 $U/echo",
    "curl -sSfN -q --no-progress-meter --retry-connrefused --tcp-nodelay --anyauth --url $U/echo",
    "curl http://admin:p%40ss%3Aword@$H/baseball",
    "curl http://user@$H/x",
    "curl u:p%40ss@$H/x?next=a@b",
    "curl user@$H",
    "curl -u other:pw http://admin:pw@$H/x",
    "curl --oauth2-bearer TOKEN $U/me",
    "curl --proto =http,https -L --json '{\"a\":1}' --json , -X PATCH $U/x",
    "curl --unix-socket the.sock -d '{\"Image\":\"alpine\"}' -H Content-Type:application/json http://localhost/v1/create",
    "curl --unix-socket the.sock 'docker/v1.47/logs?stdout=1'",
    "curl --unix-socket ./the.sock http://localhost",
    "curl -T wolf.png $U/up/",
    "curl -z 'Sun, 06 Nov 1994 08:49:37 GMT' $U/x",
    "curl -z -20240102 $U/x",
    "curl -z '6 Nov 2020' $U/x",
    "curl -z wolf.png -o page $U/x",
])  # fmt: skip
def test_a_command_of_a_document_is_sent_as_by_curl(files, line):
    with Capture() as capture, Capture(str(files / "the.sock")) as behind:
        url = capture.url("")
        line = line.replace("$U", url).replace("$H", url.removeprefix("http://"))
        server = behind if "the.sock" in line else capture
        done = subprocess.run(
            ["bash", "-c", line.replace("--data-raw=", "--data-raw ").replace("curl", "curl -q -s", 1)],
            cwd=files, input=b"from stdin", capture_output=True, timeout=30, env={"PATH": os.environ["PATH"]})
        assert done.returncode == 0, done
        expected = essence(server.take())
        done = outrider("import", "--run", line, cwd=files, stdin=b"from stdin")
        assert done.returncode == 0, done
        assert essence(server.take()) == expected


def test_get_takes_the_words_of_a_script(run, origin, tmp_path):
    words = ["-fsSLN", "-#", "--no-progress-meter", "--retry", "2", "--retry-connrefused", "--proto", "=http", "--url"]
    assert echoed(run("get", *words, f"{origin}/echo"))["method"] == "GET"
    sent = echoed(run("get", "--data-raw", "@no", "-d", "a=b", "--data-urlencode", "c= ", f"--url={origin}/echo"))
    assert sent["body"] == "@no&a=b&c=%20"
    refused(run("get", "--proto", "=https", origin + "/echo"), 2, "--proto =https does not allow http://")
    refused(outrider("import", "curl --proto '=https' http://a.example/"), 2, "--proto =https does not allow http://")
    refused(run("get", "--proto", "all,-http", origin + "/echo"), 2, "does not allow http://")
    run("get", "--remote-name-all", "--create-dirs", "--output-dir", "a/b", origin + "/json", cwd=tmp_path)
    assert (tmp_path / "a/b/json").read_bytes() == b'{"id":1,"x":0.1}'
    (tmp_path / "file").touch()
    refused(run("get", "--create-dirs", "-o", "file/x", origin + "/json", cwd=tmp_path), 16, "file")


def test_a_url_in_the_query_of_a_url_without_a_scheme_is_no_scheme(run, origin):
    word = origin.removeprefix("http://") + "/echo?next=https://me@b.example/"
    for words in ([word], [":" + word.split(":", 1)[1]]):
        assert echoed(run("get", *words))["target"] == "/echo?next=https://me@b.example/"
    assert json.loads(outrider("import", f"curl {word}").stdout) == {
        "method": "GET", "redirect": "none", "url": "http://" + word}


def test_a_token_is_sent_and_hidden(run, origin):
    assert echoed(run("get", "--oauth2-bearer", "abc", origin + "/echo"))["fields"]["authorization"] == "Bearer abc"
    refused(run("get", "--oauth2-bearer", "abc", "-u", "a:b", origin + "/echo"), 2, "--oauth2-bearer, --oauth, --user")
    assert "abc" not in run("get", "--curl", "--oauth2-bearer", "abc", origin + "/echo").stdout.decode()


def test_a_file_has_the_time_of_the_server(run, tmp_path):
    with Ranging(size=3000) as server:
        place = tmp_path / "deep/file"
        done = run("get", "-R", "--create-dirs", "-o", str(place), server.url("/fine"))
        assert done.returncode == 0 and place.read_bytes() == server.data
        assert place.stat().st_mtime == 1761991200
        # without the field the time is that of the writing
        run("get", "-R", "-o", str(place), server.url("/bare"))
        assert place.stat().st_mtime > 1761991200


@pytest.mark.parametrize("size", [3000, 3_000_000])
def test_a_file_whose_body_breaks_off_is_removed(run, tmp_path, size):
    with Ranging(size) as server:
        place, tag = tmp_path / "file", tmp_path / "tag"
        for words, is_there in ((["--remove-on-error"], False), ([], True)):
            server.cut = size - 1000
            done = run("get", *words, "--etag-save", str(tag), "-o", str(place), server.url("/fine"))
            assert done.returncode == 12 and place.exists() == is_there
            # the tag of a body that is not there would hide the body from the next request
            assert not tag.exists()


def test_a_tag_asks_for_changes_alone(run, tmp_path):
    with Ranging(size=10) as server:
        tag = str(tmp_path / "tag")
        words = ["get", "--etag-compare", tag, "--etag-save", tag, server.url("/fine")]
        assert run(*words).stdout == server.data
        assert (tmp_path / "tag").read_text() == '"first"\n'
        run(*words)
        asked = [request["fields"].get("if-none-match") for request in server.requests]
        assert asked == [None, '"first"']
        refused(run(*words, server.url("/fine")), 2, "single URL")


def test_a_body_that_came_whole_outlives_its_tag(run, tmp_path):
    with Ranging(size=3000) as server:
        place = tmp_path / "file"
        words = ["get", "--remove-on-error", "-o", str(place), server.url("/fine")]
        place.write_text("older")
        refused(run(*words, "--etag-save", str(tmp_path / "none/tag")), 16, "none/tag")
        # a tag that can have no place is told before anything is sent
        assert place.read_text() == "older" and server.requests == []
        refused(run(*words, "--etag-save", "/dev/full"), 16, "/dev/full")
        assert place.read_bytes() == server.data


class Fading(Ranging):
    """Has what it serves once."""

    def response(self, manner, fields):
        return super().response(manner, fields) if len(self.requests) == 1 else (404, [], b"gone")


def test_the_part_of_an_earlier_attempt_is_removed(run, tmp_path):
    with Fading(size=2000) as server:
        server.cut = 900
        place = tmp_path / "file"
        words = ["--retry", "1", "--retry-all-errors", "--retry-delay", "0", "--remove-on-error", "-o", str(place)]
        assert run("get", "-f", *words, server.url("/fine")).returncode == 14
        assert len(server.requests) == 2 and not place.exists()


@pytest.mark.parametrize("words", [["-z", "fine", "-O"], ["-z", "page", "-o", "page"]])
def test_a_file_that_is_still_to_be_made_is_no_condition(run, tmp_path, words):
    with Ranging(size=10) as server:
        for _ in range(2):
            done = run("get", "-s", "-R", *words, server.url("/fine"), cwd=tmp_path)
            assert done.returncode == 0 and (tmp_path / words[1]).read_bytes() == server.data
        asked = [request["fields"].get("if-modified-since") for request in server.requests]
        assert asked == [None, server.date]


def test_a_condition_that_is_no_date_names_the_option(run, origin, tmp_path):
    for word in ("tomorrow", "2024-13-45", "31 Nov 2020", ""):
        refused(run("get", "-z", word, "-o", "page", origin + "/json", cwd=tmp_path), 2, "--time-cond", "no date")


def test_a_shown_command_touches_no_file(run, tmp_path):
    (tmp_path / "page").write_text("older")
    for name in ("new/page", "page"):
        words = ["--etag-save", "new/tag", "--create-dirs", "-o", name, "http://h.example/x"]
        assert run("get", "--curl", *words, cwd=tmp_path).stdout.endswith(b"'http://h.example/x'\n")
    assert os.listdir(tmp_path) == ["page"] and (tmp_path / "page").read_text() == "older"


def test_a_url_becomes_no_option(run, origin, tmp_path):
    for words in (["--url", "-oevil"], ["--url=-oevil"], ["--url"]):
        line = " ".join(["curl", origin + "/json", *words])
        refused(outrider("import", "--run", line, cwd=tmp_path), 2, "--url: write the URL behind it")
        refused(run("get", origin + "/json", *words, cwd=tmp_path), 2, "--url: write the URL behind it")
    assert os.listdir(tmp_path) == []


def test_a_failure_ends_the_command_early(run, origin):
    words = ["-s", "-f", "-w", "%{http_code} ", origin + "/status/404", origin + "/json"]
    assert run("get", *words).stdout.count(b" ") == 2
    done = run("get", "--fail-early", *words)
    assert (done.returncode, done.stdout) == (14, b"404 ")


def test_a_place_that_cannot_be_is_a_fault_of_its_option(run, origin):
    for word in ("a:0:127.0.0.1", "a:99999:127.0.0.1", "a:80:b c", "a b:80:127.0.0.1", "**:80:127.0.0.1", "*.a:80:b"):
        refused(run("get", "--resolve", word, origin + "/json"), 2, "--resolve", word, "HOST:PORT:ADDRESS")
    for word in ("a:80:b:0", "a:65536:b:", "::b c:"):
        refused(run("get", "--connect-to", word, origin + "/json"), 2, "--connect-to", word, "HOST1:PORT1")
    for words in (["--connect-to", ":::"], ["--resolve", "a:80:[::1]"], ["--resolve", "+*:80:::1"]):
        assert run("get", *words, origin + "/json").returncode == 0, words


def test_a_command_that_shows_requests_sends_none_of_them(run, home):
    for words in (["--curl", home.url(), "--next"], [home.url(), "--next", "--curl"]):
        done = run("get", *words, "-X", "PUT", "-d", "boom", home.url())
        assert (done.returncode, done.stdout.count(b"curl ")) == (0, 2), done
    assert home.seen == []


def test_one_request_alone_reads_standard_input(run, home, tmp_path):
    said = "several requests of --next"
    pass_file = ["--cert", "c.p12", "--cert-type", "P12", "--pass-file", "-"]
    for first in (["-d", "@-"], ["-T", "-"], ["-K", "-"], ["-w", "@-"], ["-u", "me"], pass_file):
        done = run("get", *first, home.url(), "--next", "-F", "a=@-", home.url(), stdin=b"silent\n")
        refused(done, 2, said)
    refused(outrider("import", "curl -T - http://a.test --next -d @- http://b.test", stdin=b"x"), 2, said)
    refused(run("post", home.url(), "a@-", "--next", home.url(), "b@-", stdin=b"x"), 2, said)
    refused(run("post", home.url(), "a@-", "b@-", stdin=b"x"), 2, "standard input")
    assert home.seen == []
    done = run("get", "-d", "a", home.url(), "--next", "-d", "@-", home.url(), stdin=b"b")
    assert (done.returncode, len(home.seen)) == (0, 2), done


def test_options_of_all_requests_hold_in_a_pasted_line():
    dead = "http://127.0.0.1:1/"
    done = outrider("import", "--run", f"curl -sS {dead} --next --fail-early -f {dead}")
    assert (done.returncode, done.stderr.count(b"\n")) == (12, 1), done
    silent = outrider("import", "--run", f"curl -f {dead} --next -s {dead}")
    assert (silent.returncode, silent.stderr) == (12, b"")
    first, second = outrider("import", f"curl -d --next {dead} --next --anyauth -u a:b {dead}").stdout.splitlines()
    assert json.loads(first)["body"]["text"] == "--next"
    assert json.loads(second)["auth"] == {"username": "a", "password": "b"}
    refused(outrider("import", f"curl -a {dead}"), 2, "-a: http and https are spoken")


def test_a_foreign_host_names_its_option(run):
    refused(run("get", "-H", "Host: a.example", "http://b.example/"), 10, "--connect-to ::ADDRESS:")


def test_credentials_of_several_urls_are_refused():
    refused(outrider("import", "curl http://a:b@h.example/ http://i.example/"), 2, "different credentials")
    told = [json.loads(line) for line in outrider("import", "curl http://a:b@h.example/{x,y}").stdout.splitlines()]
    assert [one["url"] for one in told] == ["http://h.example/x", "http://h.example/y"]
    assert told[0]["auth"] == told[1]["auth"] == {"basic": {"username": "a", "password": "b"}}
    assert json.loads(outrider("import", "curl a:b@h.example/x").stdout) == {**told[0], "url": "http://h.example/x"}


def test_a_version_of_ip_is_chosen_as_by_curl(run, origin, tmp_path):
    assert run("get", "-4", origin + "/json").returncode == 0
    assert run("get", "-s6", "--ipv4", origin + "/json").returncode == 0
    for words in (["get"], ["download", "-o", str(tmp_path / "body")]):
        said = refused(run(*words, "-6", origin + "/json"), 12, "no IPv6 address", "(-6)")
        assert "addresses:" not in said
    refused(run("download", "--ipv4", "http://[::1]:9/"), 12, "no IPv4 address")
    assert b" -4 " in run("get", "--curl", "-4", origin + "/json").stdout


def test_a_body_comes_no_faster_than_allowed(run, origin, tmp_path):
    began = time.monotonic()
    done = run("get", "--limit-rate", "100k", origin + "/bytes/200000", "-o", str(tmp_path / "body"))
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began >= 1.5 and (tmp_path / "body").stat().st_size == 200000
    assert len(run("get", "--limit-rate", "1G", origin + "/bytes/3000000").stdout) == 3000000
    assert run("get", "--limit-rate", "1", origin + "/bytes/2").returncode == 0
    refused(run("get", "--limit-rate", "fast", origin + "/json"), 2, "--limit-rate")
    refused(run("get", "--limit-rate", "1k", "-T", __file__, origin + "/echo"), 2, "--upload-file")
    refused(run("get", "--limit-rate", "1k", "-Z", origin + "/json"), 2, "--parallel")


# bodies that the service holds as a whole, and in part
@pytest.mark.parametrize("size", [2000, 3000000])
def test_a_slow_rate_does_not_extend_the_time(run, origin, size):
    done = run("get", "--limit-rate", "1", "-m", "3", f"{origin}/bytes/{size}")
    assert done.returncode == 12, done.stderr
    assert b"raise -m" in done.stderr or b"more than 3 s" in done.stderr
    assert len(done.stdout) < size
    assert len(run("get", "--limit-rate", "1G", "-m", "60", f"{origin}/bytes/{size}").stdout) == size


def test_a_coding_that_is_asked_for_is_left_to_the_reader(run):
    page = gzip.compress(b"a page", mtime=0)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\n"
    response = head + b"Content-Length: %d\r\n\r\n" % len(page) + page

    def act(connection):
        while connection.recv(65536):
            connection.sendall(response)

    with Host(act) as host:
        url = f"http://127.0.0.1:{host.port}/"
        wish = ["-H", "Accept-Encoding: gzip"]
        assert run("get", *wish, url).stdout == page
        assert run("get", *wish, "--pretty", "format", url).stdout == page
        assert outrider("import", "--run", f"curl -H 'accept-encoding:gzip' {url}").stdout == page
        for words in ([], [*wish, "--compressed"]):
            assert run("get", *words, url).stdout == b"a page"


def test_a_compressed_file_stays_as_the_server_has_it(run, tmp_path):
    """Some servers call the compression of the file a coding; the digest is that of the file."""
    file = gzip.compress(b"howl", mtime=0)
    response = b"HTTP/1.1 200 OK\r\nContent-Encoding: x-gzip\r\nContent-Length: %d\r\n\r\n" % len(file) + file
    with Capture(response=response) as capture:
        (tmp_path / "fields").write_text("Accept-Encoding: gzip\n")
        for words, sent in (
            ([], [b"identity"]), (["-H", "User-Agent:"], [b"identity"]),
            # a coding that is named stays
            (["Accept-Encoding:gzip"], [b"gzip"]), (["-H", "@fields"], [b"gzip"]), (["-H", "Accept-Encoding;"], [b""]),
            (["-H", "Accept-Encoding:"], []), (["-H", "User-Agent:", "-H", "Accept-Encoding:"], []),
        ):  # fmt: skip
            done = run("get", "-O", capture.url("/wolf.tar.GZ?a=b"), *words, cwd=tmp_path)
            assert (done.returncode, (tmp_path / "wolf.tar.GZ").read_bytes()) == (0, file), done
            fields = [value for name, value in capture.take().fields if name.lower() == b"accept-encoding"]
            assert fields == sent, words
        for words in (["--compressed", "/wolf.gz"], ["/wolf"], ["/wolf?a.gz"], ["/wolf.js.br"], ["/wolf.z"]):
            assert run("get", *words[:-1], capture.url(words[-1])).stdout == b"howl"


def test_a_redirect_too_much_is_a_failure_where_redirects_are_followed(run, origin):
    assert run("get", "--max-redirs", "0", origin + "/redirect/1", "-w", "%{http_code}").stdout.endswith(b"302")
    assert run("get", "-L", "--max-redirs", "0", origin + "/redirect/1").returncode == 12
    assert run("get", "--max-redirs", "-1", origin + "/redirect/21").returncode == 0
