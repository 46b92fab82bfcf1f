# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Requests of the blocking client, against the real service."""

from __future__ import annotations

import asyncio
import errno
import json
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import outrider
import pytest
from outrider import Client, Response
from peers import PATTERN, Peer

MakePeer = Callable[..., Peer]


def test_a_get_has_status_fields_and_body(client: Client, origin: str) -> None:
    r = client.get(f"{origin}/json", params={"q": "a b"})
    assert (r.status, r.ok, r.method, r.url) == (200, True, "GET", f"{origin}/json?q=a%20b")
    assert r.headers["content-TYPE"] == "application/json" and "Content-Length" in r.headers
    assert r.content == b'{"id":1,"x":0.1}' and r.text == '{"id":1,"x":0.1}' and r.json() == {"id": 1, "x": 0.1}
    assert (r.attempts, r.redirects, r.error, r.body_kind, r.complete) == (1, [], None, "base64", True)
    assert r.size == 16 and r.request and r.http_version == "1.1" and r.remote
    assert repr(r) == f"<Response [200] GET {origin}/json?q=a%20b>"


def test_repeated_fields_are_kept(client: Client, origin: str) -> None:
    headers = client.get(f"{origin}/headers").headers
    assert headers.get_all("x-twice") == ["one", "two"] and headers["X-Twice"] == "one, two"
    assert headers.get("x-none") is None and headers.get("x-none", "-") == "-"
    assert "x-twice" in list(headers) and len(headers) == len(headers.keys()) == len(headers.values())
    with pytest.raises(KeyError):
        headers["x-none"]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options"])
def test_each_method_sends_what_it_is_given(client: Client, origin: str, method: str) -> None:
    r = getattr(client, method)(f"{origin}/echo", json={"a": "ë"}, headers={"X-A": "1"}, auth=("u", "p"))
    seen = r.json()
    fields = {name.lower(): value for name, value in seen["headers"]}
    assert seen["method"] == method.upper() and json.loads(seen["body"]) == {"a": "ë"}
    assert fields["content-type"] == "application/json" and fields["x-a"] == "1"
    assert fields["authorization"] == "Basic dTpw"


def test_bodies_of_every_kind_arrive(client: Client, origin: str, tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"from a file")
    url = f"{origin}/echo"
    assert client.post(url, data="tëxt").json()["body"] == "tëxt"
    assert client.post(url, data=b"bytes", content_type="image/png").json()["body"] == "bytes"
    assert client.post(url, data={"a": 1, "b": ["x", "y"]}).json()["body"] == "a=1&b=x&b=y"
    assert client.post(url, data=[("a", "1"), ("a", "2")]).json()["body"] == "a=1&a=2"
    assert client.post(url, file=file).json()["body"] == "from a file"
    with file.open("rb") as opened:
        assert client.post(url, data=opened).json()["body"] == "from a file"


def test_pairs_keep_their_order(client: Client, origin: str) -> None:
    pairs = [("a", "1"), ("b", "2"), ("a", "3")]
    seen = client.post(f"{origin}/echo", params=pairs, data=pairs).json()
    assert (seen["target"], seen["body"]) == ("/echo?a=1&b=2&a=3", "a=1&b=2&a=3")
    assert client.request("get", f"{origin}/echo").json()["method"] == "GET"


def test_a_body_that_is_too_long_for_a_message_can_be_a_file(client: Client, origin: str, tmp_path: Path) -> None:
    body = b"x" * 13_000_000
    with pytest.raises(outrider.LimitError, match="as file=, or where the client waits for a response"):
        client.start("POST", f"{origin}/echo", data=body)
    (tmp_path / "body").write_bytes(body)
    with (tmp_path / "body").open("rb") as file:
        assert len(client.post(f"{origin}/echo", data=file).content) > len(body)


def test_a_command_must_name_a_program() -> None:
    for kind in (Client, outrider.AsyncClient):
        with pytest.raises(ValueError, match="command must name a program"):
            kind(command=[])


