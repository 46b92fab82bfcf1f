# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What is shown of requests: descriptions for people, archives for programs."""

import base64
import gzip
import json
import os
import re
import stat

import contract
import har
import pytest
from capture_server import Capture
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
SECRET = "s3cr3t"
SECRETS = {
    "headers": {"Authorization": f"Bearer {SECRET}", "Cookie": f"id={SECRET}; theme=dark", "X-Api-Key": SECRET},
    "query": {"access_token": SECRET, "q": "a b"},
    "method": "POST",
    "body": {"json": {"user": "wolf", "password": SECRET}},
}
RESPONSE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n"
    b"Set-Cookie: sid=s3cr3t; Path=/; Domain=a.test; Expires=Wed, 21 Oct 2026 07:28:00 GMT; HttpOnly; Secure\r\n"
    b"Location: /next?token=s3cr3t\r\nX-Refresh-Token: s3cr3t\r\nA-First: yes\r\nConnection: close\r\n\r\n"
    b'{"access_token":"s3cr3t","expires_in":3600,\n"user":"wolf"}'
)
# a download that can be resumed
CUT = (
    b'HTTP/1.1 200 OK\r\nETag: "e"\r\nAccept-Ranges: bytes\r\nContent-Length: 100000\r\nConnection: close\r\n\r\n'
    + bytes(5000))


def describe(wire, handle, **more):
    return result(wire.call("request.describe", {"request": handle, **more}))["text"]


def export(wire, **params):
    archive = result(wire.call("har.export", params, 60))
    assert not list(har.faults(archive["har"])), list(har.faults(archive["har"]))
    assert archive["entries"] == len(archive["har"]["log"]["entries"])
    return archive["har"]["log"]["entries"]


def coded_response():
    body = gzip.compress(b'{"access_token":"s3cr3t","user":"wolf"}')
    head = f"Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n"
    return f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + body


def coded_request(which):
    """A request with a secret in a body that the service compresses, or that the client has compressed."""
    value = {"password": SECRET, "user": "wolf"}
    if which == "service":
        return {"method": "POST", "body": {"json": value}, "compress": "gzip"}
    coded = base64.b64encode(gzip.compress(json.dumps(value).encode())).decode()
    body = {"base64": coded, "contentType": "application/json"}
    return {"method": "POST", "body": body, "headers": {"Content-Encoding": "gzip"}}


@pytest.mark.parametrize("which", ["service", "client"])
def test_coded_bodies_are_shown_decoded_and_masked(wire, which):
    """No secret can be masked within a coding, and no person reads compressed bytes."""
    with Capture(response=coded_response()) as capture:
        handle = get(wire, capture.url(), decode=False, **coded_request(which))["request"]
    text = describe(wire, handle)
    assert text.count("wolf") == 2 and text.count("***") == 2 and SECRET not in text, text
    (entry,) = export(wire, requests=[handle], bodies=True)
    sent, content = entry["request"]["postData"], entry["response"]["content"]
    assert json.loads(sent["text"]) == {"password": "***", "user": "wolf"}
    assert json.loads(content["text"]) == {"access_token": "***", "user": "wolf"} and "encoding" not in content
    command = result(wire.call("request.curl", {"request": handle}))["command"]
    written = command.replace("\\055", "-")
    assert '"user":' in written and "| gzip -c" in written and "***" in written and SECRET not in written
    exact = result(wire.call("request.curl", {"request": handle, "secrets": True}))["command"]
    assert "gzip -c" not in exact
    built = result(wire.call("request.build", {"url": capture.url(), **coded_request(which)}))["curl"]
    assert "| gzip -c" in built and "***" in built and SECRET not in built


