# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Multipart forms: what arrives at a server, what another parser reads in it, and how each fault is told."""

import base64
import email
import email.policy
import os
import pathlib
import random
import resource
import subprocess

import contract
import pytest
from request_client import memory, read_all, result, upload
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def taker():
    with Taker() as taker:
        yield taker


def parsed(content_type, body):
    """The parts of a form as Python's own parser reads them: name, file name, type and bytes."""
    # one character for each byte, so that nothing is decoded on the way
    text = f"Content-Type: {content_type}\r\n\r\n" + body.decode("latin-1")
    message = email.message_from_string(text, policy=email.policy.compat32)
    assert message.is_multipart() and not message.defects, message.defects
    assert not message.preamble and not message.epilogue
    found = []
    for part in message.get_payload():
        assert not part.defects, part.defects
        disposition = part.get_params(header="content-disposition", unquote=True)
        assert disposition[0][0] == "form-data"
        values = {key: plain(value) for key, value in disposition[1:]}
        kind = part["content-type"]
        found.append((values["name"], values.get("filename"), kind, part.get_payload().encode("latin-1")))
    return found


def plain(text):
    return text.encode("latin-1").decode()


def escaped(name):
    """A name as the WHATWG's algorithm writes it."""
    name = name.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
    return name.replace("\r", "%0D").replace("\n", "%0A").replace('"', "%22")


def test_every_kind_of_part_arrives(wire, taker, tmp_path):
    """Text, bytes, JSON and a file, with their names and types. [B5] [Q5] [Q6] [Q17] [3.N.6] [3.N.19]"""
    path = tmp_path / "unicorn.png"
    path.write_bytes(os.urandom(300_000))
    parts = [
        {"name": "title", "text": "Wölfe\r\nund Bären"},
        {"name": "meta", "json": {"id": 1, "x": 1.5}},
        {"name": "raw", "base64": base64.b64encode(bytes(range(256))).decode(), "filename": "all.bin"},
        {"name": "photo", "file": str(path)},
        {"name": "again", "file": str(path), "filename": "ein horn.jpg", "mimeType": "image/x"},
    ]
    response = upload(wire, taker.url("/keep"), {"multipart": parts}, headers={"Content-Type": "text/plain"})
    assert response["ok"] and response["status"] == 200, response
    request = taker.last()
    assert request.method == "POST" and request.framing == "length"
    assert request.field("content-type").startswith("multipart/form-data; boundary=outrider.form-data.")
    assert parsed(request.field("content-type"), request.body) == [
        ("title", None, None, "Wölfe\r\nund Bären".encode()),
        ("meta", None, "application/json", b'{"id":1,"x":1.5}'),
        ("raw", "all.bin", "application/octet-stream", bytes(range(256))),
        ("photo", "unicorn.png", "image/png", path.read_bytes()),
        ("again", "ein horn.jpg", "image/x", path.read_bytes()),
    ]


def test_a_small_form_is_written_byte_for_byte(wire, taker):
    """A given boundary, one part, and a list or an object. [Q1] [Q2] [Q3] [3.N.4] [3.N.20]"""
    form = {"parts": [{"name": "data", "text": "Lorem ipsum dolor sit amet."}], "boundary": "custom-test-boundary"}
    assert upload(wire, taker.url("/keep"), {"multipart": form})["ok"]
    assert taker.last().field("content-type") == "multipart/form-data; boundary=custom-test-boundary"
    assert taker.last().body == (
        b'--custom-test-boundary\r\nContent-Disposition: form-data; name="data"\r\n\r\n'
        b"Lorem ipsum dolor sit amet.\r\n--custom-test-boundary--\r\n"
    )
    body = {"multipart": [], "contentType": "multipart/mixed"}
    assert upload(wire, taker.url("/keep"), body)["ok"]
    assert taker.last().body == b"" and taker.last().field("content-type").startswith("multipart/mixed; boundary=")


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_in_it_another_parser_reads_the_same(wire, seed):
    """Random names, file names and bytes, read back by Python's parser. [Q4]"""
    dice = random.Random(seed)
    letters = ['"', "\r", "\n", ";", "=", " ", "a", "é", "日", "'", "%", "-", ":", "/", "(", ","]
    for _ in range(60):
        parts, expected = [], []
        for _ in range(dice.randint(1, 5)):
            name = "n" + "".join(dice.choices(letters, k=dice.randint(0, 12))) + "n"
            body = bytes(dice.choices(b'\r\n-ab"\0\xff', k=dice.randint(0, 60)))
            part = {"name": name, "base64": base64.b64encode(body).decode()}
            if dice.random() < 0.5:
                part["filename"] = "f" + "".join(dice.choices([c for c in letters if c not in "\r\n"], k=5)) + ".txt"
            parts.append(part)
            filename = part.get("filename", "").replace('"', "%22") or None
            expected.append((escaped(name), filename, "text/plain" if filename else None, body))
        form = result(wire.call("multipart.encode", {"parts": parts}))
        encoded = base64.b64decode(form["base64"])
        assert form["size"] == len(encoded) and form["contentLength"] == sum(len(e[3]) for e in expected)
        assert parsed(form["contentType"], encoded) == expected