def test_without_any_file_there_is_no_form_of_files(client: Client, origin: str) -> None:
    for files in ({}, [], ()):
        seen = client.post(f"{origin}/echo", files=files, data={"a": 1}).json()
        assert seen["body"] == "a=1"
        assert client.post(f"{origin}/echo", files=files, json=[1]).json()["body"] == "[1]"
    [r] = client.many([("POST", f"{origin}/echo")], files={}, data="x")
    assert isinstance(r, outrider.Response) and r.json()["body"] == "x"


def test_files_and_fields_are_one_form(client: Client, origin: str, tmp_path: Path) -> None:
    file = tmp_path / "wolf.txt"
    file.write_bytes(b"from a file")
    seen = client.post(f"{origin}/echo", data={"title": "Wölfe"}, files={"photo": file, "raw": ("a.bin", b"x")}).json()
    kind = dict(seen["headers"])["Content-Type"]
    mark = kind.removeprefix("multipart/form-data; boundary=")
    names = [part.split("\r\n")[1] for part in seen["body"].split(f"--{mark}")[1:-1]]
    assert names == [
        'Content-Disposition: form-data; name="title"',
        'Content-Disposition: form-data; name="photo"; filename="wolf.txt"',
        'Content-Disposition: form-data; name="raw"; filename="a.bin"',
    ]
    assert "Wölfe" in seen["body"] and "from a file" in seen["body"]


def test_a_head_has_no_body(client: Client, origin: str) -> None:
    r = client.head(f"{origin}/json")
    assert r.status == 200 and r.content == b"" and list(r.iter_bytes()) == []


def test_a_status_is_an_error_only_when_asked(client: Client, origin: str) -> None:
    r = client.get(f"{origin}/status/404")
    assert r.status == 404 and not r.ok and r.error is None
    assert r.raise_for_error() is r
    with pytest.raises(outrider.StatusError, match="404") as caught:
        r.raise_for_status()
    assert caught.value.response is r and caught.value.code == 1600 and not caught.value.retryable
    client.get(f"{origin}/json").raise_for_status()


def test_what_the_service_is_to_judge_raises_its_own_error(client: Client, origin: str) -> None:
    with pytest.raises(outrider.StatusError) as status:
        client.get(f"{origin}/status/404", validate=True)
    assert status.value.code == 1600 and status.value.response.status == 404
    assert status.value.response.text == "404 Not Found\n"
    schema = {"properties": {"id": {"type": "string"}}}
    with pytest.raises(outrider.SchemaError) as misfit:
        client.get(f"{origin}/json", serialize={"schema": schema})
    assert misfit.value.instance_pointer == "/id"
    assert misfit.value.response.json() == {"id": 1, "x": 0.1}
    with pytest.raises(outrider.ValidationError) as body:
        client.get(f"{origin}/json", validate={"schema": schema})
    assert body.value.instance_pointer == "/id"
    with pytest.raises(outrider.ResponseTooLarge):
        client.get(f"{origin}/json", max_body=3)


def test_one_response_can_be_had_in_several_shapes(client: Client, origin: str) -> None:
    cases = [{"name": "value", "when": {"status": [200]}, "as": "json"}]
    handlers = [{"id": "text", "serialize": {"as": "text"}}, {"id": "none", "validate": {"status": [204]}}]
    r = client.get(f"{origin}/json", serialize={"cases": cases}, handlers=handlers)
    assert (r.case, r.json()) == ("value", {"id": 1, "x": 0.1})
    assert r.results["text"]["body"]["text"] == '{"id":1,"x":0.1}'
    assert r.results["none"]["error"]["code"] == 1600


