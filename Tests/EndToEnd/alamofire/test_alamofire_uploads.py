# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cases of Alamofire's uploads and multipart forms: bytes as they are written, and as a real httpbin reads them."""

import base64
import pathlib

import contract
import pytest
from capture_server import Capture
from request_client import get, result, until

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
LOREM = "Lorem ipsum dolor sit amet."
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture
def unicorn(tmp_path):
    path = tmp_path / "unicorn.png"
    path.write_bytes(PNG * 20)
    return path


def encode(line, parts, **more):
    """A form without a request: its bytes, and what is said of them."""
    told = result(line.call("multipart.encode", {"parts": parts, **more}))
    return base64.b64decode(told["base64"]), told


def refused(line, parts, **more):
    error = line.call("multipart.encode", {"parts": parts, **more})["error"]
    assert error["code"] == -32602
    return error["data"]["failure"]["reason"], error["data"].get("pointer")


def feed(line, *pieces):
    """A stream with these pieces in it, and nothing more to come."""
    stream = result(line.call("upload.open"))["stream"]
    for piece in pieces:
        assert result(line.call("stream.write", {"stream": stream, "text": piece}))["accepted"] == len(piece)
    assert result(line.call("stream.finish", {"stream": stream}))["size"] == sum(map(len, pieces))
    return stream


# Uploads


def test_a_file_is_sent(line, bin, unicorn):
    """By POST unless said otherwise. [3.M.1] [3.M.5] [B5] [F19]"""
    sent = base64.b64encode(unicorn.read_bytes()).decode()
    for method in (None, "PUT"):
        more = {"method": method} if method else {}
        params = {"url": bin + "/anything", "body": {"file": str(unicorn)}, **more}
        response = result(line.call("upload.send", params))
        echo = response["body"]["json"]
        assert response["method"] == echo["method"] == (method or "POST") and response["url"] == bin + "/anything"
        assert echo["data"] == "data:application/octet-stream;base64," + sent
        assert echo["headers"]["Content-Length"] == str(unicorn.stat().st_size)


def test_a_body_that_the_client_feeds(line, bin):
    """[3.M.3] [Q7]"""
    stream = feed(line, "one ", "two ", "three")
    params = {"url": bin + "/anything", "body": {"stream": stream, "length": 13, "contentType": "text/plain"}}
    response = result(line.call("upload.send", params))
    assert response["body"]["json"]["data"] == "one two three" and response["body"]["json"]["method"] == "POST"


def test_fields_are_sent_with_every_kind_of_body(line, bin, unicorn):
    """[3.M.4]"""
    bodies = [{"text": "x"}, {"base64": "AA=="}, {"file": str(unicorn)}, {"stream": feed(line, "x"), "length": 1}]
    for body in [*bodies, {"multipart": [{"name": "a", "text": "b"}]}]:
        params = {"url": bin + "/post", "body": body, "headers": {"X-Number": "123456"}}
        assert result(line.call("upload.send", params))["body"]["json"]["headers"]["X-Number"] == "123456"


def test_a_body_in_six_pieces(line):
    """Each is written when the one before was taken; progress is told, and all of it arrives. [3.M.7] [3.M.9] [N4]"""
    result(line.call("server.hello", {"progressInterval": 0}))
    pieces = [letter * 100_000 for letter in "abcdef"]
    with Capture() as capture:
        stream = result(line.call("upload.open"))["stream"]
        body = {"stream": stream, "length": 600_000}
        number = line.start("upload.send", {"url": capture.url(), "body": body, "events": ["progress", "state"]})
        seen, told, writes = set(), [], []

        def hear():
            message = line.receive()
            if "id" in message:
                seen.add(message["id"])
                assert "result" in message, message
            else:
                told.append(message["params"])

        def sent():
            return [one["completed"] for one in told if one.get("direction") == "upload"]

        for piece in pieces:
            writes.append(line.start("stream.write", {"stream": stream, "text": piece}))
            # reports that a client reads too slowly are joined
            while not sent():
                hear()
        last = line.start("stream.finish", {"stream": stream})
        while not {number, last, *writes} <= seen:
            hear()
        assert capture.take().body == "".join(pieces).encode()
    completed = sent()
    assert completed[0] <= 100_000 and completed == sorted(set(completed)) and completed[-1] == 600_000
    assert [one["state"] for one in told if "state" in one][-1] == "finished"


# Forms, byte for byte


