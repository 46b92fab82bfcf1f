# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Downloads that are interrupted, by cancelling or by the network, and go on, with servers that do or do not help."""

import base64
import socket
import time

import contract
import pytest
from download_client import PART, SIZE, download, failure, hidden, interrupted, journal, resumed, server, slow, to
from range_server import DATE, OTHER, Ranging
from request_client import result, until

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
__all__ = ["server"]


# Cancelling


def test_cancelling_can_give_what_to_go_on_with(wire, server, tmp_path):
    """[O8] [O9] [O11] [O12] [3.L.14] [3.L.18]"""
    path = tmp_path / "file"
    request = slow(wire, server, path)
    cancelled = result(wire.call("request.cancel", {"request": request, "resumeData": True}))
    assert cancelled["state"] == "cancelled" and journal(cancelled["resumeData"])["held"] == [[0, PART]]
    response = result(wire.call("request.wait", {"request": request}))
    assert response["resumeData"] == cancelled["resumeData"] == response["error"]["data"]["resumeData"]
    assert response["error"]["code"] == 1900 and "partial file" in response["body"]["note"]
    assert result(wire.call("request.get", {"request": request}))["resumeData"] == cancelled["resumeData"]
    assert not path.exists() and len(hidden(tmp_path)) == 2
    server.go.set()
    number = wire.start("download.resume", {"resumeData": cancelled["resumeData"], "events": ["progress", "finish"]})
    request = result(wire.reply(number))["request"]
    told = []
    while True:
        message = wire.receive()
        if message.get("method") == "event.finish":
            break
        told.append(message["params"]["completed"])
    assert message["params"]["response"]["ok"] and told and told[0] > PART and told[-1] == SIZE
    assert server.ranges() == [None, f"bytes={PART}-"]
    assert path.read_bytes() == server.data and hidden(tmp_path) == []


def test_plain_cancelling_keeps_nothing(wire, server, tmp_path):
    """[O7] [3.L.5] [3.L.12]"""
    request = slow(wire, server, tmp_path / "file")
    assert result(wire.call("request.cancel", {"request": request})) == {"state": "cancelled"}
    response = result(wire.call("request.wait", {"request": request}))
    assert "resumeData" not in response and "data" not in response["error"]
    assert "deleted" in response["body"]["note"] and hidden(tmp_path) == []
    assert "resumeData" not in result(wire.call("request.cancel", {"request": request, "resumeData": True}))
    error = wire.call("download.resume", {"request": request})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32013, "/request")


def test_cancelling_again_and_again_loses_nothing(wire, server, tmp_path):
    path = tmp_path / "file"
    data = None
    for round in range(1, 6):
        server.stop, server.go = 100_000, type(server.go)()
        params = {"resumeData": data} if data else {"url": server.url("/fine"), "destination": to(path)}
        request = result(wire.call("download.resume" if data else "download.start", params))["request"]
        deadline = time.monotonic() + 20
        while result(wire.call("request.get", {"request": request}))["progress"]["received"] < round * 100_000:
            assert time.monotonic() < deadline
        data = result(wire.call("request.cancel", {"request": request, "resumeData": True}))["resumeData"]
        assert journal(data)["held"] == [[0, round * 100_000]]
        server.go.set()
    assert resumed(wire, resumeData=data)["ok"] and path.read_bytes() == server.data


def test_a_running_download_is_not_resumed(wire, server, tmp_path):
    request = slow(wire, server, tmp_path / "file")
    error = wire.call("download.resume", {"request": request})["error"]
    assert error["code"] == -32013 and error["data"]["pointer"] == "/request"
    server.go.set()
    assert result(wire.call("request.wait", {"request": request}))["ok"]


# The network


