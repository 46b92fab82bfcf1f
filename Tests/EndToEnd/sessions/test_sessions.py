# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Interceptors without code, and sessions: what requests have in common, and how many go at once."""

import time

import contract
import pytest
from callback_client import credentials, exchange, second, sent
from capture_server import HELD, Capture
from request_client import get, result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def create(wire, **params):
    return result(wire.call("session.create", params))["session"]


# Interceptors


INTERCEPTORS = [
    ({"headers": {"X-A": "1"}}, {"X-A": "1"}),
    ({"headers": [{"name": "X-A", "value": "1"}, {"name": "X-B", "value": "2"}]}, {"X-A": "1", "X-B": "2"}),
    ({"basic": {"user": "ada", "password": "p:w"}}, {"Authorization": credentials("ada", "p:w")}),
    ({"bearer": "t0ken"}, {"Authorization": "Bearer t0ken"}),
    ({"chain": [{"bearer": "one"}, {"headers": {"Authorization": "two"}}]}, {"Authorization": "two"}),
]


@pytest.mark.parametrize(("interceptor", "fields"), INTERCEPTORS)
def test_interceptors_do_the_same_inline_and_by_handle(wire, origin, interceptor, fields):
    handle = result(wire.call("interceptor.create", {"interceptor": interceptor}))["interceptor"]
    for one in (interceptor, handle):
        seen, _ = sent(get(wire, origin + "/echo", interceptors=[one]))
        assert fields.items() <= seen.items()


def test_interceptors_run_in_order_each_on_what_the_one_before_made(wire, origin):
    chain = [{"headers": {"X": "1"}}, {"query": {"b": 2}}, {"headers": {"x": "3"}}, {"query": {"c": "3"}}]
    seen, whole = sent(get(wire, origin + "/echo", query={"a": 1}, headers={"X": "0"}, interceptors=chain))
    assert whole["target"] == "/echo?a=1&b=2&c=3" and seen["x"] == "3" and "X" not in seen


BAD = [
    ({"interceptors": [{}]}, "/interceptors/0"),
    ({"interceptors": [{"bearer": "a", "query": {}}]}, "/interceptors/0"),
    ({"interceptors": [{"bearer": "a\nb"}]}, "/interceptors/0/bearer"),
    ({"interceptors": [{"headers": {"a b": "c"}}]}, "/interceptors/0/headers/a b"),
    ({"interceptors": [{"basic": {"user": "a:b", "password": ""}}]}, "/interceptors/0/basic/user"),
    ({"interceptors": [{"callback": ""}]}, "/interceptors/0/callback"),
    ({"interceptors": [{"callback": "x", "timeout": 0.01}]}, "/interceptors/0/timeout"),
    ({"interceptors": [{"bearer": "x", "decide": "pull"}]}, "/interceptors/0/decide"),
    ({"interceptors": [{"bearer": "x", "asks": ["adapt"]}]}, "/interceptors/0/asks"),
    ({"interceptors": [{"callback": "x", "asks": []}]}, "/interceptors/0/asks"),
    ({"interceptors": [{"callback": "x", "asks": ["sing"]}]}, "/interceptors/0/asks/0"),
    ({"interceptors": [{"chain": [{"bearer": 1}]}]}, "/interceptors/0/chain/0/bearer"),
    ({"interceptors": [7]}, "/interceptors/0"),
    ({"session": ""}, "/session"),
    ({"priority": "urgent"}, "/priority"),
]


@pytest.mark.parametrize(("params", "pointer"), BAD)
def test_bad_interceptors_are_refused_at_their_place(wire, origin, params, pointer):
    error = wire.call("data.send", {"url": origin + "/json", **params})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer, error


def test_chains_do_not_grow_without_end(wire):
    handle = result(wire.call("interceptor.create", {"interceptor": {"bearer": "x"}}))["interceptor"]
    for _ in range(8):
        handle = result(wire.call("interceptor.create", {"interceptor": {"chain": [handle, handle]}}))["interceptor"]
    error = wire.call("interceptor.create", {"interceptor": {"chain": [handle, handle]}})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, "/interceptor/chain")
    inline = [{"bearer": "x"}, {"chain": [{"chain": [handle, handle]}]}]
    error = wire.call("data.send", {"url": "http://127.0.0.1:1/", "interceptors": inline})["error"]
    assert error["data"]["pointer"] == "/interceptors/1/chain/0/chain"
    error = wire.call("data.send", {"url": "http://127.0.0.1:1/", "interceptors": [handle, handle]})["error"]
    assert error["data"]["pointer"] == "/interceptors"


