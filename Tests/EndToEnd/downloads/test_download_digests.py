# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Digests of parts: Content-Digest is of what a 206 brings, Repr-Digest of the whole file (RFC 9530)."""

import base64
import hashlib
import os

import contract
import pytest
from capture_server import Capture
from download_client import PART, SIZE, download, failure, hidden, interrupted, journal, resumed, server, to
from range_server import Ranging
from request_client import read_all

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
__all__ = ["server"]


def test_a_part_that_is_what_it_says_goes_into_the_file(wire, server, tmp_path):
    server.says = True
    path = tmp_path / "file"
    response = interrupted(wire, server, "/fine", path)
    assert resumed(wire, resumeData=response["resumeData"])["ok"]
    assert path.read_bytes() == server.data and server.parts == 1


def test_a_part_that_is_not_is_asked_for_again_and_nothing_else_is(wire, server, tmp_path):
    """What came before it stays; the wrong bytes do not, not even in the journal."""
    server.says, server.spoils = True, {0}
    path = tmp_path / "file"
    response = interrupted(wire, server, "/fine", path)
    wrong = resumed(wire, resumeData=response["resumeData"])
    error = failure(wrong, 1806, "Content-Digest", f"{PART}-{SIZE - 1}")
    whole = hashlib.sha256(server.data[PART:]).hexdigest()
    assert (error["data"]["algorithm"], error["data"]["expected"]) == ("sha-256", whole)
    assert error["data"]["actual"] != whole and not path.exists()
    assert journal(wrong["resumeData"])["held"] == [[0, PART]]
    assert resumed(wire, path=str(path))["ok"] and path.read_bytes() == server.data
    assert server.ranges() == [None, f"bytes={PART}-", f"bytes={PART}-"] and hidden(tmp_path) == []


def test_a_wrong_part_in_the_middle_leaves_a_gap_that_is_filled(wire, server, tmp_path):
    """Parts of 100,000 bytes: the second of them is wrong."""
    server.says, server.spoils = True, {1}
    path = tmp_path / "file"
    response = interrupted(wire, server, "/short", path)
    wrong = resumed(wire, resumeData=response["resumeData"])
    failure(wrong, 1806, f"{PART + 100_000}-{PART + 199_999}")
    assert journal(wrong["resumeData"])["held"] == [[0, PART + 100_000]]
    assert resumed(wire, resumeData=wrong["resumeData"])["ok"] and path.read_bytes() == server.data


def test_whoever_does_not_want_to_know_is_not_told(wire, server, tmp_path):
    server.says, server.spoils = True, {0}
    path = tmp_path / "file"
    response = interrupted(wire, server, "/fine", path)
    assert resumed(wire, resumeData=response["resumeData"], verifyDigest=False)["ok"]
    assert path.read_bytes() != server.data


def test_the_digest_of_the_representation_is_that_of_the_whole_file(wire, server, tmp_path):
    """A 206 has it, too, and it is not that of its bytes."""
    server.fields = [f"Repr-Digest: sha-256=:{server.digest_field()}:"]
    path = tmp_path / "file"
    response = interrupted(wire, server, "/fine", path)
    assert resumed(wire, resumeData=response["resumeData"])["ok"] and path.read_bytes() == server.data
    # and it finds what no digest of a part was there to find
    server.spoils, server.parts = {0}, 0
    path = tmp_path / "other"
    response = interrupted(wire, server, "/fine", path)
    wrong = resumed(wire, resumeData=response["resumeData"])
    failure(wrong, 1806, server.digest(), "the file is not kept")
    assert not path.exists() and hidden(tmp_path) == [] and "resumeData" not in wrong


