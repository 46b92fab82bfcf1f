# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests that people have already: a curl command line (`outrider import`), and a .http file (`outrider run`)."""

import json
import re

import contract
import pytest
from shell import outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

CHROME = r"""curl '%s/echo' \
  -X 'PUT' \
  -H 'accept: */*' \
  -H 'content-type: application/json' \
  --data-raw $'{"text":"it\'s \u00e4","mail":"@x"}' \
  --compressed"""


@pytest.fixture
def run(service):
    return lambda *words, **more: outrider(words[0], "--socket", service, *words[1:], **more)


def test_a_command_of_a_browser_becomes_a_call(origin):
    params = json.loads(outrider("import", CHROME % origin).stdout)
    assert (params["url"], params["method"], params["redirect"]) == (origin + "/echo", "PUT", "none")
    assert params["body"]["text"] == '{"text":"it\'s ä","mail":"@x"}'
    assert {"name": "content-type", "value": "application/json"} in params["headers"]
    done = outrider("call", "--stdio", "data.send", json.dumps(params))
    assert json.loads(done.stdout)["status"] == 200
    ran = outrider("import", "--run", "-", stdin=(CHROME % origin).encode())
    assert json.loads(ran.stdout)["body"] == '{"text":"it\'s ä","mail":"@x"}'


WINDOWS = r"""curl ^"%s/echo?q=a^%%^20b^&c=d^%%^C3^%%^A4^&e^\[^\]=1^" ^
  -H ^"accept: */*^" ^
  -H ^"sec-ch-ua: ^\^"Chromium^\^";v=^\^"130^\^"^" ^
  --data-raw ^"^{^\^"it's^\^":^\^"x^\^\n^\^\^\^"^\^"^}^

^<line^>^" ^
  --compressed
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_command_for_the_command_prompt_of_windows(origin, end):
    """Browsers copy carets for cmd.exe, and backslashes for the program."""
    text = (WINDOWS % origin).replace("\n", end)
    done = outrider("import", "-", stdin=text.encode())
    params = json.loads(done.stdout)
    assert params["url"] == origin + "/echo?q=a%20b&c=d%C3%A4&e[]=1"
    assert params["headers"][:2] == [
        {"name": "accept", "value": "*/*"},
        {"name": "sec-ch-ua", "value": '"Chromium";v="130"'},
    ]
    assert params["body"]["text"] == '{"it\'s":"x\\n\\""}\n<line>'
    plain = f'curl -X POST "{origin}/x?a=1&b=^2" ^{end}  -H "a: ""b""" -d "{{\\"c\\": 1}}"'
    params = json.loads(outrider("import", plain).stdout)
    assert (params["url"], params["method"]) == (origin + "/x?a=1&b=^2", "POST")
    assert params["headers"][0] == {"name": "a", "value": '"b"'} and params["body"]["text"] == '{"c": 1}'
    refused(outrider("import", f'curl ^"{origin}/x^" &{end}curl ^"{origin}/y^"'), 2, "& outside of quotes")
    refused(outrider("import", f'curl ^"{origin}/x'), 2, "quote")


def test_a_url_without_a_scheme_is_http_as_for_curl():
    def urls(words):
        return [json.loads(line)["url"] for line in outrider("import", f"curl {words}").stdout.splitlines()]
    assert urls("example.org/x {a,b}.example https://c.example") == [
        "http://example.org/x", "http://a.example", "http://b.example", "https://c.example"]
    for words in ("--proto-default https example.org", "--proto-default=https example.org"):
        assert urls(words) == ["https://example.org"]
    fields = json.loads(outrider("import", "curl example.org:80 -H 'Host: example.org'").stdout).get("headers", [])
    assert "host" not in [field["name"].lower() for field in fields]
    refused(outrider("import", "curl --proto-default ftp example.org"), 2, "--proto-default ftp")


def test_carets_of_a_shell_stay(origin):
    params = json.loads(outrider("import", f"curl '{origin}/x' -d 'a ^\n^\"b' -H \"c: d ^\"").stdout)
    assert params["body"]["text"] == 'a ^\n^"b'
    assert params["headers"][0]["value"] == "d ^"