def test_a_retry_policy_is_an_interceptor_too(wire, origin):
    retry = {"limit": 2, "scale": 0, "onStatus": True}
    for given in ({"interceptors": [{"retry": retry}]}, {"session": create(wire, interceptors=[{"retry": retry}])}):
        assert get(wire, origin + "/status/503", **given)["attempts"] == 3
    assert get(wire, "http://127.0.0.1:1/", interceptors=[{"retry": "connectionLost"}])["attempts"] == 1


def test_a_session_says_whether_redirects_are_followed(wire, origin):
    session = create(wire, redirect="none")
    assert get(wire, origin + "/redirect/1", session=session)["status"] == 302
    assert get(wire, origin + "/redirect/1", session=session, redirect="follow")["status"] == 200


def test_interceptors_of_another_client_are_unknown(listening, origin):
    with second(listening) as one, second(listening) as two:
        handle = result(one.call("interceptor.create", {"interceptor": {"bearer": "x"}}))["interceptor"]
        reply = two.call("data.send", {"url": origin + "/json", "interceptors": [handle]})
        assert reply["error"]["code"] == -32012
        assert result(two.call("interceptor.list")) == {"interceptors": []}


def test_a_deleted_interceptor_stays_where_it_is_used(wire, origin):
    handle = result(wire.call("interceptor.create", {"interceptor": {"headers": {"X": "1"}}}))["interceptor"]
    session = create(wire, interceptors=[handle])
    result(wire.call("interceptor.delete", {"interceptor": handle}))
    assert sent(get(wire, origin + "/echo", session=session))[0]["X"] == "1"


# Sessions


def test_a_session_says_what_its_requests_do_not(wire, origin):
    session = create(wire, headers={"X-A": "session", "X-B": "session"}, timeout=0.2)
    seen, _ = sent(get(wire, origin + "/echo", session=session, headers={"x-a": "request"}))
    assert seen["x-a"] == "request" and "X-A" not in seen and seen["X-B"] == "session"
    assert get(wire, origin + "/delay/5", session=session)["error"]["code"] == 1405
    assert get(wire, origin + "/delay/0.4", session=session, timeout=5)["ok"]


def test_all_values_of_a_field_of_a_session_are_sent(wire):
    """Of several values of a name, the first alone was sent."""
    session = create(wire, headers={"X-A": ["1", "2"], "X-B": ["1", "2"]})
    spec = {"url": "http://127.0.0.1:1/", "session": session, "headers": {"x-b": "3"}}
    built = result(wire.call("request.build", spec))
    fields = [(one["name"], one["value"]) for one in built["headers"] if one["name"].lower().startswith("x-")]
    assert sorted(fields) == [("X-A", "1"), ("X-A", "2"), ("x-b", "3")]


def test_a_session_shows_its_trust_and_tls_in_the_form_of_the_contract(wire):
    """Clients may send null for what is absent, and `[]` for an empty object; the service returns neither."""
    identity = {"certificate": "/a.pem", "passphrase": None, "_meta": {"a": 1}}
    tls = {"maxVersion": None, "groups": ["X25519", "P-256"], "roots": {"file": None, "system": True}}
    tls |= {"identity": identity, "identities": None, "_meta": {}}
    session = create(wire, tls=tls, trust={"pinnedCertificates": [], "callback": None, "_meta": {}})
    shown = result(wire.call("session.get", {"session": session}))
    assert shown["trust"] == {"pinnedCertificates": {}}
    assert shown["tls"] == {
        "groups": ["x25519", "secp256r1"], "roots": {"system": True}, "identity": {"certificate": "/a.pem"},
    }  # fmt: skip
    result(wire.call("session.update", {"session": session, "trust": {"publicKeys": {"pins": {}}}}))
    shown = result(wire.call("session.get", {"session": session}))
    assert shown["trust"] == {"publicKeys": {"pins": []}}


def test_a_request_is_built_as_its_session_would_send_it(wire, origin):
    session = create(wire, headers={"X-Key": "v", "Accept": "text/csv"})
    spec = {"url": origin + "/echo", "session": session, "headers": {"X-Own": "1"}}
    built = result(wire.call("request.build", spec))
    seen, shown = sent(get(wire, **spec))[0], {one["name"]: one["value"] for one in built["headers"]}
    for name, value in [("X-Key", "v"), ("Accept", "text/csv"), ("X-Own", "1")]:
        assert seen[name] == shown[name] == value
    unknown = {**spec, "session": "nothing"}
    refused, expected = (wire.call(method, unknown)["error"] for method in ("request.build", "data.send"))
    assert refused == expected