class Dripping(Ranging):
    """Gives the first response byte by byte once PART of it has gone, for as long as the client reads."""

    def respond(self, connection, manner, fields):
        if "range" in fields:
            return super().respond(connection, manner, fields)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\nETag: {self.etag}\r\n\r\n"
        connection.sendall(head.encode() + self.data[:PART])
        for byte in self.data[PART:]:
            connection.sendall(bytes([byte]))
            if self.ended.wait(0.02):
                return False
        return True


def test_a_server_that_only_drips_is_given_up_and_asked_for_the_rest(wire, tmp_path):
    """It is never silent for long, so only a rate tells that it is no good."""
    with Dripping(SIZE) as server:
        response = download(
            wire, server.url("/fine"), destination=to(tmp_path / "f"), retry={"limit": 1, "scale": 0},
            timeout={"idle": 0.5, "minRate": 10_000},
        )
        assert response["ok"] and response["attempts"] == 2 and (tmp_path / "f").read_bytes() == server.data
        (first, second) = server.ranges()
        assert first is None and PART <= int(second.removeprefix("bytes=").rstrip("-")) < PART + 1000


def test_a_rate_is_not_held_against_a_client_that_takes_its_time(wire, server):
    """Only time in which the server is waited for counts."""
    params = {"url": server.url("/fine"), "bodyTo": "stream", "timeout": {"idle": 3, "minRate": 1_000_000}}
    stream = result(wire.call("data.send", params))["body"]["stream"]
    found, end = b"", False
    while not end:
        piece = result(wire.call("stream.read", {"stream": stream, "bytes": 100_000}))
        found, end = found + base64.b64decode(piece["base64"]), piece["end"]
        # longer in all than what the rate would allow
        wire.call("diagnostics.sleep", {"seconds": 0.4})
    assert found == server.data and "error" not in piece


class Vague(Ranging):
    """Never tells the length of the file: chunks without an end at first, then parts of 400,000 bytes at most."""

    first = PART

    def respond(self, connection, manner, fields):
        tag = f"ETag: {self.etag}\r\n"
        if "range" not in fields:
            head = f"HTTP/1.1 200 OK\r\n{tag}Transfer-Encoding: chunked\r\n\r\n{SIZE:x}\r\n"
            connection.sendall(head.encode() + self.data[: self.first])
            connection.shutdown(socket.SHUT_WR)
            return False
        first = int(fields["range"].removeprefix("bytes=").rstrip("-"))
        body = self.data[first : first + 400_000]
        span = f"{first}-{first + len(body) - 1}/*" if body else f"*/{SIZE}"
        head = f"HTTP/1.1 {206 if body else 416} Vague\r\n{tag}Content-Range: bytes {span}\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return True


@pytest.mark.parametrize(
    ("first", "ranges"), [(PART, ["300000-", "700000-", "1000000-"]), (SIZE, ["1000000-"])], ids=["parts", "end"]
)
def test_a_file_of_unknown_length_ends_where_the_server_has_no_more(wire, tmp_path, first, ranges):
    """A part of an unknown whole is not the end, and the 416 at the end is no failure."""
    with Vague(SIZE) as server:
        server.first = first
        retry = {"limit": 1, "scale": 0}
        validate = {"status": ["200..299"], "contentType": True}
        handlers = [{"id": "own", "validate": validate, "serialize": {"as": "base64"}}]
        response = download(
            wire, server.url("/f"), destination=to(tmp_path / "f"), retry=retry, validate=True, handlers=handlers)
        assert response["ok"] and response["status"] == 416, response
        # the rules of a handler do not see the 416 either
        assert response["results"][0]["ok"], response["results"][0].get("error")
        assert (tmp_path / "f").read_bytes() == server.data and hidden(tmp_path) == []
        assert server.ranges() == [None, *(f"bytes={one}" for one in ranges)]


def test_parts_of_unknown_length_obey_the_limit_of_a_body(wire, tmp_path):
    with Vague(SIZE) as server:
        retry = {"limit": 1, "scale": 0}
        url, place = server.url("/f"), to(tmp_path / "f")
        failure(download(wire, url, destination=place, retry=retry, maxBody=500_000), 1411, "500000")
        assert server.ranges() == [None, "bytes=300000-"] and not (tmp_path / "f").exists()