def test_a_refused_connection_raises_and_carries_the_response(client: Client) -> None:
    with pytest.raises(outrider.ConnectError) as caught:
        client.get("http://127.0.0.1:1/")
    problem = caught.value
    assert (problem.code, problem.kind, problem.reason) == (1402, "sessionTaskFailed", "refused")
    assert problem.retryable and problem.response.status == 0 and problem.response.url == "http://127.0.0.1:1/"
    r = client.get("http://127.0.0.1:1/", check=False)
    assert isinstance(r.error, outrider.ConnectError) and not r.ok
    with pytest.raises(outrider.ConnectError):
        r.raise_for_error()
    with pytest.raises(outrider.ConnectError):
        r.raise_for_status()


def test_a_body_that_was_cut_short_is_not_lost(client: Client, peer: MakePeer) -> None:
    cut = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nthe beginning")
    with pytest.raises(outrider.ConnectionLost) as caught:
        client.get(cut.url)
    assert caught.value.response.content == b"the beginning" and caught.value.response.status == 200
    assert caught.value.response.complete is False


def test_text_goes_by_the_charset(client: Client, peer: MakePeer) -> None:
    body = "Zoë".encode("latin-1")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Length: 3\r\n\r\n"
    assert client.get(peer(head + body).url).text == "Zoë"
    r = client.get(peer(head + body).url, serialize="text")
    assert (r.body_kind, r.text, r.content) == ("text", "Zoë", body)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'\xef\xbb\xbf{"a": "\xc3\xab"}', {"a": "ë"}),
        ('{"a": "ë"}'.encode("utf-16"), {"a": "ë"}),
        ('{"a": "ë"}'.encode("utf-16-le"), {"a": "ë"}),
        ('{"a": "ë"}'.encode("utf-16-be"), {"a": "ë"}),
        ('{"a": "ë"}'.encode("utf-32"), {"a": "ë"}),
        (b" [1]\n", [1]),
        (b"not JSON", None),
        (b"", None),
        (b"\xff", None),
        (b"[1] 2", None),
    ],
)
def test_json_is_read_as_it_should_be_written(client: Client, peer: MakePeer, body: bytes, value: object) -> None:
    r = client.get(peer(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)).url)
    assert r.content == body
    if value is not None:
        assert r.json() == value
        return
    with pytest.raises(ValueError):
        r.json()


def test_json_in_the_charset_that_its_server_names(client: Client, peer: MakePeer) -> None:
    def get(text: str, charset: str, **options: Any) -> Response:
        body = text.encode(charset)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset={charset}\r\n"
        return client.get(peer(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body).url, **options)

    assert get('{"a":"ë"}', "iso-8859-1").json() == {"a": "ë"}
    assert get('{"a":"ë"}', "utf-8").json() == {"a": "ë"}
    for charset in ("utf-16", "utf-16le"):
        r = get('{"a":"ë"}', charset, serialize="json")
        assert (r.body_kind, r.text, r.encoding) == ("json", '{"a":"ë"}', charset)
        assert r.content == '{"a":"ë"}'.encode(charset) and r.json() == {"a": "ë"}


def test_numbers_too_large_for_a_float_are_written_again(client: Client, peer: MakePeer) -> None:
    body = b'[1e999,-1e999,{"Infinity":"\\"Infinity"}]'
    r = client.get(peer(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)).url, serialize="json")
    assert (r.body_kind, r.content, r.text) == ("json", body, body.decode())