def test_characters_of_bash_and_brackets_of_browsers(origin):
    """Firefox copies halves of UTF-16 and Latin-1; bash itself bytes. Browsers write brackets with backslashes."""
    line = rf"curl '{origin}/x?a\[\]=1&b=\{{c\}}' --data-raw $'\ud83d\ude00 \xe4 \xc3\xa4 \303\244 \u0021\a\\n\z'"
    params = json.loads(outrider("import", line).stdout)
    assert params["url"] == origin + "/x?a[]=1&b={c}"
    assert params["body"]["text"] == "\U0001f600 ä ä ä !\a\\n\\z"
    refused(outrider("import", f"curl {origin} -d $'\\ud83d'"), 2, "\\u")
    refused(outrider("import", f"curl {origin} -d $'\\x41"), 2, "quote")


@pytest.mark.parametrize("quoted", ["'a'", '"a"', "$'a'", "a"])
def test_a_quote_before_a_combining_mark_is_a_quote(origin, quoted):
    line = f"curl {origin}/x -d {quoted}\u0301 -d \u0301{quoted} -d '\u0301b'"
    assert json.loads(outrider("import", line).stdout)["body"]["text"] == "a\u0301&\u0301a&\u0301b"
    line = f'curl ^"{origin}/x^" -d ^"\u0301a^"\u0301'
    assert json.loads(outrider("import", line).stdout)["body"]["text"] == "\u0301a\u0301"


def test_line_ends_of_windows_join_and_end_words(origin):
    line = f"curl {origin}/x \\\r\n -d 'a\r\nb' -d \"c\\\r\nd\" -d $'e\r\nf'\r\n"
    assert json.loads(outrider("import", line).stdout)["body"]["text"] == "a\r\nb&cd&e\r\nf"


COPIED = r"""curl '%(url)s/echo' -X POST -H 'Host: %(host)s' -H 'TE: trailers' -H 'Connection: keep-alive' \
  -H 'Content-Length: 3' -H 'Keep-Alive: timeout=5' -H 'Transfer-Encoding: chunked' -H 'X-Who: wolf' -d abc"""


def test_fields_of_the_copied_connection_are_left_out(run, origin):
    """Firefox copies TE and Connection, Safari Content-Length, Burp all of them: the service writes its own."""
    line = COPIED % {"url": origin, "host": origin.removeprefix("http://")}
    names = [field["name"] for field in json.loads(outrider("import", line).stdout)["headers"]]
    assert names[0] == "X-Who" and not {"Host", "TE", "Connection", "Content-Length"} & set(names)
    sent = json.loads(outrider("import", "--run", line).stdout)
    assert sent["body"] == "abc" and dict(sent["headers"])["X-Who"] == "wolf", sent
    for words in ("https://A.example/x -H 'host: a.example'", "https://a.example -H 'Host:a.example:443'"):
        assert "headers" not in json.loads(outrider("import", f"curl {words}").stdout)
    other = json.loads(outrider("import", "curl http://127.0.0.1/ -H 'Host: a.example' -H 'Connection;'").stdout)
    assert other["headers"] == [{"name": "Host", "value": "a.example"}]
    text = f"POST {origin}/echo HTTP/1.1\nHost: {origin[7:]}\nConnection: close\nContent-Length: 3\n\nabc"
    assert json.loads(run("run", "-", stdin=text.encode()).stdout)["body"].strip() == "abc"


@pytest.mark.parametrize(
    "words, scheme",
    [("", "basic"), ("--basic", "basic"), ("--digest", "digest"), ("--anyauth", None), ("--basic --digest", None)],
)
def test_a_password_is_sent_as_curl_sends_it(words, scheme):
    """Many servers respond with 403 or 404, and never ask with 401; with --digest no server gets the password."""
    auth = json.loads(outrider("import", f"curl {words} -u ada:s3:t https://a.example/").stdout)["auth"]
    credential = {"username": "ada", "password": "s3:t"}
    assert auth == ({scheme: credential} if scheme else credential)