def test_the_interceptors_of_a_session_come_first(wire, origin):
    session = create(wire, interceptors=[{"headers": {"X": "session"}}, {"callback": "s"}])
    spec = {"url": origin + "/echo", "session": session, "interceptors": [{"callback": "r"}]}
    names = []

    def adapt(params):
        names.append(params["callback"])
        return {"headers": {"X": params["callback"]}}

    response, callbacks = exchange(wire, "request", spec, {"adapt": adapt})
    assert names == ["s", "r"] and sent(response)[0]["X"] == "r"
    assert callbacks[0][1]["session"] == session


def test_a_session_has_a_name_for_its_own_client_only(listening, origin):
    with second(listening) as one, second(listening) as two:
        session = create(one, name="api", headers={"X": "1"})
        assert sent(get(one, origin + "/echo", session="api"))[0]["X"] == "1"
        for name in ("api", session):
            assert two.call("data.send", {"url": origin, "session": name})["error"]["code"] == -32012
        create(two, name="api", headers={"X": "2"})
        assert sent(get(two, origin + "/echo", session="api"))[0]["X"] == "2"


def test_a_shared_session_is_everybodys_and_outlives_its_maker(listening, origin):
    with second(listening) as two:
        with second(listening) as one:
            create(one, name="api", shared=True, headers={"X": "1", "Authorization": "Bearer s3cret"})
            assert sent(get(two, origin + "/echo", session="api"))[0]["X"] == "1"
            assert two.call("session.create", {"name": "api", "shared": True})["error"]["code"] == -32013
        assert sent(get(two, origin + "/echo", session="api"))[0]["X"] == "1"
        shown = result(two.call("session.get", {"session": "api"}))
        assert shown["shared"] and "s3cret" not in str(shown)
        result(two.call("session.update", {"session": "api", "headers": {"X": "2"}}))
        assert sent(get(two, origin + "/echo", session="api"))[0]["X"] == "2"
        result(two.call("session.close", {"session": "api"}))
        assert two.call("data.send", {"url": origin, "session": "api"})["error"]["code"] == -32012


def test_the_code_of_a_shared_session_is_that_of_its_maker(listening, origin):
    with second(listening) as two:
        with second(listening) as one:
            create(one, name="api", shared=True, interceptors=[{"callback": "sign", "asks": ["adapt"]}])
            number = two.start("data.send", {"url": origin + "/echo", "session": "api"})
            message = one.receive()
            assert message["method"] == "callback.adapt" and message["params"]["session"] == "api"
            one.send({"jsonrpc": "2.0", "id": message["id"], "result": {"headers": {"X": "1"}}})
            assert sent(result(two.reply(number)))[0]["X"] == "1"
        error = get(two, origin + "/echo", session="api")["error"]
        assert error["code"] == 1300 and error["underlying"]["code"] == -32022


BAD_SESSIONS = [
    ({"name": "default"}, "/name"),
    ({"name": ""}, "/name"),
    ({"name": "ses_x"}, "/name"),
    ({"shared": True}, "/name"),
    ({"headers": {"a b": "c"}}, "/headers/a b"),
    ({"limits": {"concurrent": 0}}, "/limits/concurrent"),
    ({"limits": {"rate": {"seconds": 1}}}, "/limits/rate/requests"),
    ({"connectionsPerHost": 0}, "/connectionsPerHost"),
    ({"interceptors": ["int_nothing"]}, "/interceptors/0"),
]


@pytest.mark.parametrize(("params", "pointer"), BAD_SESSIONS)
def test_bad_settings_of_a_session_are_refused_at_their_place(wire, params, pointer):
    error = wire.call("session.create", params)["error"]
    assert error["code"] in (-32602, -32012) and error["data"]["pointer"] == pointer


def test_the_default_session_is_nobodys_to_change(wire):
    for method in ("session.update", "session.close"):
        assert wire.call(method, {"session": "default"})["error"]["code"] == -32014


# Many requests