FAULTS = [
    ("https://example.org/a.png", 1220, "bodyPartURLInvalid"),
    ("a.png", 1220, "bodyPartURLInvalid"),
    ("{tmp}/", 1221, "bodyPartFilenameInvalid"),
    ("{tmp}/does_not_exist.jpg", 1222, "bodyPartFileNotReachable"),
    ("{tmp}/file/below.jpg", 1222, "bodyPartFileNotReachable"),
    ("{tmp}/loop", 1223, "bodyPartFileNotReachableWithError"),
    ("{tmp}/" + "x" * 300, 1223, "bodyPartFileNotReachableWithError"),
    ("{tmp}", 1224, "bodyPartFileIsDirectory"),
    ("{tmp}/fifo", 1225, "bodyPartFileSizeNotAvailable"),
    ("/dev/null", 1225, "bodyPartFileSizeNotAvailable"),
]


@pytest.mark.parametrize(("path", "code", "reason"), FAULTS)
def test_each_fault_of_a_file_has_its_own_failure(wire, taker, tmp_path, path, code, reason):
    """And nothing is sent; the first part at fault is told of. [Q8] [Q9] [3.N.12] [3.N.13] [3.N.14]"""
    (tmp_path / "file").write_bytes(b"1")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "fifo")
    path = path.replace("{tmp}", str(tmp_path))
    parts = [{"name": "a", "text": "1"}, {"name": "b", "file": path}, {"name": "c", "file": "nowhere"}]
    response = upload(wire, taker.url("/keep"), {"multipart": parts})
    error = response["error"]
    assert (error["code"], error["kind"], error["reason"]) == (code, "multipartEncodingFailed", reason), error
    assert error["pointer"] == "/body/multipart/1/file" and "\"b\"" in error["message"], error
    assert taker.connections == 0
    refused = wire.call("multipart.encode", {"parts": parts})["error"]
    assert refused["code"] == -32602 and refused["data"]["failure"]["code"] == code
    assert refused["data"]["pointer"] == "/parts/1/file"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
def test_a_file_that_may_not_be_read_is_refused(wire, tmp_path):
    path = tmp_path / "secret"
    path.touch(mode=0)
    error = wire.call("multipart.encode", {"parts": [{"name": "a", "file": str(path)}]})["error"]
    assert error["data"]["failure"]["code"] == 1227