def test_cookies_of_browsers_may_have_no_name(origin):
    sent = json.loads(outrider("import", "--run", f"curl {origin}/echo -b 'flag; sid=1' -X POST").stdout)
    assert dict(sent["headers"])["Cookie"] == "flag; sid=1"


def test_a_prompt_and_a_byte_order_mark_are_left_out(origin):
    for text in (f"$ curl {origin}/x", f"\ufeff curl {origin}/x\r\n"):
        assert json.loads(outrider("import", "-", stdin=text.encode()).stdout)["url"] == origin + "/x"


def test_redirects_are_followed_where_curl_does(origin):
    assert "redirect" not in json.loads(outrider("import", f"curl -sSL {origin}/x").stdout)
    assert json.loads(outrider("import", f"curl -sS {origin}/x").stdout)["redirect"] == "none"


@pytest.mark.parametrize(
    "words, member, value",
    [
        ("-XDELETE", "method", "DELETE"),
        ("--compressed -sXDELETE", "method", "DELETE"),
        ("-dHELLO", "body", {"text": "HELLO"}),
        ("--data-raw -XL", "body", {"text": "-XL"}),
        ("-d -L", "body", {"text": "-L"}),
        ("-AHELLO", "headers", [{"name": "User-Agent", "value": "HELLO"}]),
    ],
)
def test_a_value_in_the_word_of_its_option(words, member, value):
    done = outrider("import", f"curl {words} http://a.example/")
    params = json.loads(done.stdout)
    assert params["redirect"] == "none"
    assert params[member] == value or params[member]["text"] == value["text"], params


@pytest.mark.parametrize(
    "words",
    [
        "--proto '=https' --tlsv1.2 -sSf",
        "-q --basic -p --retry-connrefused",
        "--proto==https --keepalive-time 60 -N --path-as-is",
    ],
)
def test_options_that_change_nothing_are_left_out(words):
    params = json.loads(outrider("import", f"curl {words} https://a.example/").stdout)
    assert params["url"] == "https://a.example/" and params["method"] == "GET"


def test_data_stays_as_it_stands(origin):
    assert json.loads(outrider("import", f"curl --data-raw @x {origin}").stdout)["body"]["text"] == "@x"
    text = json.loads(outrider("import", f'curl -d "a \\"b\\" \\\\c" -d \'d\' {origin}').stdout)["body"]["text"]
    assert text == 'a "b" \\c&d'
    text = json.loads(outrider("import", f'curl -d "^a$" -d "5 $, \\$x" -d 1$ {origin}').stdout)["body"]["text"]
    assert text == "^a$&5 $, $x&1$"


@pytest.mark.parametrize(
    "line, said",
    [
        ("wget http://a.example/", "does not begin with curl"),
        ('fetch("http://a.example/", {})', "choose Copy as cURL"),
        ('Invoke-WebRequest -Uri "http://a.example/"', "choose Copy as cURL"),
        ("$session = New-Object Microsoft.PowerShell.Commands.WebRequestSession\n", "PowerShell"),
        ("curl 'http://a.example/", "quote"),
        ("curl http://a.example/ | sh", "| outside of quotes"),
        ("curl http://a.example/$HOME", "only a shell can fill in: write the value in its place"),
        ('curl "http://a.example/`id`"', "only a shell"),
        ("curl --nonsense http://a.example/", "--nonsense"),
        ("curl", "URL"),
        ("curl -d $'\\xzz' http://a.example/", "\\x"),
        ("curl --path-as-is http://a.example/x/../y", "--path-as-is"),
        ("curl --aws-sigv4 aws:amz -u a:b http://a.example/", "aws:amz:REGION:SERVICE"),
    ],
)
def test_what_is_no_command_line_is_told(line, said):
    refused(outrider("import", line), 2, said)