def test_a_session_says_how_many_connections_an_origin_gets(wire):
    """And what one waits for, another does not."""
    with Capture(response=HELD) as capture:
        narrow = create(wire, connectionsPerHost=1)
        for _ in range(2):
            result(wire.call("data.start", {"url": capture.url(), "session": narrow}))
        capture.take()
        assert result(wire.call("server.stats"))["pool"]["waiting"] == 1 and capture.requests.empty()
        result(wire.call("session.update", {"session": narrow, "connectionsPerHost": 3}))
        result(wire.call("data.start", {"url": capture.url(), "session": narrow}))
        capture.take()


def test_a_change_of_a_session_is_for_requests_to_come(wire, origin):
    session = create(wire, headers={"X": "1"}, redirect="none", startImmediately=False)
    request = result(wire.call("data.start", {"url": origin + "/echo", "session": session}))
    change = {
        "session": session, "headers": {"Y": "2"}, "redirect": {"max": 3, "keepHeaders": ["Y"]},
        "startImmediately": True,
        "timeout": {"idle": 7, "resource": 8}, "interceptors": [{"query": {"a": 1}}, {"offline": True}],
        "limits": {"rate": {"requests": 9}},
    }  # fmt: skip
    told = result(wire.call("session.update", change))
    assert told["headers"] == [{"name": "Y", "value": "2"}] and told["startImmediately"] is True
    assert told["redirect"] == {"max": 3, "keepHeaders": ["Y"], "keepBody": False}
    assert told["timeout"]["idle"] == 7 and told["timeout"]["resource"] == 8 and told["timeout"]["total"] == 300
    assert told["interceptors"] == ["query", "offline"] and told["limits"]["rate"] == {"requests": 9, "seconds": 1}
    assert told == result(wire.call("session.get", {"session": session}))
    assert get(wire, origin + "/redirect/1", session=session)["status"] == 200
    fields, whole = sent(get(wire, origin + "/echo", session=session))
    assert fields["Y"] == "2" and "X" not in fields and whole["target"] == "/echo?a=1"
    result(wire.call("request.resume", request))
    fields, whole = sent(result(wire.call("request.wait", request)))
    assert fields["X"] == "1" and "Y" not in fields and whole["target"] == "/echo"


def test_requests_wait_for_those_that_run(listening, origin):
    with second(listening) as one, second(listening) as two:
        create(one, name="slow", shared=True, limits={"concurrent": 2})
        began = time.monotonic()
        spec = {"url": origin + "/delay/0.2", "session": "slow"}
        numbers = [(wire, wire.start("data.send", spec)) for wire in (one, two, one, two, one, two)]
        for wire in (one, two):
            mine = [number for who, number in numbers if who is wire]
            assert all(reply["result"]["ok"] for reply in wire.replies(mine).values())
        assert time.monotonic() - began >= 0.6
        counts = result(one.call("session.get", {"session": "slow"}))["requests"]
        assert counts == {"active": 0, "running": 0, "waiting": 0}


def test_so_many_begin_in_so_many_seconds(wire, origin):
    create(wire, name="polite", limits={"rate": {"requests": 5, "seconds": 1}})
    began = time.monotonic()
    numbers = [wire.start("data.send", {"url": origin + "/json", "session": "polite"}) for _ in range(6)]
    assert all(reply["result"]["ok"] for reply in wire.replies(numbers).values())
    # the sixth would be too many within the second
    assert time.monotonic() - began >= 1


def test_a_faster_rate_lets_those_that_wait_begin(wire, origin):
    create(wire, name="slow", limits={"rate": {"requests": 1, "seconds": 3600}})
    assert get(wire, origin + "/json", session="slow")["ok"]
    number = wire.start("data.send", {"url": origin + "/json", "session": "slow"})
    result(wire.call("session.update", {"session": "slow", "limits": {"rate": {"requests": 1, "seconds": 0.2}}}))
    assert wire.replies([number], 30)[number]["result"]["ok"]


def test_one_more_than_may_wait_fails(wire, origin):
    create(wire, name="s", limits={"concurrent": 1, "waiting": 1})
    numbers = [wire.start("data.send", {"url": origin + "/delay/0.2", "session": "s"}) for _ in range(3)]
    replies = [one["result"] for one in wire.replies(numbers).values()]
    failed = [one["error"] for one in replies if not one["ok"]]
    assert [one["code"] for one in failed] == [1411] and "limits.waiting" in failed[0]["message"], failed