def test_the_content_type_names_the_boundary(line):
    """One that was made does not come again. [3.N.1] [3.N.2] [Q1] [Q2]"""
    made = {encode(line, [{"name": "a", "text": "b"}])[1]["boundary"] for _ in range(20)}
    assert len(made) == 20 and all(len(boundary) >= 16 for boundary in made)
    _, told = encode(line, [{"name": "a", "text": "b"}], boundary="here")
    assert told["boundary"] == "here" and told["contentType"] == "multipart/form-data; boundary=here"


def test_the_length_of_the_parts(line):
    """[3.N.3] [Q10]"""
    body, told = encode(line, [{"name": "a", "text": LOREM}, {"name": "b", "base64": "AAAA"}])
    assert told["contentLength"] == len(LOREM) + 3 and told["size"] == len(body)


def test_one_part(line):
    """[3.N.4] [Q3] [Q5] [Q17]"""
    body, _ = encode(line, [{"name": "data", "text": LOREM}], boundary="b")
    form = f'--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n{LOREM}\r\n--b--\r\n'
    assert body == form.encode()


def test_a_file(line, unicorn):
    """Its name and type follow from its path. [3.N.6] [Q6]"""
    body, _ = encode(line, [{"name": "unicorn", "file": str(unicorn)}], boundary="b")
    head = '--b\r\nContent-Disposition: form-data; name="unicorn"; filename="unicorn.png"\r\n'
    head += "Content-Type: image/png\r\n\r\n"
    assert body == head.encode() + unicorn.read_bytes() + b"\r\n--b--\r\n"


def test_a_part_that_is_fed(line):
    """Laid out like a file, and sent once. [3.N.8] [3.N.18] [Q7] [Q12]"""
    part = {"name": "n", "stream": feed(line, LOREM), "length": len(LOREM), "filename": "f.txt", "mimeType": "text/x"}
    with Capture() as capture:
        params = {"url": capture.url(), "body": {"multipart": {"parts": [part], "boundary": "b"}}}
        assert result(line.call("upload.send", params))["ok"]
        request = capture.take()
        head = '--b\r\nContent-Disposition: form-data; name="n"; filename="f.txt"\r\nContent-Type: text/x\r\n\r\n'
        assert request.body == (head + LOREM + "\r\n--b--\r\n").encode()
        assert request.first("Content-Length") == str(len(request.body)).encode()
        again = result(line.call("upload.send", params))
        assert again["ok"] is False and again["error"]["code"] == 1232, again["error"]


def test_forms_in_a_file_are_the_same_bytes(line, unicorn, tmp_path):
    """[3.N.10] [3.N.16] [Q13]"""
    path = tmp_path / "form"
    parts = [{"name": "a", "text": LOREM}, {"name": "b", "file": str(unicorn)}, {"name": "c", "base64": "/w=="}]
    body, _ = encode(line, parts, boundary="b")
    told = result(line.call("multipart.encode", {"parts": parts, "boundary": "b", "to": "file", "path": str(path)}))
    assert path.read_bytes() == body and told["size"] == len(body) and "base64" not in told
    assert refused(line, parts, to="file", path=str(path)) == ("outputStreamFileAlreadyExists", "/path")
    assert path.read_bytes() == body


def test_files_that_are_none(line, tmp_path):
    """No name, no path, not there, a directory; the first one counts. [3.N.12] [3.N.13] [3.N.14] [Q8] [Q9]"""
    place = "/parts/0/file"
    assert refused(line, [{"name": "a", "file": "/"}])[0] in ("bodyPartFilenameInvalid", "bodyPartFileIsDirectory")
    assert refused(line, [{"name": "a", "file": "https://example.com/x"}]) == ("bodyPartURLInvalid", place)
    assert refused(line, [{"name": "a", "file": str(tmp_path / "no.jpg")}]) == ("bodyPartFileNotReachable", place)
    assert refused(line, [{"name": "a", "file": str(tmp_path)}]) == ("bodyPartFileIsDirectory", place)
    both = [{"name": "a", "text": "b"}, {"name": "a", "file": str(tmp_path)}, {"name": "b", "file": "x"}]
    assert refused(line, both) == ("bodyPartFileIsDirectory", "/parts/1/file")


def test_the_content_type_of_a_request_is_the_forms(line):
    """Whatever the request says. [3.N.19] [3.N.20] [Q2]"""
    with Capture() as capture:
        form = {"parts": [{"name": "a", "text": "b"}], "boundary": "custom-test-boundary"}
        params = {"url": capture.url(), "body": {"multipart": form}, "headers": {"Content-Type": "application/json"}}
        assert result(line.call("upload.send", params))["ok"]
        request = capture.take()
    types = [value for name, value in request.fields if name.lower() == b"content-type"]
    assert types == [b"multipart/form-data; boundary=custom-test-boundary"]