FILE = """
@host = %s
@path = {{host}}/echo
// a comment
### first
# @name get-it
GET {{path}}?a={{value}}
    &b=2 HTTP/1.1
X-Id: {{$guid}}
# no field

###
# @name post-it
POST {{path}}
Content-Type: application/json

{"name": "{{value}}", "time": {{$timestamp}}}


### a file
PUT {{path}}

< body.txt

### filled
PUT {{path}}

<@ body.txt

### plain
{{host}}/redirect/1
"""


@pytest.fixture
def file(origin, tmp_path):
    path = tmp_path / "wolves.http"
    path.write_text(FILE % origin)
    (tmp_path / "body.txt").write_text("a {{value}}")
    return str(path)


def test_a_file_of_requests_is_sent(run, file):
    def one(name):
        done = run("run", file, "--name", name, "--variable", "value=wolf")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    got = one("get-it")
    assert (got["method"], got["target"], got["body"]) == ("GET", "/echo?a=wolf&b=2", "")
    fields = {name.lower(): value for name, value in got["headers"]}
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", fields["x-id"])
    posted = one("post-it")
    assert posted["method"] == "POST" and re.fullmatch(r'{"name": "wolf", "time": \d+}', posted["body"])
    assert one("a file")["body"] == "a {{value}}" and one("4")["body"] == "a wolf"
    assert run("run", file, "--name", "plain", "-i").stdout.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("kind", "body", "sent"),
    [
        ("application/x-www-form-urlencoded", "a=1\n&b=two\r\n&c=3\n", "a=1&b=two&c=3"),
        ("Application/X-WWW-Form-Urlencoded; charset=utf-8", "a=1\nb=2", "a=1\nb=2"),
        ("text/plain", "a=1\n&b=2", "a=1\n&b=2"),
        ("application/json", '"a\u2028b\u0085c\x0bd"', '"a\u2028b\u0085c\x0bd"'),
    ],
    ids=["form", "form of lines", "text", "other ends of lines"],
)
def test_lines_of_a_body(run, tmp_path, origin, kind, body, sent):
    """A form goes on over lines that begin with &, as in the REST Client of VS Code."""
    path = tmp_path / "x.http"
    path.write_bytes(f"POST {origin}/echo\nContent-Type: {kind}\n\n{body}".encode())
    done = run("run", str(path))
    assert json.loads(done.stdout)["body"] == sent, done.stderr


def test_files_stand_in_lines_of_a_body(run, tmp_path, origin):
    """As in the REST Client of VS Code; the lines of a multipart body end with CRLF (RFC 2046 section 5.1.1)."""
    (tmp_path / "a.txt").write_text("a {{value}}")
    (tmp_path / "b.bin").write_bytes(b"\xff\x00")
    path = tmp_path / "x.http"
    path.write_text(
        f"post {origin}/echo\nContent-Type: multipart/form-data; boundary=B\n\n"
        '--B\nContent-Disposition: form-data; name="a"; filename="a.txt"\n\n< a.txt\n<@ a.txt\n--B--\n\n'
        f"### two\nPOST {origin}/echo\n\nbefore\n< a.txt\n\nbehind\n\n"
        f"### three\nPOST {origin}/echo\n\n< b.bin\nx\n"
        f"### four\nPOST {origin}/echo\n\n< a.txt\n\n\n"
    )

    def body(name):
        done = run("run", str(path), "--name", name, "--variable", "value=wolf")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["body"]

    head = '--B\r\nContent-Disposition: form-data; name="a"; filename="a.txt"\r\n\r\n'
    assert body("1") == head + "a {{value}}\r\na wolf\r\n--B--"
    assert body("two") == "before\na {{value}}\n\nbehind" and body("four") == "a {{value}}"
    assert body("three") in ("\ufffd\0\nx", "\xff\0\nx")


def test_a_file_of_windows(run, tmp_path, origin):
    path = tmp_path / "x.http"
    path.write_bytes(b"\xef\xbb\xbf" + f"GET {origin}/echo\r\nX-A: b\r\n".encode())
    assert json.loads(run("run", str(path)).stdout)["target"] == "/echo"
    refused(run("run", "-", stdin=f"curl -d a {origin}/echo".encode()), 2, "line 1", "outrider import")