def test_suspended_requests_take_nobodys_place(wire, origin):
    create(wire, name="s", limits={"concurrent": 1})
    first = result(wire.call("data.start", {"url": origin + "/delay/0.3", "session": "s"}))["request"]
    result(wire.call("session.suspendAll", {"session": "s"}))
    assert get(wire, origin + "/json", session="s")["ok"]
    result(wire.call("session.resumeAll", {"session": "s"}))
    assert result(wire.call("request.wait", {"request": first}))["ok"]


def test_a_request_that_waits_for_its_turn_can_be_cancelled(wire, origin):
    create(wire, name="s", limits={"concurrent": 1})
    first = wire.start("data.send", {"url": origin + "/delay/0.3", "session": "s"})
    second_one = result(wire.call("data.start", {"url": origin + "/json", "session": "s"}))["request"]
    wire.call("request.cancel", {"request": second_one})
    response = result(wire.call("request.wait", {"request": second_one}))
    assert response["error"]["code"] == 1900
    assert get(wire, origin + "/json", session="s")["ok"]
    assert first


def test_all_of_a_session_are_cancelled_and_no_others(wire, origin):
    create(wire, name="s")
    mine = [result(wire.call("data.start", {"url": origin + "/delay/5", "session": "s"}))["request"]
            for _ in range(100)]
    other = result(wire.call("data.start", {"url": origin + "/delay/0.5"}))["request"]
    assert result(wire.call("session.cancelAll", {"session": "s"})) == {"cancelled": 100}
    for request in mine:
        assert result(wire.call("request.get", {"request": request}))["state"] == "cancelled"
    assert result(wire.call("session.get", {"session": "s"}))["requests"]["active"] == 0
    assert result(wire.call("request.wait", {"request": other}))["ok"]


def test_the_default_session_reaches_the_requests_of_its_client(listening, origin):
    with second(listening) as one, second(listening) as two:
        mine = result(one.call("data.start", {"url": origin + "/delay/5"}))["request"]
        yours = result(two.call("data.start", {"url": origin + "/delay/0.5"}))["request"]
        assert result(one.call("session.suspendAll")) == {"suspended": 1}
        assert result(one.call("session.cancelAll")) == {"cancelled": 1}
        assert result(one.call("request.get", {"request": mine}))["state"] == "cancelled"
        assert result(two.call("request.wait", {"request": yours}))["ok"]


def test_closing_a_session_ends_what_runs_unless_told_otherwise(wire, origin):
    for cancel, code in ((True, 1902), (False, None)):
        session = create(wire)
        runs = result(wire.call("data.start", {"url": origin + "/delay/0.3", "session": session}))["request"]
        result(wire.call("session.close", {"session": session, "cancel": cancel}))
        response = result(wire.call("request.wait", {"request": runs}))
        assert response.get("error", {}).get("code") == code
        assert wire.call("session.get", {"session": session})["error"]["code"] == -32012


def test_nothing_starts_by_itself_where_the_session_says_so(wire, origin):
    create(wire, name="s", startImmediately=False)
    request = result(wire.call("data.start", {"url": origin + "/json", "session": "s"}))["request"]
    waited = result(wire.call("request.wait", {"request": request, "timeout": 0.1}))
    assert waited == {"pending": True, "state": "created"}
    at_once = result(wire.call("data.send", {"url": origin + "/json", "session": "s"}))
    assert at_once["ok"], "what a call waits for is sent at once"
    started = result(wire.call("data.start", {"url": origin + "/json", "session": "s", "startImmediately": True}))
    assert result(wire.call("request.wait", started))["ok"], "a request's own word counts"
    result(wire.call("session.resumeAll", {"session": "s"}))
    assert result(wire.call("request.wait", {"request": request}))["ok"]


def test_what_was_not_started_can_be_cancelled(wire, origin):
    request = result(wire.call("data.start", {"url": origin + "/json", "startImmediately": False}))["request"]
    wire.call("request.cancel", {"request": request})
    response = result(wire.call("request.wait", {"request": request}))
    assert response["error"]["code"] == 1900 and response["attempts"] == 0


def test_flushing_closes_what_lies_idle(wire, origin):
    get(wire, origin + "/json")
    assert result(wire.call("server.stats"))["pool"]["idle"] == 1
    result(wire.call("session.flush"))
    deadline = time.monotonic() + 5
    while result(wire.call("server.stats"))["pool"]["idle"] and time.monotonic() < deadline:
        pass
    assert result(wire.call("server.stats"))["pool"]["idle"] == 0
    assert get(wire, origin + "/json")["ok"]