def test_a_post_is_not_sent_again_for_the_rest_of_a_file(wire, server, tmp_path):
    """[RFC 9110 section 14.2] Servers know ranges of GET only, and a POST may have an effect each time."""
    server.cut = PART
    retry = {"limit": 1, "scale": 0, "methods": ["POST"]}
    place = to(tmp_path / "file")
    response = download(wire, server.url("/fine"), method="POST", destination=place, retry=retry, segments=4)
    assert response["ok"] and (tmp_path / "file").read_bytes() == server.data
    assert server.ranges() == [None, None]
    response = interrupted(wire, server, "/fine", tmp_path / "other", method="POST")
    assert "resumeData" not in response and hidden(tmp_path) == []


def test_a_lost_connection_leaves_something_to_go_on_with(wire, server, tmp_path):
    """[O10] [3.L.13]"""
    path = tmp_path / "file"
    response = interrupted(wire, server, "/fine", path)
    assert response["resumeData"] == response["error"]["data"]["resumeData"]
    assert resumed(wire, resumeData=response["resumeData"])["ok"] and path.read_bytes() == server.data
    assert server.ranges() == [None, f"bytes={PART}-"] and hidden(tmp_path) == []


def test_the_handle_and_the_path_say_as_much_as_the_data(wire, server, tmp_path):
    for way in ("request", "path"):
        path = tmp_path / way
        response = interrupted(wire, server, "/fine", path, headers={"X-Test": "1"})
        assert resumed(wire, **{way: response["request"] if way == "request" else str(path)})["ok"]
        assert path.read_bytes() == server.data
        # of a handle all is known, of a path only the file
        assert ("x-test" in server.requests[-1]["fields"]) == (way == "request")


def test_url_and_headers_can_be_others(wire, server, tmp_path):
    """As links that expire are, and tokens."""
    path = tmp_path / "file"
    response = interrupted(wire, server, "/fine/old", path, headers={"Authorization": "old", "X-Test": "1"})
    headers = {"Authorization": "new"}
    assert resumed(wire, request=response["request"], url=server.url("/fine/new"), headers=headers)["ok"]
    last = server.requests[-1]
    assert last["path"] == "/fine/new" and last["fields"]["authorization"] == "new" and last["fields"]["x-test"] == "1"
    assert path.read_bytes() == server.data


def test_a_retry_goes_on(wire, server, tmp_path):
    """[O13]"""
    server.cut = PART
    response = download(wire, server.url("/fine"), destination=to(tmp_path / "f"), retry={"limit": 1, "scale": 0})
    assert response["ok"] and response["attempts"] == 2 and server.ranges() == [None, f"bytes={PART}-"]
    assert (tmp_path / "f").read_bytes() == server.data


def test_a_retry_after_an_error_page_begins_anew(wire, server, tmp_path):
    server.statuses["fine"] = 503
    number = wire.start(
        "download.send",
        {
            "url": server.url("/fine"),
            "destination": to(tmp_path / "f"),
            "retry": {"limit": 1, "scale": 0.2},
            "events": ["retry"],
        },
    )
    assert wire.receive()["method"] == "event.retry"
    server.statuses.clear()
    events, reply = until(wire, number)
    assert result(reply)["ok"] and server.ranges() == [None, None]
    assert (tmp_path / "f").read_bytes() == server.data


def test_what_cannot_be_told_from_something_else_is_begun_anew(wire, server, tmp_path):
    for url in ("/bare", "/weak"):
        path = tmp_path / url.strip("/")
        response = interrupted(wire, server, url, path)
        assert "resumeData" not in response and hidden(tmp_path) == []
        # unless its digest says what it is
        checksum = {"sha-256": server.digest()}
        response = interrupted(wire, server, url, path, checksum=checksum)
        assert resumed(wire, resumeData=response["resumeData"], checksum=checksum)["ok"]
        assert path.read_bytes() == server.data and server.ranges()[-1] == f"bytes={PART}-"


