# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The grammar that options have with curl and items with httpie: words that a user types by habit."""

import base64
import json
import os
import re
import signal
import subprocess
import time

import contract
import pytest
from shell import echoed, outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def run(service):
    return lambda *words, **more: outrider(words[0], "--socket", service, *words[1:], **more)


def test_a_value_stands_in_the_word_of_its_option_or_begins_with_a_hyphen(run, origin, tmp_path):
    url = origin + "/echo"
    (tmp_path / "body").write_text("howl")
    echo = echoed(run("get", "-XPUT", "-d@body", "-HX-A: 1", "-sm5", "-bsid=-1", url, cwd=tmp_path))
    assert (echo["method"], echo["body"], echo["fields"]["x-a"]) == ("PUT", "howl", "1")
    assert echo["fields"]["cookie"] == "sid=-1"
    for words in (["-r", "-5"], ["-r-5"], ["--range", "-5"], ["-sr-5"]):
        assert echoed(run("get", *words, url))["fields"]["range"] == "bytes=-5"
    assert echoed(run("get", "-d", "-5", "-d", "--json", url))["body"] == "-5&--json"
    run("get", "-s", "-o", "-x.txt", url, cwd=tmp_path)
    assert (tmp_path / "-x.txt").exists()
    assert run("get", "-w", "-%{http_code}", "-o/dev/null", url).stdout == b"-200"
    refused(run("get", "-sQ", url), 2, "-Q")


def test_an_item_may_hold_a_url(run, origin):
    echo = echoed(run("post", origin + "/echo", "to=https://a.test/x?y=1", "Referer:https://b.test/", "q==http://c/"))
    assert echo["body"] == '{"to":"https://a.test/x?y=1"}'
    assert echo["fields"]["referer"] == "https://b.test/" and echo["target"] == "/echo?q=http%3A%2F%2Fc%2F"
    assert "127.0.0.1" not in echo["fields"]


def test_a_second_url_needs_no_scheme(run, origin):
    host = origin.removeprefix("http://")
    done = run("get", "-w", "%{urlnum}", "-o/dev/null", "-o/dev/null", origin + "/json", host + "/json")
    assert (done.returncode, done.stdout) == (0, b"01")


def test_a_field_without_a_value_is_left_out(run, origin):
    url = origin + "/echo"
    fields = echoed(run("get", "-H", "Accept:", "-H", "Expect:", "-H", "X-Empty;", "-A", "", "-e", "", url))["fields"]
    assert not {"accept", "expect", "user-agent", "referer"} & fields.keys()
    assert fields["x-empty"] == "" and "gzip" in fields["accept-encoding"]
    echo = echoed(run("post", "-d", "a", "-H", "content-type:", url))
    assert "content-type" not in echo["fields"] and (echo["body"], echo["fields"]["accept"]) == ("a", "*/*")
    fields = echoed(run("get", "-H", "Accept:", "-r", "0-1", url))["fields"]
    assert "accept-encoding" not in fields and "user-agent" in fields
    refused(run("get", "-H", ";", url), 2, "Name: value")


def test_fields_of_a_file_may_have_comments(run, origin, tmp_path):
    (tmp_path / "fields").write_text("# mine\nX-A: 1\nAccept:\n")
    fields = echoed(run("get", "-H", "@fields", origin + "/echo", cwd=tmp_path))["fields"]
    assert fields["x-a"] == "1" and "accept" not in fields


def test_data_is_put_together_as_by_curl(run, origin, tmp_path):
    url = origin + "/echo"
    (tmp_path / "b=c").write_text("secret")
    assert echoed(run("get", "--data-urlencode", "a@b=c", url, cwd=tmp_path))["body"] == "a@b=c"
    echo = echoed(run("get", "--json", "[1", "--json", ",2]", url))
    assert (echo["body"], echo["fields"]["accept"]) == ("[1,2]", "application/json")
    (tmp_path / "wolf.txt").write_text("howl")
    assert echoed(run("get", "-T", "wolf.txt", origin + "/echo/?x=1", cwd=tmp_path))["target"] == "/echo/wolf.txt?x=1"


def test_the_type_of_a_part_may_have_parameters(run, origin):
    body = echoed(run("get", "-F", "a=b;type=text/html;charset=utf-8;filename=x", origin + "/echo"))["body"]
    assert 'name="a"; filename="x"\r\nContent-Type: text/html;charset=utf-8\r\n\r\nb' in body