def test_damaged_coded_bodies_are_not_shown(wire):
    coded = base64.b64encode(gzip.compress(b'{"password":"s3cr3t"}')[:-8] + bytes(8)).decode()
    body = {"base64": coded, "contentType": "application/json"}
    with Capture(response=coded_response()[:-8] + bytes(8)) as capture:
        params = {"method": "POST", "body": body, "headers": {"Content-Encoding": "gzip"}}
        handle = get(wire, capture.url(), decode=False, **params)["request"]
    text = describe(wire, handle)
    assert len(re.findall(r"\[Body\]: \d+ bytes", text)) == 2, text
    (entry,) = export(wire, requests=[handle], bodies=True)
    assert entry["request"]["postData"]["text"] == "" and "text" not in entry["response"]["content"]
    assert "--data-binary @-" in result(wire.call("request.curl", {"request": handle}))["command"]


def test_the_secrets_of_a_form_with_a_file_are_not_in_its_command(wire, origin, tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("here")
    parts = [{"name": "password", "text": "hush-hush"}, {"name": "f", "file": str(file)}, {"name": "a", "text": "b"}]
    handle = get(wire, origin + "/echo", method="POST", body={"multipart": parts})["request"]
    command = result(wire.call("request.curl", {"request": handle}))["command"].replace("\\055", "-")
    assert "hush" not in command and "***" in command and f"cat '{file}'" in command and 'name="a"' in command
    shown = result(wire.call("request.curl", {"request": handle, "secrets": True}))["command"].replace("\\055", "-")
    assert "hush-hush" in shown
    built = result(wire.call("request.build", {"url": origin, "method": "POST", "body": {"multipart": parts}}))["curl"]
    assert "***" in built and "hush" not in built


# Descriptions


def test_the_description_of_a_json_response(wire, origin):
    """All sections, fields sorted, both bodies, what it took and what came of it. [3.S.12] [G7] [G9]"""
    body = {"json": {"a": 1}}
    response = get(wire, origin + "/echo?q=1", method="POST", body=body, headers={"X-B": "1", "a-A": "2"})
    lines = describe(wire, response["request"]).splitlines()
    assert lines[0] == f"[Request]: POST {origin}/echo?q=1"
    assert lines[1] == "    [Headers]:"
    at = lines.index("    [Body]:")
    names = [line.strip().split(":")[0] for line in lines[2:at]]
    assert names == sorted(names, key=str.lower) and {"a-A", "X-B", "Host", "Content-Length"} <= set(names)
    assert lines[at + 1] == '        {"a":1}'
    assert lines[at + 2 : at + 5] == ["[Response]:", "    [Status Code]: 200", "    [Headers]:"]
    assert json.loads(lines[lines.index("    [Body]:", at + 1) + 1])["method"] == "POST"
    rest = [line for line in lines if line.startswith("[")]
    assert [line.split(":")[0] for line in rest] == [
        "[Request]", "[Response]", "[Network Duration]", "[Timings]", "[Result]",
    ]  # fmt: skip
    assert rest[-1] == "[Result]: success"


def test_the_description_of_a_download(wire, origin, tmp_path):
    """Its file, or the size of what a resume needs. [G7]"""
    place = str(tmp_path / "wolves")
    done = result(wire.call("download.send", {"url": origin + "/json", "destination": {"path": place}}))
    assert f"[File]: {place}" in describe(wire, done["request"]).splitlines()
    kept = get(wire, origin + "/json", bodyTo="file")
    assert f"[File]: {kept['body']['path']}" in describe(wire, kept["request"]).splitlines()
    with Capture(response=CUT) as capture:
        broken = result(wire.call("download.send", {"url": capture.url(), "destination": {"path": place + "2"}}))
    lines = describe(wire, broken["request"]).splitlines()
    assert f"[Resume Data]: {len(broken['resumeData'])} bytes" in lines
    assert not any(line.startswith("[File]") for line in lines)
    assert "[File]" not in describe(wire, get(wire, origin + "/json")["request"])


def test_durations_have_no_exponent(wire, origin):
    """A phase may take less than 0.0001 s."""
    response = get(wire, origin + "/json")
    lines = describe(wire, response["request"]).splitlines()
    [total] = [line for line in lines if line.startswith("[Network Duration]")]
    [timings] = [line for line in lines if line.startswith("[Timings]")]
    assert re.fullmatch(r"\[Network Duration\]: \d+\.\d{6} s", total), total
    phases = timings.removeprefix("[Timings]: ").split(", ")
    assert all(re.fullmatch(r"\w+ \d+\.\d{6} s|connection reused", phase) for phase in phases), timings


def test_the_description_of_a_redirected_request(wire, origin):
    lines = describe(wire, get(wire, origin + "/redirect/2?token=x")["request"]).splitlines()
    assert lines[0] == f"[Request]: GET {origin}/json"
    at = lines.index("[Redirects]:")
    assert lines[at + 1 : at + 3] == [f"    302 {origin}/redirect/2?token=***", f"    302 {origin}/redirect/1"]


@pytest.mark.parametrize(
    ("path", "shown"),
    [("/bytes/5", "    [Body]: 5 bytes"), ("/bytes/1", "    [Body]: 1 byte"), ("/status/204", "    [Body]: None")],
)
def test_a_body_that_is_no_text_is_shown_as_its_length(wire, origin, path, shown):
    """[G7]"""
    assert shown in describe(wire, get(wire, origin + path)["request"])


def test_a_long_body_is_shown_as_its_length(wire):
    """More than 100,000 bytes, even of text. [G7]"""
    for size in (100_000, 100_001):
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n"
        with Capture(response=head % size + b"x" * size) as capture:
            handle = result(wire.call("data.start", {"url": capture.url(), "bodyTo": "stored"}))["request"]
            assert result(wire.call("request.wait", {"request": handle}))["ok"]
            assert ("[Body]: 100001 bytes" in describe(wire, handle)) == (size > 100_000)


def test_a_description_in_one_line(wire, origin):
    """Before the end, after it, and without a response. [AA9] [G6]"""
    handle = get(wire, origin + "/status/404?token=x#part")["request"]
    assert describe(wire, handle, style="short") == f"GET {origin}/status/404?token=***#part (404)"
    waiting = result(wire.call("data.start", {"url": origin + "/delay/60", "method": "PUT"}))["request"]
    assert describe(wire, waiting, style="short") == f"PUT {origin}/delay/60"
    assert describe(wire, waiting).endswith("[Response]: None\n[Result]: none yet")
    wire.call("request.cancel", {"request": waiting})
    wire.call("request.wait", {"request": waiting})
    assert describe(wire, waiting).endswith("[Result]: failure: the request was cancelled")


def test_what_could_not_be_built_is_described(wire):
    """[G7] [AA7]"""
    handle = result(wire.call("data.start", {"url": "http://127.0.0.1:99999/"}))["request"]
    ended = result(wire.call("request.wait", {"request": handle}))
    text = describe(wire, handle)
    assert text.startswith("[Request]: None\n[Response]: None\n")
    assert text.endswith(f"[Result]: failure: {ended['error']['message']}")


def test_secrets_are_not_described_unless_asked_for(wire):
    """[AA10]"""
    with Capture(response=RESPONSE) as capture:
        handle = get(wire, capture.url(), **SECRETS)["request"]
        masked, whole = describe(wire, handle), describe(wire, handle, secrets=True)
    assert SECRET not in masked and masked.count("***") == 9 and '"user":"wolf"' in masked
    assert whole.count(SECRET) == 9


# Archives


def test_an_archive_of_the_latest(wire, origin):
    """In the order in which they were made, each by the rules of HAR 1.2."""
    for path in ("/json", "/status/404", "/gzip", "/redirect/1", "/headers"):
        get(wire, origin + path)
    entries = export(wire)
    assert [entry["request"]["url"][len(origin) :] for entry in entries] == [
        "/json", "/status/404", "/gzip", "/json", "/headers",
    ]  # fmt: skip
    assert entries[3]["_redirects"] == [{"status": 302, "url": origin + "/redirect/1"}]
    assert [entry["response"]["status"] for entry in entries][:3] == [200, 404, 200]
    assert entries[0]["serverIPAddress"] == "127.0.0.1" and entries[0]["connection"] == origin.rsplit(":")[-1]
    assert all("text" not in entry["response"]["content"] for entry in entries)
    assert [entry["request"]["url"] for entry in export(wire, recent=2)] == [
        entry["request"]["url"] for entry in entries[-2:]
    ]
    twice = [field["value"] for field in entries[-1]["response"]["headers"] if field["name"] == "X-Twice"]
    assert twice == ["one", "two"]


def test_an_archive_of_one_session(wire, origin):
    result(wire.call("session.create", {"name": "mine"}))
    get(wire, origin + "/json")
    get(wire, origin + "/headers", session="mine")
    urls = {name: [entry["request"]["url"] for entry in export(wire, session=name)] for name in ("mine", "default")}
    assert urls == {"mine": [origin + "/headers"], "default": [origin + "/json"]}
    error = wire.call("har.export", {"session": "none"})["error"]
    assert error["code"] == -32012 and error["data"]["pointer"] == "/session"


def test_an_archive_of_some(wire, origin):
    first, second = (get(wire, origin + path)["request"] for path in ("/json", "/chunked"))
    urls = [entry["request"]["url"] for entry in export(wire, requests=[second, first, second])]
    assert urls == [origin + "/chunked", origin + "/json", origin + "/chunked"]
    assert export(wire, requests=[]) == []
    error = wire.call("har.export", {"requests": [first, "req_0000000000000000"]})["error"]
    assert error["code"] == -32012 and error["data"]["pointer"] == "/requests/1"
    assert wire.call("har.export", {"requests": [first] * 257})["error"]["data"]["pointer"] == "/requests"


def test_an_archive_holds_all_that_was_said(wire):
    """Pairs of the query, cookies both ways, bodies, sizes and times."""
    with Capture(response=RESPONSE) as capture:
        get(wire, capture.url("/a"), **SECRETS)
        [entry] = export(wire, bodies=True, secrets=True)
    request, response = entry["request"], entry["response"]
    assert request["queryString"] == [{"name": "access_token", "value": SECRET}, {"name": "q", "value": "a b"}]
    assert request["cookies"] == [
        {"name": "id", "value": SECRET, "httpOnly": False, "secure": False},
        {"name": "theme", "value": "dark", "httpOnly": False, "secure": False},
    ]
    assert request["postData"] == {"mimeType": "application/json", "text": '{"user":"wolf","password":"s3cr3t"}'}
    assert request["bodySize"] == len(request["postData"]["text"]) and request["method"] == "POST"
    assert response["cookies"] == [
        {
            "name": "sid", "value": SECRET, "path": "/", "domain": "a.test", "expires": "2026-10-21T07:28:00.000Z",
            "httpOnly": True, "secure": True,
        }
    ]  # fmt: skip
    assert response["redirectURL"] == "/next?token=" + SECRET
    assert response["content"]["text"] == RESPONSE.split(b"\r\n\r\n")[1].decode()
    assert response["content"]["size"] == response["bodySize"] == len(response["content"]["text"])
    assert entry["timings"]["connect"] >= 0 and entry["timings"]["ssl"] == -1 and entry["time"] > 0


def test_an_archive_has_no_secrets_unless_asked_for(wire):
    """[AA10]"""
    with Capture(response=RESPONSE) as capture:
        get(wire, capture.url(), **SECRETS)
    archive = json.dumps(export(wire, bodies=True))
    assert SECRET not in archive and "wolf" in archive and "theme" in archive and "dark" not in archive


def test_bytes_in_an_archive_are_base64(wire, origin):
    get(wire, origin + "/bytes/300")
    handle = result(wire.call("data.start", {"url": origin + "/bytes/70000", "bodyTo": "stored"}))["request"]
    assert result(wire.call("request.wait", {"request": handle}))["ok"]
    get(wire, origin + "/bytes/5000")
    contents = [entry["response"]["content"] for entry in export(wire, bodies=True)]
    for content, size in zip(contents, (300, 70000)):
        assert content["encoding"] == "base64" and len(base64.b64decode(content["text"])) == size == content["size"]
    assert contents[2]["comment"] == "the body is not kept, or too long to be here" and contents[2]["size"] == 5000


def test_an_archive_in_a_result_has_a_limit(wire, origin):
    """4 MiB of bodies; the others are counted, and left out."""
    handles = []
    for _ in range(6):
        params = {"url": origin + "/bytes/1000000", "bodyTo": "stored"}
        handles.append(result(wire.call("data.start", params))["request"])
        assert result(wire.call("request.wait", {"request": handles[-1]}))["ok"]
    contents = [entry["response"]["content"] for entry in export(wire, requests=handles, bodies=True)]
    assert ["text" in content for content in contents] == [True] * 4 + [False] * 2
    assert all(content["size"] == 1_000_000 for content in contents)


def test_failures_are_in_an_archive(wire):
    """No listener; cut short; never built."""
    wire.call("data.send", {"url": "http://127.0.0.1:1/x"})
    short = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Type: text/plain\r\n\r\n12345"
    with Capture(response=short) as capture:
        wire.call("data.send", {"url": capture.url()})
    wire.call("data.send", {"url": "http://127.0.0.1:99999/"})
    refused, cut, unbuilt = export(wire, bodies=True)
    assert refused["response"]["status"] == 0 and "refused" in refused["comment"]
    assert cut["response"]["status"] == 200 and cut["response"]["content"]["text"] == "12345" and cut["comment"]
    assert unbuilt["response"]["status"] == 0 and "the port is out of range" in unbuilt["comment"]


@pytest.mark.parametrize("fields, body, shown", [
    ("", b'{"token":"c4n4ry"}', '{"token":"***"}'),
    ("Content-Type: text/plain\r\n", b' [{"token":"c4n4ry"}]', ' [{"token":"***"}]'),
    ("Content-Encoding: compress\r\n", b"\x1f\x9d\x90c4n4ry", None),
], ids=["untyped", "text", "coding"])  # fmt: skip
def test_no_secret_is_in_an_archive_though_the_type_does_not_tell(wire, fields, body, shown):
    """JSON without its type, and a body in a coding that the service does not know."""
    head = f"HTTP/1.1 200 OK\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
    with Capture(response=head.encode() + body) as capture:
        assert get(wire, capture.url())["ok"]
    [entry] = export(wire, bodies=True)
    assert entry["response"]["content"].get("text") == shown


def test_the_phrase_of_the_server_is_in_the_archive(wire):
    """The statusText of HAR 1.2, from a head that is read in one pass or line by line."""
    status = b"HTTP/1.1 404 Quite Gone\r\n"
    for body in (b"Content-Length: 2\r\n\r\nhi", b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"):
        for method in ("data.send", "data.start"):
            with Capture(response=status + body) as capture:
                request = result(wire.call(method, {"url": capture.url()}))["request"]
                result(wire.call("request.wait", {"request": request}))
            [entry] = export(wire, requests=[request])
            assert entry["response"]["status"] == 404 and entry["response"]["statusText"] == "Quite Gone"


def test_an_archive_in_a_file(wire, origin, tmp_path):
    """Readable by its owner only, and never over a file that is there, unless told so."""
    get(wire, origin + "/json")
    path = tmp_path / "a.har"
    told = result(wire.call("har.export", {"path": str(path)}))
    assert told == {"entries": 1, "path": str(path), "size": path.stat().st_size}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not list(har.faults(json.loads(path.read_text("utf-8"))))
    for wrong in ({"path": str(path)}, {"path": "a.har"}, {"path": str(tmp_path / "no" / "a.har")}):
        error = wire.call("har.export", wrong)["error"]
        assert error["code"] == -32602 and error["data"]["pointer"] == "/path", error
    assert result(wire.call("har.export", {"path": str(path), "replace": True}))["entries"] == 1
    assert os.listdir(tmp_path / ".") and not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_an_archive_longer_than_the_client_reads_goes_to_a_file(wire, origin, tmp_path):
    result(wire.call("server.hello", {"maxMessageBytes": 8192}))
    for _ in range(20):
        get(wire, origin + "/json")
    error = wire.call("har.export")["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == "/path" and "maxMessageBytes" in error["message"]
    assert result(wire.call("har.export", {"path": str(tmp_path / "a.har")}))["entries"] == 20