def test_a_file_of_requests_is_listed_and_sent_in_order(run, file):
    listed = run("run", "--list", file).stdout.decode().splitlines()
    assert len(listed) == 5 and listed[1].startswith("2  POST {{path}}")
    done = run("run", file, "--variable", "value=wolf", "-o", "/dev/null", "-w", "%{method} ")
    assert done.stdout == b"GET POST PUT PUT GET "


def test_a_user_and_a_password_of_a_field_are_encoded(run, tmp_path, origin):
    path = tmp_path / "x.http"
    for value in ("Basic ada s3:cret", "basic ada:s3:cret", "Basic YWRhOnMzOmNyZXQ="):
        path.write_text(f"GET {origin}/echo\nAuthorization: {value}\n")
        sent = {name.lower(): value for name, value in json.loads(run("run", str(path)).stdout)["headers"]}
        assert sent["authorization"] == "Basic YWRhOnMzOmNyZXQ=", value
    path.write_text(f"GET {origin}/echo\nAuthorization: Digest ada s3cret\n")
    shown = run("run", "--curl", str(path)).stdout
    assert b"--digest" in shown and b"s3cret" not in shown and b"uthorization" not in shown


CHAIN = """
# @name login
POST %s/echo

{"token": "wolf", "list": [{"a b": 1.50}]}

### use it
GET %s{{login.response.body.$.target}}?t={{login.response.body.headers[0][1]}}
X-Type: {{login.response.headers.content-type}}
"""


def test_a_request_uses_the_response_to_an_earlier_one(run, tmp_path, origin):
    path = tmp_path / "chain.http"
    path.write_text(CHAIN % (origin, origin))
    done = run("run", str(path))
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    first, end = json.JSONDecoder().raw_decode(text)
    second = json.loads(text[end:])
    assert first["method"] == "POST"
    assert second["target"] == "/echo?t=" + origin.removeprefix("http://")
    assert ["X-Type", "application/json"] in second["headers"]
    refused(run("run", str(path), "--name", "use it"), 2, "no request login was sent before")
    path.write_text(path.read_text().replace("{{login.response.body.$.target}}", "/echo"))
    assert b"{{login.response.headers" in run("run", str(path), "--name", "use it", "--curl").stdout


@pytest.mark.parametrize(
    "reference, said",
    [("body.$.none", "no none"), ("body.$.a[", "$.member"), ("headers.None", "no field"), ("status", "body.$.member")],
)
def test_a_reference_that_leads_nowhere_is_told(run, tmp_path, origin, reference, said):
    path = tmp_path / "x.http"
    path.write_text(f"# @name a\nGET {origin}/json\n\n### b\nGET {origin}/{{{{a.response.{reference}}}}}\n")
    done = run("run", str(path))
    assert done.returncode == 2 and said in done.stderr.decode()


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "no request"),
        ("GET http://127.0.0.1:1/{{none}}", "{{none}}"),
        ("@a = {{b}}\n@b = {{a}}\nGET http://127.0.0.1:1/{{a}}", "itself"),
        ("< {%\n%}\nGET http://127.0.0.1:1/", "line 1: scripts"),
        ("GET http://127.0.0.1:1/\nnonsense\n", "line 2: nonsense is no field"),
        ("POST http://127.0.0.1:1/\nX-REQUEST-TYPE: GraphQL\n\nquery { me }", "line 2: no GraphQL"),
        ("POST http://127.0.0.1:1/\n\n< /nonexistent", "/nonexistent"),
        ("GET http://127.0.0.1:1/{{$processEnv OUTRIDER_NONE}}", "OUTRIDER_NONE"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(run, tmp_path, text, said):
    path = tmp_path / "x.http"
    path.write_text(text)
    refused(run("run", str(path)), 2, said)


def test_a_request_that_is_not_there_is_told(run, file):
    refused(run("run", file, "--name", "none"), 2, "none", "--list")
    refused(run("run", "/nonexistent.http"), 2, "/nonexistent.http")
