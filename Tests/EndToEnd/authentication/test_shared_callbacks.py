# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Many requests that need one password ask for it once."""

import base64
import threading

import contract
import pytest
from callback_client import callback, reply_to
from digest_server import ADA, BASIC, PASSWORD, USER, Guard, session
from http_server import Listening
from request_client import get, result
from upload_server import Reader, Taken

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

MANY = 20
RIGHT = {"credential": ADA}
WRONG = {"credential": {**ADA, "password": "wrong"}}


def send(wire, url, count=MANY, **more):
    """Requests that are sent at once, by the numbers of their calls."""
    return [wire.start("data.send", {"url": url, **more}) for _ in range(count)]


def converse(wire, numbers, replies):
    """The responses to the calls, and the params of the callbacks; `replies` gives one for each callback."""
    responses, callbacks = {}, []
    while len(responses) < len(numbers):
        message = wire.receive(20.0)
        if "method" not in message:
            if message["id"] in numbers:
                responses[message["id"]] = result(message)
        elif message["method"] == "callback.challenge":
            callbacks.append(message["params"])
            reply_to(wire, message, next(replies, {}))
    return [responses[number] for number in numbers], callbacks


def statuses(responses):
    return [response["status"] for response in responses]


@pytest.mark.parametrize("challenges", [None, [BASIC]])
@pytest.mark.parametrize("where", ["session", "request", "both"])
def test_many_requests_ask_once_for_the_same_realm(wire, where, challenges):
    """By the code of their session, or by one of their own of the same name. [M15]"""
    with Guard("SHA-256", challenges=challenges) as guard:
        more = {} if where == "request" else {"session": session(wire, challenge=callback("of the session"))}
        if where != "session":
            more["challenge"] = callback("its own")
        numbers = send(wire, guard.url("/vault"), **more)
        responses, callbacks = converse(wire, numbers, iter([RIGHT]))
    assert statuses(responses) == [200] * MANY and not guard.faults
    assert [(one["callback"], one["failures"]) for one in callbacks] == [
        ("of the session" if where == "session" else "its own", 0)
    ]


def test_one_decision_serves_many_requests(wire):
    """[M15]"""
    with Guard() as guard:
        spec = {"url": guard.url("/vault"), "challenge": callback(how="pull")}
        requests = [result(wire.call("data.start", spec))["request"] for _ in range(MANY)]
        events = result(wire.call("events.next", {"wait": 15}, 20.0))["events"]
        decisions = [event["params"]["decision"] for event in events if event["method"] == "event.decision"]
        assert len(decisions) == 1
        result(wire.call("request.decide", {"decision": decisions[0], "answer": RIGHT}))
        ends = [result(wire.call("request.wait", {"request": request})) for request in requests]
        assert statuses(ends) == [200] * MANY
        assert result(wire.call("events.next", {"wait": 0}))["events"] == []


def test_a_wrong_password_is_asked_for_once_more_by_all_together(wire):
    """[M15] [M4]"""
    with Guard() as guard:
        numbers = send(wire, guard.url("/vault"), session=session(wire), challenge=callback())
        responses, callbacks = converse(wire, numbers, iter([WRONG, RIGHT]))
    assert statuses(responses) == [200] * MANY
    assert [one["failures"] for one in callbacks] == [0, 1]


class Reluctant(Listening):
    """Lets Ada in. Of the refusals without a password, only the first has its body before Ada is in."""

    def __init__(self):
        self.is_in, self.lock, self.strangers = threading.Event(), threading.Lock(), 0
        super().__init__()

    def serve(self, connection, number):
        connection.settimeout(30)
        reader = Reader(connection)
        while head := reader.until(b"\r\n\r\n"):
            said = Taken(head, number).field("authorization")
            if said == "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode():
                self.is_in.set()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                continue
            fields = f"WWW-Authenticate: {BASIC}\r\nContent-Length: 2\r\n"
            connection.sendall(f"HTTP/1.1 401 Unauthorized\r\n{fields}\r\n".encode())
            with self.lock:
                self.strangers += said is None
                is_slow = said is None and self.strangers > 1
            if is_slow:
                self.is_in.wait(20)
            connection.sendall(b"no")


def test_a_request_that_sends_the_wrong_password_late_takes_the_right_one(wire):
    """It waits for the rest of its refusal while the others ask again. [M15] [M4]"""
    with Reluctant() as server:
        result(wire.call("events.subscribe", {"topics": ["challenge.received"]}))
        numbers = send(wire, server.url("/"), 2, session=session(wire), challenge=callback())
        asked, refused = [], 0
        while not asked or refused < 2:
            message = wire.receive(20.0)
            refused += message["method"] == "event.monitor"
            if message["method"] == "callback.challenge":
                asked.append(message)
        reply_to(wire, asked[0], WRONG)
        responses, callbacks = converse(wire, numbers, iter([RIGHT]))
    assert statuses(responses) == [200] * 2
    assert [one["failures"] for one in callbacks] == [1]