def test_a_part_with_the_text_of_a_file_has_no_type(run, origin, tmp_path):
    (tmp_path / "wolf.txt").write_text("howl é")
    body = echoed(run("get", "-F", "a=<wolf.txt", "-F", "b=c", origin + "/echo", cwd=tmp_path))["body"]
    assert 'name="a"\r\n\r\nhowl é\r\n' in body


@pytest.mark.parametrize("word, sent", [("https://a.test/;auto", "https://a.test/"), (";auto", None)])
def test_a_referer_after_redirects_is_no_part_of_the_field(run, origin, word, sent):
    assert echoed(run("get", "-e", word, origin + "/echo"))["fields"].get("referer") == sent


def test_a_url_behind_two_dashes_is_imported():
    params = [json.loads(line) for line in outrider("import", "curl -- http://a.test/").stdout.splitlines()]
    assert params == [{"method": "GET", "redirect": "none", "url": "http://a.test/"}]


def test_the_parts_of_a_form_keep_their_order(run, origin):
    """Services that take an upload ignore what stands behind the file."""
    words = ["--form-string", 'a=@x;"\\', "-F", "b=2", "--form-string", "c=-3", "-F", "d=4"]
    body = echoed(run("get", *words, origin + "/echo"))["body"]
    assert re.findall(r'name="(.)"\r\n\r\n(.*)\r\n', body) == [
        ("a", '@x;"\\'), ("b", "2"), ("c", "-3"), ("d", "4"),
    ]  # fmt: skip


def test_files_for_bodies_and_heads_of_several_urls(run, origin, tmp_path):
    done = run("get", origin + "/status/[200-202]", "-o", "/dev/null", "-w", "%{http_code} ", cwd=tmp_path)
    assert done.stdout == b"200 201 202 "
    (tmp_path / "heads").write_text("old")
    run("get", "-D", "heads", "-o/dev/null", "-o/dev/null", origin + "/status/201", origin + "/json", cwd=tmp_path)
    heads = (tmp_path / "heads").read_text()
    assert [line for line in heads.splitlines() if line.startswith("HTTP")] == ["HTTP/1.1 201 ", "HTTP/1.1 200 "]


def test_cookies_are_in_what_is_shown(run, origin):
    done = outrider("import", f"curl -b sid=1 {origin}/echo")
    assert json.loads(done.stdout)["cookies"] == {"extra": [{"name": "sid", "value": "1"}]}
    assert b"'Cookie: ***'" in run("get", "--curl", "-b", "sid=1", origin + "/echo").stdout
    done = outrider("import", f"curl -c jar {origin}/echo")
    assert done.returncode == 0 and b"left out" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_recorded_program_and_its_service(tmp_path, number):
    script = "trap 'echo ended >ended; exit 7' TERM HUP; echo begun >begun; while :; do sleep 0.05; done"
    words = [contract.binary(), "record", "a.har", "--", "sh", "-c", script]
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    child = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < deadline and child.poll() is None
        time.sleep(0.01)
    child.send_signal(number)
    # the service holds standard error until its end
    child.communicate(timeout=30)
    assert child.returncode == 7 and (tmp_path / "ended").exists()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_cookie_without_a_name_goes_in_a_field(run, origin):
    refused(run("get", "-b", "sid=1; wolf", origin + "/echo"), 2, "has a cookie without a name", "-H 'Cookie: ")
    assert echoed(run("get", "-H", "Cookie: sid=1; wolf", origin + "/echo"))["fields"]["cookie"] == "sid=1; wolf"


@pytest.mark.parametrize(
    "words",
    [
        ("post", "{0}/echo", "name=@latin1"), ("get", "-H", "@latin1", "{0}/echo"), ("get", "-H", "@-", "{0}/echo"),
        ("get", "--input-file", "latin1"), ("get", "-w", "@latin1", "{0}/echo"), ("get", "-u", "ada", "{0}/echo"),
        ("run", "latin1"), ("import", "-"),
    ],
)  # fmt: skip
def test_a_text_that_is_not_utf8_is_refused_and_not_changed(run, origin, tmp_path, words):
    """Decoding would put U+FFFD in place of its bytes."""
    text = f"curl {origin}/x: caf".encode() + b"\xe9\n"
    (tmp_path / "latin1").write_bytes(text)
    words = [word.format(origin) for word in words]
    own = outrider if words[0] == "import" else run
    refused(own(*words, cwd=tmp_path, stdin=text), 2, "is not UTF-8")