def test_a_range_that_the_caller_asked_for_is_a_file_of_its_own(wire, server, tmp_path):
    """Then the content is the file, and the digest of the representation is of something else."""
    server.fields = [f"Repr-Digest: sha-256=:{server.digest_field()}:"]
    server.says, server.spoils = True, {1}
    part = {"headers": {"Range": "bytes=10-19"}}
    assert download(wire, server.url("/fine"), destination=to(tmp_path / "a"), **part)["ok"]
    assert (tmp_path / "a").read_bytes() == server.data[10:20]
    failure(download(wire, server.url("/fine"), destination=to(tmp_path / "b"), **part), 1806)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_segments_are_checked_one_by_one(wire, tmp_path, wrong):
    with Ranging(5_000_000) as server:
        server.says, server.spoils = True, {wrong}
        path = tmp_path / "file"
        response = download(wire, server.url("/fine"), destination=to(path), segments=4)
        error = failure(response, 1806, "Content-Digest")
        held = journal(response["resumeData"])["held"]
        first, last = (int(one) for one in error["message"].split("bytes ")[1].split(" ")[0].split("-"))
        assert all(end <= first or last < begin for begin, end in held), (held, first, last)
        assert resumed(wire, resumeData=response["resumeData"], segments=4)["ok"]
        assert path.read_bytes() == server.data and hidden(tmp_path) == []


def test_segments_that_are_right_make_the_file(wire, tmp_path):
    with Ranging(5_000_000) as server:
        server.says = True
        server.fields = [f"Repr-Digest: sha-256=:{server.digest_field()}:"]
        path = tmp_path / "file"
        assert download(wire, server.url("/fine"), destination=to(path), segments=4)["ok"]
        assert path.read_bytes() == server.data and server.parts == 3


@pytest.mark.parametrize("rule", [True, {"status": [200]}, {"contentType": ["video/*"]}])
def test_the_page_of_an_error_is_told_by_its_status_and_not_by_its_digest(wire, tmp_path, rule):
    page = b"HTTP/1.1 404 Gone\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ngone"
    digests = {"sha-256": hashlib.sha256(b"the file").hexdigest()}
    with Capture(response=page) as capture:
        path = tmp_path / "file"
        wrong = download(wire, capture.url(), destination=to(path), checksum=digests, validate=rule)
        failure(wrong, 1601 if "contentType" in str(rule) else 1600)
        assert read_all(wire, wrong["body"]["response"]) == b"gone" and os.listdir(tmp_path) == []
        # without a rule for the status the page is a file like any other
        failure(download(wire, capture.url(), destination=to(path), checksum=digests), 1806)


class Trailing(Ranging):
    """Says a digest behind the body, in a trailer."""

    def respond(self, connection, manner, fields):
        if manner != "trailing":
            return super().respond(connection, manner, fields)
        body, digest = self.data, self.digest_field()
        if "range" in fields:
            first = int(fields["range"][len("bytes=") :].rstrip("-"))
            body = self.data[first:]
            digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
            head = f"HTTP/1.1 206 Part\r\nContent-Range: bytes {first}-{SIZE - 1}/{SIZE}\r\n"
            head, body = head, self.part([], body)[1]
        else:
            head = "HTTP/1.1 200 OK\r\n"
        head += f"ETag: {self.etag}\r\nTransfer-Encoding: chunked\r\nTrailer: Content-Digest\r\n\r\n"
        cut, self.cut = self.cut, None
        connection.sendall(head.encode() + b"%x\r\n" % len(body) + body[:cut])
        if cut is None:
            connection.sendall(f"\r\n0\r\nContent-Digest: sha-256=:{self.trailer or digest}:\r\n\r\n".encode())
        return cut is None

    trailer = None


def test_a_trailer_says_as_much_as_a_field(wire, tmp_path):
    with Trailing(SIZE) as server:
        path = tmp_path / "file"
        assert download(wire, server.url("/trailing"), destination=to(path))["ok"]
        server.trailer = "A" * 43 + "="
        failure(download(wire, server.url("/trailing"), destination=to(tmp_path / "wrong")), 1806)
        assert not (tmp_path / "wrong").exists()
        server.trailer, server.spoils = None, {1}
        response = interrupted(wire, server, "/trailing", tmp_path / "part")
        assert resumed(wire, resumeData=response["resumeData"])["ok"]
        response = interrupted(wire, server, "/trailing", tmp_path / "spoilt")
        wrong = resumed(wire, resumeData=response["resumeData"])
        failure(wrong, 1806, f"{PART}-{SIZE - 1}")
        assert resumed(wire, resumeData=wrong["resumeData"])["ok"]
        assert (tmp_path / "spoilt").read_bytes() == (tmp_path / "part").read_bytes() == server.data