@pytest.mark.parametrize(
    ("form", "pointer"),
    [
        ({"parts": [{"name": "a", "text": "1", "mimeType": "a/b\r\nX: y"}]}, "/parts/0/mimeType"),
        ({"parts": [{"name": "a", "text": "1", "headers": {"X": "a\nb"}}]}, "/parts/0/headers/X"),
        ({"parts": [{"name": "a\0", "text": "1"}]}, "/parts/0/name"),
        ({"parts": [{"name": "a\n", "text": "1"}], "escape": "none"}, "/parts/0/name"),
        ({"parts": [{"name": "a", "text": "1"}], "boundary": "ends in space "}, "/boundary"),
        ({"parts": [{"name": "a", "text": "--b"}], "boundary": "b"}, "/boundary"),
    ],
)
def test_what_would_break_the_form_is_refused(wire, form, pointer):
    error = wire.call("multipart.encode", form)["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer), error
    assert error["data"]["failure"]["code"] == 1211


def test_a_form_is_written_to_a_file_but_not_over_one(wire, tmp_path):
    """The same bytes as inline; not over a file, to no path, nor into no folder. [Q13] [3.N.10] [3.N.16]"""
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(os.urandom(1_000_000))
    form = {"parts": [{"name": "a", "text": "1"}, {"name": "b", "file": str(photo)}], "boundary": "b"}
    inline = base64.b64decode(result(wire.call("multipart.encode", form))["base64"])
    path = tmp_path / "form"
    written = result(wire.call("multipart.encode", {**form, "to": "file", "path": str(path)}))
    assert written["path"] == str(path) and path.read_bytes() == inline and written["size"] == len(inline)
    assert "response" not in written
    for other, code in [(path, 1229), (photo, 1229), ("form", 1230), (tmp_path / "no/form", 1228), ("/proc/x", 1228)]:
        error = wire.call("multipart.encode", {**form, "to": "file", "path": str(other)})["error"]
        assert (error["code"], error["data"]["pointer"]) == (-32602, "/path"), error
        assert error["data"]["failure"]["code"] == code, error
    assert sorted(one.name for one in tmp_path.iterdir() if "form" in one.name) == ["form"]
    assert path.read_bytes() == inline


def test_a_long_form_goes_to_a_private_file(wire, taker, tmp_path):
    """Up to 10 MB inline, more to a file that can be sent, and is gone when it is released. [Q11]"""
    half = tmp_path / "half"
    half.write_bytes(os.urandom(5_000_000))
    parts = [{"name": "a", "file": str(half)}, {"name": "b", "file": str(half)}]
    kept = result(wire.call("multipart.encode", {"parts": parts, "boundary": "b"}))
    assert "base64" not in kept and kept["size"] > 10_000_000 and kept["contentLength"] == 10_000_000
    path = pathlib.Path(kept["path"])
    assert path.stat().st_size == kept["size"]
    assert read_all(wire, kept["response"], bytes=1 << 20) == path.read_bytes()
    sent = {"file": str(path), "contentType": kept["contentType"]}
    assert upload(wire, taker.url("/keep"), sent)["ok"]
    assert [part[3] for part in parsed("multipart/form-data; boundary=b", taker.last().body)] == [half.read_bytes()] * 2
    result(wire.call("response.release", {"response": kept["response"]}))
    assert not path.exists()
    tiny = {"parts": [{"name": "a", "text": "1"}], "threshold": 0}
    assert "response" in result(wire.call("multipart.encode", tiny))
    assert "base64" in result(wire.call("multipart.encode", {**tiny, "threshold": 1000}))


def test_a_huge_form_does_not_fill_the_memory(wire, taker, tmp_path):
    """[Q11] [Q14] [3.N.22]"""
    path = tmp_path / "huge"
    with open(path, "wb") as file:
        file.truncate(400_000_000)
    parts = [{"name": "a", "file": str(path)}, {"name": "b", "text": "end"}]
    response = upload(wire, taker.url("/count"), {"multipart": parts}, 120)
    assert response["ok"] and int(response["body"]["text"]) > 400_000_000
    assert memory(wire) < 100 << 20


def test_progress_ends_at_the_whole_form(wire, taker, tmp_path):
    """Of a form from memory, and of one with a file. [3.N.27]"""
    path = tmp_path / "file"
    path.write_bytes(bytes(1_000_000))
    for part in [{"name": "a", "file": str(path)}, {"name": "a", "text": "x" * 1_000_000}]:
        wire.start("upload.send", {"url": taker.url("/keep"), "body": {"multipart": [part]}, "events": ["progress"]})
        seen = []
        while "result" not in (message := wire.receive()):
            if message["params"]["direction"] == "upload":
                seen.append(message["params"])
        assert message["result"]["ok"]
        size = len(taker.last().body)
        assert seen[-1]["completed"] == seen[-1]["total"] == size and seen[-1]["fraction"] == 1


def test_building_shows_the_form_without_sending_it(wire, taker, tmp_path):
    """And a curl command that sends the same bytes."""
    path = tmp_path / "it's.txt"
    path.write_bytes(os.urandom(1000))
    parts = [{"name": "a", "text": "1\r\n%s"}, {"name": "b", "file": str(path)}]
    spec = {"url": taker.url("/keep"), "method": "POST", "body": {"multipart": {"parts": parts, "boundary": "b b"}}}
    built = result(wire.call("request.build", spec))
    fields = {field["name"]: field["value"] for field in built["headers"]}
    assert built["body"]["kind"] == "multipart" and fields["Content-Length"] == str(built["body"]["size"])
    assert built["body"]["contentType"] == fields["Content-Type"] and taker.connections == 0
    assert result(wire.call("data.send", spec))["ok"]
    subprocess.run(["sh", "-c", built["curl"]], check=True, capture_output=True, timeout=20)
    ours, curls = taker.taken
    assert curls.body == ours.body and curls.field("content-type") == ours.field("content-type")


def test_a_path_in_the_file_name_is_not_told(wire, tmp_path):
    (tmp_path / "a b.txt").write_bytes(b"x")
    form = result(wire.call("multipart.encode", {"parts": [{"name": "n", "file": f"{tmp_path}/a b.txt"}]}))
    text = base64.b64decode(form["base64"]).decode()
    assert str(tmp_path) not in text and 'filename="a b.txt"' in text


@pytest.mark.parametrize("more, pointer", [
    ({"to": "file"}, "/to"),
    ({"to": "file", "fed": True}, "/to"),
    ({"threshold": 0}, "/parts"),
    ({"path": "form"}, "/path"),
])
def test_a_form_that_finds_no_room_is_no_error_of_the_service(wire, tmp_path, more, pointer):
    """A form that cannot be written fails with 1231 and the cause, wherever it was to go."""
    more, text = dict(more), "x" * 100_000
    parts = [{"name": "a", "text": text}]
    if more.pop("fed", False):
        stream = result(wire.call("upload.open"))["stream"]
        result(wire.call("stream.write", {"stream": stream, "text": text}))
        result(wire.call("stream.finish", {"stream": stream}))
        parts = [{"name": "a", "stream": stream}]
    if "path" in more:
        more["path"] = str(tmp_path / more["path"])
    pid = result(wire.call("server.info"))["pid"]
    limits = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (50_000, limits[1]))
    error = wire.call("multipart.encode", {"parts": parts, **more})["error"]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, limits)
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer), error
    assert error["data"]["failure"] == {
        "code": 1231, "kind": "multipartEncodingFailed", "reason": "outputStreamWriteFailed"}
    assert "file too large" in error["message"] and not (tmp_path / "form").exists()
    parts = [{"name": "a", "text": text}]
    assert result(wire.call("multipart.encode", {"parts": parts, "to": "file"}))["size"] > 100_000
