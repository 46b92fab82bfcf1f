# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Event streams over the wire: which responses open them, and when they are opened again."""

import json

import contract
import pytest
from event_server import CHUNKED, GONE, OPEN, RESET, STREAM, EventServer, chunk, status
from event_stream_client import QUICK, Source

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def server():
    with EventServer() as server:
        yield server


@pytest.fixture
def other():
    with EventServer() as server:
        yield server


def test_the_stream_goes_on_from_the_last_id_until_the_server_says_no(wire, server):
    responses = [
        [STREAM, b"retry: 60\nid: 1\ndata: a\n\nid: 2\n\nid: 3\ndata: lost"],
        [STREAM, "id: ž\ndata: b\n\n".encode()],
        [STREAM, b"id:\ndata: c\n\n"],
        [GONE],
    ]
    url = server.at("/ids", *responses)
    assert Source(wire, url).rest() == (["a", "b", "c"], 2012)
    seen = server.seen["/ids"]
    ids = [one.headers.get("last-event-id") for one in seen]
    assert [ids[0], ids[1], ids[3]] == [None, "2", None]
    assert seen[2].headers["last-event-id"] == "ž"
    assert all(later.at - one.at >= 0.055 for one, later in zip(seen, seen[1:])), "the server asked for 60 ms"


def test_many_streams_that_come_back_together_wait_for_their_callbacks(wire, server, other):
    """More than may wait on a connection: half of the places is for them, and none fails for want of a place."""
    ways = {"interceptors": [{"callback": "sign", "asks": ["adapt"]}], "reconnect": QUICK, "wait": "response"}
    streams = []
    for number in range(80):
        home = other if number % 2 else server
        url = home.at(f"/{number}", [STREAM, b"data: a\n\n", home.held()], [STREAM, b"data: b\n\n", OPEN])
        opened = wire.call("sse.open", {"url": url, **ways})
        streams.append(opened["result"]["stream"])
    server.release()
    other.release()
    asked = [wire.receive(20) for _ in range(32)]
    assert all(message["method"] == "callback.adapt" and message["params"]["retries"] == 1 for message in asked)
    # callbacks of other requests would give up after three seconds in which none ends
    with pytest.raises(TimeoutError):
        wire.receive(3.5)
    for message in asked:
        wire.send({"jsonrpc": "2.0", "id": message["id"], "result": {}})
    for stream in streams:
        data = []
        while len(data) < 2:
            found = wire.call("stream.read", {"stream": stream}, 20)["result"]
            assert "error" not in found, found
            data += [event["data"] for event in found["values"]]
        assert data == ["a", "b"]


def test_a_last_id_of_the_caller_is_where_it_begins(wire, server):
    url = server.at("/from", [STREAM, b"data: a\n\n"], [GONE])
    source = Source(wire, url, lastEventId="41", reconnect=QUICK)
    assert source.next()["id"] == "41"
    assert source.rest() == ([], 2012)
    again = server.at("/header", [STREAM, b"data: a\n\n"], [GONE])
    Source(wire, again, headers={"Last-Event-ID": "7"}, reconnect=QUICK).rest()
    assert [one.headers["last-event-id"] for one in server.seen["/from"]] == ["41", "41"]
    assert [one.headers["last-event-id"] for one in server.seen["/header"]] == ["7", "7"]


def test_an_id_that_no_field_can_hold_is_not_sent(wire, server):
    url = server.at("/odd", [STREAM, b"id: a\x01b\ndata: a\n\n"], [GONE])
    source = Source(wire, url, reconnect=QUICK)
    assert source.next()["id"] == "a\x01b"
    assert source.rest() == ([], 2012)
    assert "last-event-id" not in server.seen["/odd"][1].headers


@pytest.mark.parametrize("death", [[RESET], [b""], []], ids=["reset", "chunk cut", "end"])
def test_a_server_that_dies_in_an_event_is_asked_again(wire, server, death):
    head = CHUNKED if death == [b""] else STREAM
    data = b"id: 1\ndata: a\n\ndata: ha"
    url = server.at("/die", [head, chunk(data) if head == CHUNKED else data, *death], [STREAM, b"data: b\n\n"], [GONE])
    assert Source(wire, url, reconnect=QUICK).rest() == (["a", "b"], 2012)
    assert server.seen["/die"][1].headers["last-event-id"] == "1"


def test_a_silent_server_is_given_up_for_another_connection(wire, server):
    url = server.at("/silent", [STREAM, b"data: a\n\n", OPEN], [STREAM, b"data: b\n\n"], [GONE])
    assert Source(wire, url, timeout={"idle": 0.3}, reconnect=QUICK).rest() == (["a", "b"], 2012)
    server.wait_gone("/silent")


@pytest.mark.parametrize("code", [500, 503, 429])
def test_a_server_in_trouble_is_asked_again_once_it_was_well(wire, server, code):
    again = [status(code, more="Retry-After: 0\r\n")]
    url = server.at("/busy", [STREAM, b"data: a\n\n"], again, again, [STREAM, b"data: b\n\n"], [GONE])
    assert Source(wire, url, reconnect=QUICK).rest() == (["a", "b"], 2012)


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (status(503), 1600), (status(404), 1600), (status(201, b"data: no\n\n", "text/event-stream"), 1600),
        (status(200, b"data: no\n\n"), 2010), (STREAM.replace(b"Content-Type: text/event-stream\r\n", b""), 2010),
        (GONE, 2012), (b"", 1404), (b"HTTP/1.1 what\r\n\r\n", 1408),
    ],
)  # fmt: skip
def test_the_first_response_must_be_an_event_stream(wire, server, response, code):
    url = server.at("/first", [response], [STREAM, b"data: no\n\n"])
    source = Source(wire, url, wait="response", reconnect=QUICK)
    response = source.reply["result"]["response"]
    assert (response["ok"], response["error"]["code"]) == (False, code)
    assert source.rest() == ([], code)
    assert len(server.seen["/first"]) == 1


