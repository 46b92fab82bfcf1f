# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads and streams from a server that others wrote: nginx."""

import hashlib
import json
import random
import subprocess

import contract
import pytest
from download_client import PART, download, hidden, interrupted, resumed, to
from nginx_server import needs_nginx, nginx
from range_server import Ranging
from request_client import result
from stream_client import data, events, opened, whole

pytestmark = [
    pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it"),
    needs_nginx,
]

SIZE = 5_000_000
LINES = [{"n": number, "text": "x" * (number % 300)} for number in range(20_000)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "random").write_bytes(random.Random(1).randbytes(SIZE))
    (folder / "lines").write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return folder


@pytest.fixture(scope="module")
def web(files):
    # as modules for brotli and zstd serve files that were compressed beforehand
    for coding, command in (("br", ["brotli", "-cq", "1"]), ("zstd", ["zstd", "-cq"])):
        with (files / f"lines.{coding}").open("wb") as file:
            subprocess.run([*command, str(files / "lines")], stdout=file, check=True)
    place = "location ~ [.]{0}$ {{ gzip off; add_header Content-Encoding {0}; }} "
    more = place.format("br") + place.format("zstd")
    more += "chunked_transfer_encoding on; gzip on; gzip_types *; gzip_min_length 1; gzip_proxied any;"
    with nginx(files, more) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("segments", [1, 4])
def test_a_file_arrives(wire, web, files, tmp_path, segments):
    path = tmp_path / "file"
    digest = hashlib.sha256((files / "random").read_bytes()).hexdigest()
    wish = {"destination": to(path), "segments": segments, "checksum": {"sha-256": digest}}
    response = download(wire, web + "/random", **wish)
    assert response["ok"], response
    assert path.read_bytes() == (files / "random").read_bytes() and hidden(tmp_path) == []


@pytest.mark.parametrize("condition", [False, True])
def test_what_one_server_began_another_ends_only_if_it_is_the_same(wire, web, files, tmp_path, condition):
    """The first breaks off, with the tag that nginx gives; nginx has the rest. Then with a tag of its own."""
    content = (files / "random").read_bytes()
    head = download(wire, web + "/random", destination=to(tmp_path / "whole"))
    with Ranging() as other:
        other.data = content
        for tag, number in ((dict((h["name"].lower(), h["value"]) for h in head["headers"])["etag"], 1), ('"else"', 2)):
            other.etag = tag
            path = tmp_path / str(number)
            kept = interrupted(wire, other, "/fine", path)
            response = resumed(wire, resumeData=kept["resumeData"], url=web + "/random", ifRange=condition)
            if number == 1:
                assert response["ok"] and response["status"] == 206 and path.read_bytes() == content
            elif condition:
                # nginx gives all of what it has, in one piece
                assert response["ok"] and response["status"] == 200 and path.read_bytes() == content
            else:
                assert response["error"]["code"] == 1805 and not path.exists()
    assert PART < SIZE


def test_a_stream_is_the_file(wire, web, files):
    """Pushed as bytes, as far as there is credit."""
    opened(wire, web + "/random", mode="push", credit=1 << 30)
    assert b"".join(data(params) for name, params in events(wire) if name == "data") == (files / "random").read_bytes()


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_br_and_zstd_are_undone(wire, web, files, coding):
    """In memory, and in a stream."""
    content = (files / "lines").read_text()
    response = result(wire.call("data.send", {"url": f"{web}/lines.{coding}"}))
    assert response["ok"] and response["body"]["size"] == len(content)
    response = result(wire.call("data.send", {"url": f"{web}/lines.{coding}", "decode": False}))
    assert response["body"]["size"] == (files / f"lines.{coding}").stat().st_size
    opened(wire, f"{web}/lines.{coding}", mode="push", credit=1 << 30)
    assert b"".join(data(params) for name, params in events(wire) if name == "data").decode() == content


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("kind", ["ndjson", "json", "lines"])
def test_lines_and_values_are_found_in_what_nginx_sends(wire, web, kind, coding):
    """With gzip it comes in chunks, and without a length."""
    made = opened(wire, web + "/lines", **{"as": kind}, headers={"Accept-Encoding": coding})
    found, last = whole(wire, made["stream"], bytes=1 << 20)
    assert [json.loads(one) for one in found] == LINES if kind == "lines" else found == LINES
    assert "error" not in last