@pytest.mark.parametrize(("sent", "is_kept"), [(DATE, False), (OTHER, True)])
def test_a_date_of_the_same_second_tells_no_versions_apart(wire, server, tmp_path, sent, is_kept):
    """The file may change once more in that second (RFC 9110 section 8.8.2.2)."""
    server.fields = [f"Date: {sent}"]
    response = interrupted(wire, server, "/dated", tmp_path / "file")
    assert ("resumeData" in response) is is_kept and bool(hidden(tmp_path)) is is_kept


# Twelve servers that do not do as they should

RESTARTED, CHANGED, KEPT, EXACT = "restarted", "changed", "kept", "exact"
WAYS = [
    # how it responds when the rest is asked for, what comes of it by default, with restart, with fail
    ("deaf", RESTARTED, RESTARTED, CHANGED),
    ("retagged", CHANGED, RESTARTED, CHANGED),
    ("weak", RESTARTED, RESTARTED, CHANGED),
    ("bare", RESTARTED, RESTARTED, CHANGED),
    ("shifted", KEPT, KEPT, KEPT),
    ("silent", KEPT, KEPT, KEPT),
    ("lengthened", CHANGED, RESTARTED, CHANGED),
    ("shrunk", CHANGED, RESTARTED, CHANGED),
    ("stubborn", CHANGED, RESTARTED, CHANGED),
    ("refusing", CHANGED, RESTARTED, CHANGED),
    ("short", EXACT, EXACT, EXACT),
    ("coded", CHANGED, RESTARTED, CHANGED),
    ("busy", KEPT, KEPT, KEPT),
    ("dated", EXACT, EXACT, EXACT),
    ("fine", EXACT, EXACT, EXACT),
]


@pytest.mark.parametrize("wish", [None, "restart", "fail"])
@pytest.mark.parametrize("way", WAYS, ids=[way[0] for way in WAYS])
def test_a_server_that_misbehaves_never_spoils_a_file(wire, server, tmp_path, way, wish):
    """What arrives is exact, or there is nothing; what was kept stays, unless it is begun anew."""
    manner, expectation = way[0], way[1 + [None, "restart", "fail"].index(wish)]
    path = tmp_path / "file"
    begun = interrupted(wire, server, "/dated" if manner == "dated" else "/fine", path)
    params = {"resumeData": begun["resumeData"], "url": server.url("/" + manner)}
    response = resumed(wire, **params, **({"whenChanged": wish} if wish else {}))
    assert server.ranges()[1] == f"bytes={PART}-"
    if expectation in (EXACT, RESTARTED):
        assert response["ok"], response
        assert path.read_bytes() == server.data and hidden(tmp_path) == []
        assert (response["status"] == 200) == (expectation == RESTARTED)
        return
    assert not path.exists() and len(hidden(tmp_path)) == 2
    code = {CHANGED: (1805,), KEPT: (1408, 1600)}[expectation]
    assert response["error"]["code"] in code, response
    if expectation == CHANGED:
        assert response["error"]["data"]["expected"] and response["error"]["data"]["actual"]
    # nothing is lost: a server that does it right ends it
    again = resumed(wire, resumeData=response["resumeData"], url=server.url("/fine"))
    assert again["ok"] and again["status"] == 206 and path.read_bytes() == server.data