def test_a_password_that_stays_wrong_is_not_asked_for_again_and_again(wire):
    """[M15] [M4]"""
    with Guard() as guard:
        numbers = send(wire, guard.url("/vault"), session=session(wire), challenge=callback())
        responses, callbacks = converse(wire, numbers, iter([WRONG] * MANY * 3))
    assert statuses(responses) == [401] * MANY
    assert [one["failures"] for one in callbacks] == [0, 1]
    # once by each; who comes to ask when it is known to be wrong does not send it at all
    assert 0 < sum(visit.said is not None for visit in guard.visits) <= MANY


def test_who_has_no_password_is_not_asked_for_each_request(wire):
    """[M15] [M9]"""
    with Guard() as guard:
        responses, callbacks = converse(wire, send(wire, guard.url("/vault"), challenge=callback()), iter([{}]))
    assert statuses(responses) == [401] * MANY and len(callbacks) == 1 and len(guard.visits) == MANY


def test_a_kept_password_serves_who_comes_before_it_has_proved_right(wire):
    """A request that is refused while another one shows the new password asks for none. [M15]"""
    with Guard() as guard:
        place = session(wire, challenge=callback())
        numbers = send(wire, guard.url("/vault"), 4, session=place)
        reply_to(wire, wire.receive(), RIGHT)
        numbers += send(wire, guard.url("/vault"), 4, session=place)
        responses, callbacks = converse(wire, numbers, iter([]))
    assert statuses(responses) == [200] * 8 and callbacks == []


def test_when_the_request_that_asks_is_cancelled_the_next_one_asks(wire):
    """[M15]"""
    with Guard() as guard:
        numbers = send(wire, guard.url("/vault"), 3, challenge=callback())
        message = wire.receive()
        wire.start("request.cancel", {"request": message["params"]["request"]})
        responses, callbacks = converse(wire, numbers, iter([RIGHT]))
    assert sorted(one.get("error", {}).get("code", one.get("status")) for one in responses) == [200, 200, 1900]
    assert len(callbacks) == 1 and callbacks[0]["request"] != message["params"]["request"]


def test_a_request_that_waits_for_the_callback_of_another_can_be_cancelled(wire):
    """[M15]"""
    with Guard() as guard:
        numbers = send(wire, guard.url("/vault"), 2, challenge=callback(), tag="mine")
        message = wire.receive()
        listed = result(wire.call("request.list", {"tag": "mine"}))["requests"]
        other = next(one["request"] for one in listed if one["request"] != message["params"]["request"])
        result(wire.call("request.cancel", {"request": other}))
        reply_to(wire, message, RIGHT)
        responses, callbacks = converse(wire, numbers, iter([]))
    assert sorted(one.get("error", {}).get("code", one.get("status")) for one in responses) == [200, 1900]
    assert callbacks == []


def test_each_waits_as_long_as_it_said(wire):
    """One whose client is not quick enough gives up; another that has more time asks in its place. [M15]"""
    with Guard() as guard:
        hasty = wire.start("data.send", {"url": guard.url("/vault"), "challenge": callback(timeout=3)})
        message = wire.receive()
        assert message["method"] == "callback.challenge"
        patient = wire.start("data.send", {"url": guard.url("/vault"), "challenge": callback(timeout=15)})
        impatient = wire.start("data.send", {"url": guard.url("/vault"), "challenge": callback(timeout=0.1)})
        responses, callbacks = converse(wire, [hasty, patient, impatient], iter([RIGHT]))
    assert statuses(responses) == [401, 200, 401]
    assert len(callbacks) == 1 and callbacks[0]["request"] != message["params"]["request"]


def test_other_realms_other_code_and_other_sessions_have_callbacks_of_their_own(wire):
    """[M15]"""
    with Guard(realm="one") as one, Guard(realm="two") as two:
        spec = {"url": one.url("/vault"), "challenge": callback("a")}
        other = {**spec, "session": session(wire)}
        specs = [spec, {**spec, "challenge": callback("b")}, {**spec, "url": two.url("/vault")}, other]
        numbers = [wire.start("data.send", each) for each in specs for _ in range(3)]
        responses, callbacks = converse(wire, numbers, iter([RIGHT] * 4))
    assert statuses(responses) == [200] * 12
    assert len(callbacks) == 4


def test_a_password_for_one_request_is_forgotten_with_it(wire):
    """[M15]"""
    with Guard() as guard:
        spec = {"challenge": callback(), "session": session(wire)}
        once = {**RIGHT, "persistence": "none"}
        numbers = send(wire, guard.url("/vault"), 5, **spec)
        responses, callbacks = converse(wire, numbers, iter([once]))
        assert statuses(responses) == [200] * 5 and len(callbacks) == 1
        responses, callbacks = converse(wire, send(wire, guard.url("/vault"), 5, **spec), iter([once]))
        assert statuses(responses) == [200] * 5 and len(callbacks) == 1
        assert get(wire, guard.url("/vault"), session=spec["session"])["status"] == 401
    assert PASSWORD not in str(callbacks)