def test_names_in_any_script(line):
    """[3.N.21]"""
    parts = [{"name": "french", "text": "français"}, {"name": "japanese", "text": "日本語"}]
    assert len(encode(line, parts, boundary="x" * 35)[0]) == 241


def test_names_cannot_leave_their_field(line, bin):
    """[Q4]"""
    odd = 'a"; x="y\r\nEvil: yes\r\n\r\n'
    body, _ = encode(line, [{"name": odd, "filename": odd, "text": "b"}], boundary="b")
    assert body.count(b"\r\n\r\n") == 1 and b"Evil: yes" in body.split(b"\r\n")[1]
    parts = [{"name": "a", "text": "ä"}, {"name": "f", "filename": 'q"uote.txt', "text": "x"}]
    echo = result(line.call("upload.send", {"url": bin + "/post", "body": {"multipart": parts}}))["body"]["json"]
    assert echo["form"] == {"a": "ä"} and echo["files"] == {"f": "x"}


def test_long_forms(line, bin, tmp_path):
    """18 MB are sent; over its threshold a form is in a file that goes with its handle.

    [3.N.22] [3.N.23] [Q11] [Q14]
    """
    parts = []
    for name in ("a", "b"):
        path = tmp_path / name
        path.write_bytes(name.encode() * 9_000_000)
        parts.append({"name": name, "file": str(path), "filename": name, "mimeType": "text/plain"})
    with Capture() as capture:
        response = result(line.call("upload.send", {"url": capture.url(), "body": {"multipart": parts}}, 60))
        assert response["ok"], response
        body = capture.take().body
        assert body.count(b"a" * 9_000_000) == 1 and body.count(b"b" * 9_000_000) == 1
    told = result(line.call("multipart.encode", {"parts": [{"name": "a", "text": "b"}], "threshold": 0}))
    assert "base64" not in told
    path = pathlib.Path(told["path"])
    assert path.stat().st_size == told["size"]
    result(line.call("response.release", {"response": told["response"]}))
    assert not path.exists()


def test_progress_of_forms(line, unicorn):
    """From memory and from a file it ends at the whole. [3.N.27] [N5]"""
    for part in ({"text": "x" * 1_000_000}, {"file": str(unicorn)}):
        with Capture() as capture:
            params = {"url": capture.url(), "body": {"multipart": [{"name": "a", **part}]}, "events": ["progress"]}
            events, reply = until(line, line.start("upload.send", params))
            assert result(reply)["ok"]
            size = len(capture.take().body)
        told = [event["params"] for event in events if event["params"]["direction"] == "upload"]
        assert told[-1]["fraction"] == 1 and told[-1]["completed"] == told[-1]["total"] == size


def test_parts_are_read_when_they_are_sent(line, unicorn):
    """Not when the request is made. [Q16]"""
    body = {"multipart": [{"name": "f", "file": str(unicorn)}]}
    with Capture() as capture:
        params = {"url": capture.url(), "body": body, "startImmediately": False}
        handle = result(line.call("upload.start", params))["request"]
        later = bytes(unicorn.stat().st_size)
        unicorn.write_bytes(later)
        result(line.call("request.resume", {"request": handle}))
        assert result(line.call("request.wait", {"request": handle}))["ok"]
        assert later in capture.take().body


def test_fields_of_a_part_and_a_form_in_a_form(line):
    """[Q18]"""
    inner, told = encode(line, [{"name": "x", "text": "y"}], boundary="inner")
    part = {
        "name": "form", "base64": base64.b64encode(inner).decode(), "mimeType": told["contentType"],
        "headers": {"X-Level": "2"},
    }  # fmt: skip
    body, _ = encode(line, [part], boundary="outer")
    assert (
        inner in body and b"X-Level: 2\r\n" in body and b"Content-Type: multipart/form-data; boundary=inner\r\n" in body
    )


def test_a_form_without_parts(line):
    """[Q15]"""
    body, told = encode(line, [])
    assert body == b"" and told["contentLength"] == 0


def test_a_command_for_a_form(line, unicorn, bin):
    """One Content-Type, its own. [3.S.9] [AA6]"""
    parts = [{"name": "a", "text": "it's"}, {"name": "f", "file": str(unicorn)}]
    params = {"url": bin + "/post", "body": {"multipart": parts}, "headers": {"Content-Type": "application/json"}}
    handle = result(line.call("upload.send", params))["request"]
    command = result(line.call("request.curl", {"request": handle}))["command"]
    assert (
        command.count("Content-Type: ") >= 1 and command.count("-H 'Content-Type: multipart/form-data; boundary=") == 1
    )
    assert "application/json" not in command
    assert get(line, bin + "/get")["ok"]