def test_another_version_is_not_spliced(wire, server, tmp_path):
    """Strong tags decide; then the date; the date alone where there are no tags."""
    old = server.data
    for url, change in [("/fine", "etag"), ("/dated", "date")]:
        path = tmp_path / change
        server.data, server.etag, server.date = old, '"first"', DATE
        begun = interrupted(wire, server, url, path)
        server.data = old[::-1]
        setattr(server, change, {"etag": '"second"', "date": OTHER}[change])
        response = resumed(wire, resumeData=begun["resumeData"])
        error = failure(response, 1805)
        assert str(len(old)) in error["data"]["expected"] and error["data"]["actual"] != error["data"]["expected"]
        response = resumed(wire, resumeData=response["resumeData"], whenChanged="restart")
        assert response["ok"] and path.read_bytes() == old[::-1]


def test_a_digest_comes_before_every_tag(wire, server, tmp_path):
    path = tmp_path / "file"
    checksum = {"sha-256": server.digest()}
    begun = interrupted(wire, server, "/fine", path)
    response = resumed(wire, resumeData=begun["resumeData"], url=server.url("/retagged"), checksum=checksum)
    assert response["ok"] and response["status"] == 206 and path.read_bytes() == server.data
    begun = interrupted(wire, server, "/fine", tmp_path / "other")
    server.data = server.data[::-1]
    response = resumed(wire, resumeData=begun["resumeData"], url=server.url("/retagged"), checksum=checksum)
    failure(response, 1806)
    assert not (tmp_path / "other").exists() and hidden(tmp_path) == []


def test_if_range_is_sent_only_when_asked_for(wire, server, tmp_path):
    for wish, sent in [(False, None), (True, '"first"')]:
        path = tmp_path / str(wish)
        begun = interrupted(wire, server, "/fine", path)
        assert resumed(wire, resumeData=begun["resumeData"], ifRange=wish)["ok"]
        assert server.requests[-1]["fields"].get("if-range") == sent and path.read_bytes() == server.data
    begun = interrupted(wire, server, "/fine", tmp_path / "changed")
    server.data, server.etag = server.data[::-1], '"second"'
    response = resumed(wire, resumeData=begun["resumeData"], ifRange=True)
    assert response["status"] == 200 and (tmp_path / "changed").read_bytes() == server.data


def test_a_part_that_nobody_asked_for_is_not_taken_for_the_whole(wire, server, tmp_path):
    failure(download(wire, server.url("/unasked"), destination=to(tmp_path / "f")), 1408, "206")
    own = download(wire, server.url("/fine"), destination=to(tmp_path / "own"), headers={"Range": "bytes=10-19"})
    assert own["status"] == 206 and (tmp_path / "own").read_bytes() == server.data[10:20]


class Leading(Ranging):
    """Leads to another server."""

    target = ""

    def response(self, manner, fields):
        return 302, [f"Location: {self.target}"], b""


@pytest.mark.parametrize("how", ["resumeData", "path", "url"])
def test_what_is_for_the_first_origin_does_not_go_to_the_one_that_it_led_to(wire, server, tmp_path, how):
    """A redirect drops it; to go on with the file sent it there."""
    path, secret = tmp_path / "file", "s3cret"
    spec = {"headers": {"X-Api-Key": secret}, "auth": {"bearer": secret},
            "interceptors": [{"headers": {"X-A": secret}}], "cookies": {"extra": [{"name": "id", "value": secret}]}}
    session = result(wire.call("session.create", {"headers": {"X-Session": secret}}))["session"]
    with Leading() as first:
        first.target, server.cut = server.url("/fine?signed"), PART
        begun = download(wire, first.url("/file"), destination=to(path), session=session, **spec)
        data = begun["error"]["data"]["resumeData"]
        assert secret not in str(server.requests) and str(first.requests).count(secret) == 5
        named = {"path": str(path)} if how == "path" else {"resumeData": data}
        if how == "url":
            named["url"] = server.url("/fine?signed")
        assert resumed(wire, **named, **spec, session=session)["ok"] and path.read_bytes() == server.data
        assert server.ranges() == [None, f"bytes={PART}-"] and len(first.requests) == 1
        # who names the URL means it
        assert str(server.requests[-1]).count(secret) == (5 if how == "url" else 0)