def test_white_space_around_the_urls_in_a_file_is_left_out(run, origin):
    text = f" {origin}/json \r\n\t{origin}/json\n \n# {origin}/echo\n{origin}/a b"
    done = run("get", "--input-file", "-", stdin=text.encode())
    assert done.stdout == b'{"id":1,"x":0.1}' * 2 and done.returncode == 10 and b"contains a space" in done.stderr


def test_a_json_item_that_is_none_names_the_item_for_a_text(run, origin, tmp_path):
    (tmp_path / "note").write_text("wolf")
    refused(run("post", origin + "/echo", "a:=@note", cwd=tmp_path), 2, "note is no JSON", "write a=@note for a text")
    refused(run("post", origin + "/echo", "@note", cwd=tmp_path), 2, "@note is no item", "-d @note")


def test_a_separator_before_a_combining_mark_is_a_separator(run, origin):
    url, mark = origin + "/echo", "\u0301"
    echo = echoed(run("post", url, f"a={mark}x", f"X-A:{mark}", f"b=={mark}"))
    assert json.loads(echo["body"]) == {"a": mark + "x"}
    assert echo["target"].endswith("/echo?b=%CC%81") and "x-a" in echo["fields"]
    assert "x-a" in echoed(run("get", "-H", f"X-A:{mark}", url))["fields"]
    login = base64.b64encode(f"ada:{mark}x".encode()).decode()
    assert echoed(run("get", "-u", f"ada:{mark}x", "--basic", url))["fields"]["authorization"] == f"Basic {login}"
    sent = echoed(run("get", "-b", f"a={mark}x;{mark}b=y", url))["fields"]["cookie"]
    assert sent.encode("latin-1").decode() in (f"a={mark}x; {mark}b=y", f"{mark}b=y; a={mark}x")
    for words, text in [
        (["-F", f"a={mark}x"], f"{mark}x"), (["-F", f'a="{mark};"'], f"{mark};"),
        (["--form-string", f"a={mark}\"{mark};"], f"{mark}\"{mark};"),
    ]:  # fmt: skip
        assert f"\r\n\r\n{text}\r\n" in echoed(run("post", url, *words))["body"]
    for words in (["--data-urlencode", f"a={mark}v"], [f"--data-urlencode=a={mark}v"]):
        assert echoed(run("get", *words, url))["body"] == "a=%CC%81v"
    assert echoed(run("get", f"--data-raw={mark}v", url))["body"] == f"{mark}v"
    assert f'filename="{mark}x"' in echoed(run("post", url, "-F", f"a=b;filename={mark}x"))["body"]
    told = json.loads(outrider("import", f"curl {url.replace('//', f'//ada:{mark}x@')}").stdout)
    assert (told["url"], told["auth"]) == (url, {"basic": {"username": "ada", "password": f"{mark}x"}})


def test_a_json_item_keeps_its_type_without_another_field(run, origin):
    for field in ("Accept:", "User-Agent:"):
        fields = echoed(run("post", "-H", field, origin + "/echo", "a=b"))["fields"]
        assert fields["content-type"] == "application/json" and field[:-1].lower() not in fields
    assert "content-type" not in echoed(run("post", "-H", "Content-Type:", origin + "/echo", "a=b"))["fields"]


def test_a_credential_and_a_field_of_it_are_refused(run, origin):
    url, field = origin + "/echo", ["-H", "Authorization: x"]
    for words in (["-u", "ada:x"], ["--oauth2-bearer", "x"], ["--oauth", "x"]):
        refused(run("get", *words, *field, url), 2, f"{words[0]} and a field Authorization")
    assert echoed(run("get", *field, url))["fields"]["authorization"] == "x"


def test_a_single_choice_in_braces_is_a_choice(run, origin, tmp_path):
    assert echoed(run("get", origin + "/echo/{a}?{b}{}"))["target"] == "/echo/a?b{}"
    assert echoed(run("get", "-g", origin + "/echo/{a}"))["target"] == "/echo/%7Ba%7D"
    assert run("get", "-o", "#1", origin + "/echo/{a}", cwd=tmp_path).returncode == 0 and (tmp_path / "a").exists()
    refused(run("get", origin + "/echo/{{a}}"), 2, "braces within braces", "-g")