@pytest.mark.parametrize("charset", ["undefined", "idna", "nonsense", "hex", "rot13", '"a b"'])
def test_a_charset_that_is_none_is_as_if_there_were_none(client: Client, peer: MakePeer, charset: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset={charset}\r\nContent-Length: 3\r\n\r\n"
    r = client.get(peer(head.encode() + "aë".encode()).url)
    assert (r.text, list(r.iter_lines())) == ("aë", ["aë"])


def test_a_byte_order_mark_is_no_part_of_the_text(client: Client, peer: MakePeer) -> None:
    url = peer(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\xef\xbb\xbfx").url
    assert client.get(url).text == "x"


def test_a_timeout_raises(client: Client, origin: str) -> None:
    began = time.monotonic()
    with pytest.raises(outrider.RequestTimeout) as caught:
        client.get(f"{origin}/delay/20", timeout=0.2)
    assert isinstance(caught.value, TimeoutError) and caught.value.code == 1405
    assert time.monotonic() - began < 15


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:99999/", "nonsense", "http://[::1", "ftp://127.0.0.1/", "http://a b/"]
)
def test_a_wrong_url_names_the_parameter(client: Client, url: str) -> None:
    with pytest.raises(ValueError) as caught:
        client.get(url)
    assert isinstance(caught.value, outrider.OutriderError) and caught.value.pointer == "/url"


def test_wrong_parameters_are_named(client: Client) -> None:
    with pytest.raises(outrider.InvalidCall) as caught:
        client.call("diagnostics.sleep", seconds="soon")
    assert caught.value.pointer == "/seconds" and caught.value.code == -32602
    with pytest.raises(outrider.UnknownMethod):
        client.call("no.such")
    with pytest.raises(outrider.HandleError):
        client.call("response.read", response="rsp_aaaaaaaaaaaaaaaa")


@pytest.mark.parametrize("name", ["", "x" * 200])
def test_a_call_that_is_refused_as_a_message_leaves_the_connection(client: Client, name: str) -> None:
    client.info()
    connection = client._connection
    with pytest.raises(outrider.InvalidCall, match="method must have 1 to 128 characters") as caught:
        client.invoke(name)
    assert (caught.value.code, isinstance(caught.value, ValueError)) == (-32600, True)
    assert client.info() and client._connection is connection


def test_any_method_can_be_called(client: Client) -> None:
    assert client.call("diagnostics.echo", a=1, name="x", b=None, timeout=3) == {
        "a": 1,
        "name": "x",
        "b": None,
        "timeout": 3,
    }
    assert client.invoke("diagnostics.echo") == {}
    assert client.info()["protocol"] == 1 and client.stats()


@pytest.mark.parametrize("size", [8_388_609, 9_000_000])
def test_a_large_body_is_fetched_when_asked_for(client: Client, origin: str, size: int) -> None:
    r = client.get(f"{origin}/bytes/{size}")
    assert r.body_kind == "stored" and r.size == size and r.handle
    assert r.content == PATTERN[:size]
    with pytest.raises(outrider.HandleError):
        client.call("response.read", response=r.handle)


def test_a_large_body_can_be_read_in_pieces_saved_and_given_back(client: Client, origin: str, tmp_path: Path) -> None:
    with client.get(f"{origin}/bytes/2000000", body_to="stored") as r:
        pieces = list(r.iter_bytes(300_000))
        assert [len(piece) for piece in pieces] == [300_000] * 6 + [200_000]
        assert b"".join(pieces) == PATTERN[:2_000_000]
        saved = r.save(tmp_path / "saved")
        assert Path(saved).read_bytes() == PATTERN[:2_000_000]
        with pytest.raises(outrider.OutriderError):
            r.save(tmp_path / "saved")
        r.save(tmp_path / "saved", replace=True)
    r.close()
    with pytest.raises(outrider.HandleError):
        list(r.iter_bytes())


def test_a_small_body_can_be_saved_and_read_in_pieces(client: Client, origin: str, tmp_path: Path) -> None:
    r = client.get(f"{origin}/bytes/1000")
    assert [len(piece) for piece in r.iter_bytes(300)] == [300, 300, 300, 100]
    r.save(tmp_path / "small")
    assert (tmp_path / "small").read_bytes() == PATTERN[:1000]
    with pytest.raises(FileExistsError):
        r.save(tmp_path / "small")
    with pytest.raises(ValueError, match="chunk_size"):
        list(r.iter_bytes(0))


@pytest.mark.parametrize("size", [10, 2_000_000])
def test_what_cannot_be_saved_raises_the_same_for_any_size(
    client: Client, service: str, origin: str, tmp_path: Path, size: int
) -> None:
    there = tmp_path / "there"
    there.write_bytes(b"")
    r = client.get(f"{origin}/bytes/{size}")
    with pytest.raises(FileExistsError) as exists:
        r.save(there)
    with pytest.raises(FileNotFoundError) as missing:
        r.save(tmp_path / "none" / "file")
    for problem, path in ((exists.value, there), (missing.value, tmp_path / "none" / "file")):
        assert (problem.filename, type(pickle.loads(pickle.dumps(problem)))) == (str(path), type(problem))
    assert (exists.value.errno, missing.value.errno) == (errno.EEXIST, errno.ENOENT)
    assert str(exists.value) == f"[Errno {errno.EEXIST}] File exists: {str(there)!r}"

    async def work() -> None:
        async with outrider.AsyncClient(socket=service) as awaiting:
            with pytest.raises(FileExistsError):
                await (await awaiting.get(f"{origin}/bytes/{size}", body_to="stored")).save(there)

    asyncio.run(work())


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 400_000, 1_048_576])
def test_bodies_of_any_size_are_exact(client: Client, origin: str, size: int) -> None:
    assert client.get(f"{origin}/bytes/{size}").content == PATTERN[:size]