def test_the_body_of_a_refusal_is_not_lost(wire, server):
    body = b'{"error":{"message":"no such model"}}'
    url = server.at("/model", [status(400, body, "application/json")])
    reply = wire.call("sse.open", {"url": url, "body": {"json": {}}, "wait": "response"})
    assert reply["result"]["response"]["body"]["json"] == json.loads(body)


def test_the_first_connection_may_fail_where_that_is_asked_for(wire, server):
    url = server.at("/start", [status(503)], [b""], [STREAM, b"data: a\n\n"], [GONE])
    assert Source(wire, url, reconnect={**QUICK, "initial": True}).rest() == (["a"], 2012)


def test_there_is_a_limit_to_attempts_that_bring_nothing(wire, server):
    url = server.at("/limit", [STREAM, b"data: a\n\n"], [status(503)], [STREAM, b":\n"], [status(503)])
    source = Source(wire, url, reconnect={**QUICK, "max": 3})
    assert source.data(1) == ["a"]
    error = source.next("event.end")["error"]
    assert error["code"] == 2011 and error["data"]["cause"]["code"] == 1600
    assert len(server.seen["/limit"]) == 6, "one that brought something begins the count anew"


def test_a_server_that_wants_no_delay_and_sends_nothing_reaches_the_limit(wire, server):
    url = server.at("/nothing", [STREAM, b"retry: 0\ndata: a\n\n"], [STREAM])
    source = Source(wire, url, reconnect={"max": 3})
    assert source.data(1) == ["a"]
    assert source.next("event.end")["error"]["code"] == 2011
    assert len(server.seen["/nothing"]) == 4


@pytest.mark.parametrize("code", [404, 401, 200])
def test_what_will_not_pass_ends_it(wire, server, code):
    url = server.at("/end", [STREAM, b"data: a\n\n"], [status(code)], [STREAM, b"data: b\n\n"])
    assert Source(wire, url, reconnect=QUICK).rest() == (["a"], 2010 if code == 200 else 1600)


def test_a_post_is_not_repeated_by_itself(wire, server):
    url = server.at("/once", [CHUNKED, chunk(b"data: a\n\n")], [STREAM, b"data: b\n\n"])
    assert Source(wire, url, body={"text": "x"}).rest() == (["a"], 1404)
    assert Source(wire, url, body={"text": "x"}, retry={"methods": ["POST"], "scale": 0}).rest() == (["b"], None)
    assert len(server.seen["/once"]) == 2
    again = server.at("/again", [CHUNKED, chunk(b"data: a\n\n")], [STREAM, b"data: b\n\n"], [GONE])
    assert Source(wire, again, body={"text": "x"}, reconnect={**QUICK, "enabled": True}).rest() == (["a", "b"], 2012)
    assert [one.body for one in server.seen["/again"]] == [b"x"] * 3


def test_a_retry_of_the_caller_does_not_repeat_what_was_delivered(wire, server):
    url = server.at("/retry", [CHUNKED, chunk(b"data: a\n\n")], [STREAM, b"data: b\n\n"])
    policy = {"methods": ["POST"], "scale": 0}
    assert Source(wire, url, body={"text": "x"}, retry=policy).rest() == (["a"], 1404)


def test_redirects_are_followed_each_time_and_the_id_goes_along(wire, server):
    with EventServer() as other:
        target = other.at("/there", [STREAM, b"id: 1\ndata: a\n\n"], [STREAM, b"data: b\n\n"], [GONE])
        url = server.at("/here", [status(307, more=f"Location: {target}\r\n")])
        assert Source(wire, url, reconnect=QUICK).rest() == (["a", "b"], 2012)
        assert len(server.seen["/here"]) == 3
        assert [one.headers.get("last-event-id") for one in other.seen["/there"]] == [None, "1", "1"]
        assert {one.headers["accept"] for one in other.seen["/there"]} == {"text/event-stream"}


def test_the_events_of_the_request_tell_of_every_connection(wire, server):
    url = server.at("/told", [STREAM, b"data: a\n\n"], [GONE])
    number = wire.start("sse.open", {"url": url, "reconnect": QUICK, "events": ["retry", "response", "finish"]})
    stream, told = wire.reply(number)["result"]["stream"], []
    while not told or told[-1]["method"] != "event.finish":
        told.append(wire.receive())
    names = [message["method"] for message in told]
    assert names == ["event.response", "event.retry", "event.response", "event.finish"]
    assert told[1]["params"]["error"]["code"] == 1404 and 0.05 <= told[1]["params"]["delay"] <= 0.0625
    assert told[-1]["params"]["response"]["attempts"] == 2
    assert wire.call("stream.read", {"stream": stream})["result"]["values"][0]["data"] == "a"


def test_a_stream_that_lasts_remembers_only_its_last_attempts(wire, server):
    url = server.at("/long", *[[STREAM, b"retry: 0\ndata: a\n\n"]] * 40, [GONE])
    source = Source(wire, url, metrics=True)
    assert source.rest() == (["a"] * 40, 2012)
    shown = wire.call("request.wait", {"request": source.request})["result"]
    assert shown["attempts"] == 41
    assert 16 <= len(shown["metrics"]["attempts"]) <= 17