def test_many_requests_come_back_in_order(client: Client, origin: str) -> None:
    urls = [f"{origin}/bytes/{size}" for size in range(300)]
    for window in (1, 7, 64, 256):
        responses = client.many(urls, window=window)
        assert [len(r.content) for r in responses if isinstance(r, Response)] == list(range(300))


def test_one_failure_among_many_disturbs_nobody(client: Client, origin: str) -> None:
    requests: list[Any] = [
        f"{origin}/json",
        "http://127.0.0.1:1/",
        ("POST", f"{origin}/echo"),
        "http://127.0.0.1:99999/",
        {"url": f"{origin}/echo", "method": "PUT", "data": "x"},
        {"url": "http://127.0.0.1:1/", "check": False},
    ]
    a, b, c, d, e, f = client.many(requests, headers={"X-All": "1"})
    assert isinstance(a, Response) and a.status == 200
    assert isinstance(b, outrider.ConnectError) and b.response.status == 0
    assert isinstance(c, Response) and c.json()["method"] == "POST"
    assert isinstance(d, outrider.OutriderError) and d.pointer == "/url"
    assert isinstance(e, Response) and e.json()["body"] == "x"
    assert ["X-All", "1"] in e.json()["headers"]
    assert isinstance(f, Response) and f.error is not None
    assert client.many([]) == []
    with pytest.raises(ValueError, match="window"):
        client.many(["http://h/"], window=0)


def test_many_large_requests_and_responses_do_not_block_each_other(client: Client, origin: str) -> None:
    responses = client.many([{"url": f"{origin}/echo", "method": "POST", "data": "x" * 400_000}] * 40, window=40)
    assert [len(r.json()["body"]) for r in responses if isinstance(r, Response)] == [400_000] * 40


def test_started_requests_are_waited_for_and_cancelled(client: Client, origin: str) -> None:
    """And held up meanwhile. [AC1]"""
    request = client.start("GET", f"{origin}/json")
    done = client.wait(request)
    assert done is not None and done.json() == {"id": 1, "x": 0.1}
    request = client.start("GET", f"{origin}/delay/20")
    assert client.wait(request, timeout=0.05) is None
    assert (request.suspend(), request.resume()) == ("suspended", "sent")
    assert client.cancel(request) == "cancelled" and request.handle in repr(request)
    with pytest.raises(outrider.Cancelled):
        client.wait(request)
    with pytest.raises(outrider.Cancelled):
        request.response()
    assert request.info()["state"] == request.cancel() == "cancelled"
