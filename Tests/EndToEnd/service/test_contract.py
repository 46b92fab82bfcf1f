# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The service and the contract are the same: methods, parameters, results, events, transcripts, settings."""

import copy
import json
import os
import pathlib
import subprocess
import tempfile

import contract
import mutations
import pytest
import transcript
from socket_service import running

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

METHODS = sorted(contract.CONTRACT.methods)
ENDING = {"server.stop", "shutdown"}
TRANSCRIPTS = sorted((contract.ROOT / "schema/transcripts").glob("*/*.io"))
SETTINGS = contract.CONTRACT.document["x-outrider-settings"]
AT_ONCE = 64
NO_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400", "9223372036854775808", "1" * 400, "0x10", "01", "1."]


@pytest.fixture
def wire():
    with contract.Wire() as wire:
        yield wire


@pytest.fixture
def listening(tmp_path):
    """The path of a socket that a service of its own listens on."""
    path = str(tmp_path / "s")
    with running(path, stderr=subprocess.DEVNULL):
        yield path


# what the service writes there goes with it, and nothing is made outside
DOWNLOADS = tempfile.TemporaryDirectory(prefix="outrider-downloads-")


def at_origin(value, origin):
    """The examples name a server and a folder that the tests replace by their own."""
    text = json.dumps(value).replace("http://127.0.0.1:8080", origin)
    return json.loads(text.replace('"/srv/downloads', f'"{DOWNLOADS.name}'))


# What there is


def test_discover_gives_the_assembled_document_byte_for_byte(wire):
    wire.start("rpc.discover")
    line = wire.receive_line()
    assert line == b'{"jsonrpc":"2.0","id":1,"result":%s}' % contract.LINE.encode()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_the_contract_is_there(wire, method):
    """A misspelt name is told before a missing one: it may be the missing one."""
    takes_all = method in ("initialize", "diagnostics.echo")
    error = wire.call(method, {} if takes_all else {"stranger": 1}).get("error", {})
    assert error.get("code") != -32601
    assert takes_all or error["data"]["pointer"] == "/stranger", error


@pytest.mark.parametrize(("method", "params", "pointer"), [
    ("cookies.set", {"session": "default", "cookies": [{"nam": "a"}]}, "/cookies/0/nam"),
    ("data.send", {"url": "http://127.0.0.1:1/", "trust": {"publicKeys": {"pin": []}}}, "/trust/publicKeys/pin"),
    ("encode.form", {"parameters": [{"nam": "a"}]}, "/parameters/0/nam"),
    ("server.hello", {"client": {"nam": "a"}}, "/client/nam"),
    ("session.create", {"replay": {"pat": "/a"}}, "/replay/pat"),
    ("websocket.open", {"url": "ws://127.0.0.1:1/", "greeting": [{"txt": "a"}]}, "/greeting/0/txt"),
])  # fmt: skip
def test_so_is_one_in_a_nested_object(wire, method, params, pointer):
    error = wire.call(method, params)["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer, error


@pytest.mark.parametrize("method", ["data", "data.Send", "server.ping", "download.pause", "rpc.other", "event.data"])
def test_any_other_method_is_not(wire, method):
    assert wire.call(method)["error"]["code"] == -32601


def test_limits_are_those_of_the_contract(wire):
    limits = wire.call("server.info")["result"]["limits"]
    example = contract.CONTRACT.types["Limits"]["examples"][0]
    # a quarter of the descriptors that the service may have
    assert 64 <= limits.pop("connections") <= 10_240
    assert limits == {name: value for name, value in example.items() if name != "connections"}


def test_features_are_those_of_the_contract(wire):
    features = wire.call("server.info")["result"]["features"]
    assert features == dict.fromkeys(contract.CONTRACT.document["x-outrider-features"], True)


def bad_settings():
    """Flags with values that the contract does not allow."""
    for setting in SETTINGS:
        words = {"boolean": [], "string": []}.get(setting["type"], ["soon", "1e999", "-99999999999999999999"])
        words = words + (["soon"] if "enum" in setting else [])
        if "minimum" in setting:
            words.append(str(setting["minimum"] - 1))
        if "maximum" in setting:
            words.append(str(setting["maximum"] + 1))
        yield from ((setting["flag"], word) for word in words)


def serve(*arguments, **environment):
    """A service on stdio with nothing to read."""
    return subprocess.run(
        [contract.binary(), "serve", "--stdio", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda one: one["key"])
def test_every_setting_is_a_flag_that_help_explains(setting):
    shown = subprocess.run([contract.binary(), "serve", "--help"], capture_output=True, text=True, timeout=20).stdout
    words = shown.replace(",", " ").replace("=", " ").split()
    assert setting["flag"] in words
    assert setting["environment"] is None or "$" + setting["environment"] in shown.replace(";", " ").replace(",", " ")


@pytest.mark.parametrize("setting", [one for one in SETTINGS if one["default"]], ids=lambda one: one["key"])
def test_the_default_of_every_setting_is_accepted(setting):
    done = serve(setting["flag"] + "=" + str(setting["default"]))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize(("flag", "word"), bad_settings())
def test_a_setting_out_of_range_is_refused_by_name(flag, word):
    done = serve(flag + "=" + word)
    assert done.returncode not in (0, 1) and done.returncode > 0 and done.stdout == ""
    assert flag in done.stderr


def test_the_environment_is_checked_like_flags():
    done = serve(OUTRIDER_LOG="loud")
    assert done.returncode > 1 and "OUTRIDER_LOG" in done.stderr


# What is accepted, and what is refused


def run(wire, method, found, origin, seconds=30.0):
    """Sends mutations a few at a time; gives each with its reply."""
    for first in range(0, len(found), AT_ONCE):
        some = found[first : first + AT_ONCE]
        numbers = [wire.start(method, at_origin(mutation.params, origin)) for mutation in some]
        replies = wire.replies(numbers, seconds)
        yield from zip(some, [replies[number] for number in numbers])


def is_refused(error):
    """Whether the parameters were refused. The files that examples name need not exist."""
    reason = error.get("data", {}).get("failure", {}).get("reason")
    return error.get("code") == -32602 and reason != "fileWriteFailed"


def judge(method, mutation, reply):
    """What is wrong with the reply to a mutation, or None."""
    expected = mutation.problems(method)
    error = reply.get("error", {})
    if method == "diagnostics.fail" and not expected:
        return None
    if mutation.loose:
        return None
    if not expected:
        return f"must be accepted: {error}" if is_refused(error) else None
    if error.get("code") != -32602:
        return f"must be refused, because of {expected}: {json.dumps(reply)[:300]}"
    pointer = error.get("data", {}).get("pointer")
    if not isinstance(pointer, str) or pointer not in expected and not pointer.startswith(mutation.at):
        return f"the pointer is {pointer}, not {mutation.at}"
    if mutation.what == "added":
        told = set(error["data"].get("known", []))
        return None if told == mutation.known else f"known names are {sorted(told)}, not {sorted(mutation.known)}"
    return None


@pytest.mark.parametrize("method", METHODS)
def test_every_change_of_an_example_is_judged_as_the_contract_does(wire, origin, method):
    found = [one for one in mutations.mutations(method, mutations.WRONG)]
    if method in ENDING:
        found = [one for one in found if one.problems(method)]
    wrong = [f"{one}: {why}" for one, reply in run(wire, method, found, origin) if (why := judge(method, one, reply))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ENDING])
def test_the_example_itself_is_accepted(wire, origin, method):
    for example in mutations.examples(contract.CONTRACT.methods[method]):
        number = wire.start(method, at_origin(example, origin))
        error = wire.reply(number).get("error", {})
        assert not is_refused(error), f"{example}: {error}"


@pytest.mark.parametrize("method", METHODS)
def test_no_number_is_too_odd(wire, origin, method):
    found = list(mutations.mutations(method, mutations.NUMBERS))
    if method in ENDING:
        found = [one for one in found if one.problems(method)]
    wrong = [f"{one}: {why}" for one, reply in run(wire, method, found, origin) if (why := judge(method, one, reply))]
    assert not wrong, "\n".join(wrong)
    assert wire.call("diagnostics.echo", {"alive": True})["result"] == {"alive": True}


@pytest.mark.parametrize("text", NO_NUMBERS, ids=lambda text: text[:20])
def test_what_is_no_number_of_json_is_refused(wire, text):
    wire.send_text('{"jsonrpc":"2.0","id":1,"method":"diagnostics.sleep","params":{"seconds":%s}}' % text)
    message = json.loads(wire.receive_line())
    assert message["error"]["code"] == -32700
    assert wire.call("diagnostics.echo", {"alive": True})["result"] == {"alive": True}


def test_a_retry_policy_knows_the_failures_of_the_contract_and_no_others(wire):
    errors = contract.CONTRACT.types["Retry"]["properties"]["errors"]["items"]["enum"]
    assert wire.call("evaluate.retry", {"retry": {"errors": errors}})["result"] == {"retry": False}
    for word in errors:
        verdict = wire.call("evaluate.retry", {"retry": {"errors": [word], "scale": 0}, "error": word})["result"]
        assert verdict == {"retry": True, "delay": 0}, word
    message = wire.call("evaluate.retry", {"error": "stranger"})["error"]["message"]
    assert set(message.partition("one of ")[2].split(", ")) == set(errors)


# What the tests see in each message


BODY = {"kind": "none", "size": 0}
RESPONSE = {"ok": True, "url": "/", "method": "GET", "body": BODY, "attempts": 1, "redirects": []}
RESPONSE |= {"cache": {"status": "bypass"}}
LOST = {"code": 1404, "kind": "sessionTaskFailed", "reason": "connectionLost", "message": "lost", "retryable": True}
STATE = {"method": "event.state", "params": {"request": "req_0000000000000000", "state": "created"}}
FAULTS = [
    ("data.send", {"result": {**RESPONSE, "draft": 1}}, "/draft: is not known"),
    ("data.send", {"result": {**RESPONSE, "body": {**BODY, "draft": 1}}}, "/body/draft: is not known"),
    ("data.send", {"result": {**RESPONSE, "ok": False, "error": {**LOST, "data": {"status": 1}}}}, "['status']"),
    ("data.send", {"error": {"code": -32015, "message": "no"}}, "does not list"),
    ("data.send", {"error": {"code": -32602, "message": "no"}}, "no pointer"),
    ("data.send", {"error": {"code": -32012, "message": "no", "data": {"draft": 1}}}, "['draft']"),
    ("events.next", {"result": {"events": [STATE], "dropped": 0, "end": True}}, "/seq: is missing"),
]


@pytest.mark.parametrize(("method", "rest", "why"), FAULTS)
def test_a_message_that_the_contract_does_not_describe_fails_its_test(method, rest, why):
    with pytest.raises(AssertionError) as failed:
        contract.check_message(method, {"jsonrpc": "2.0", "id": 1, **rest})
    assert why in str(failed.value)


def test_a_described_message_passes():
    failed = {**RESPONSE, "ok": False, "error": {**LOST, "data": {"resumeData": "a"}}}
    for rest in ({"result": RESPONSE}, {"result": failed}, {"error": {"code": 1411, "message": "long", "data": {}}}):
        contract.check_message("data.send", {"jsonrpc": "2.0", "id": 1, **rest})


# What is shown


def names(path):
    return f"{path.parent.name}/{path.stem}"


def replay(wire, path, origin, tmp_path):
    text = pathlib.Path(path).read_text("utf-8")
    remembered = {}
    for step in transcript.parse(text, {"{origin}": origin, "{tmp}": str(tmp_path)}):
        for message in step.sent:
            wire.send(transcript.fill(message, remembered))
        left = list(step.expected)
        while left:
            message = wire.receive()
            why = []
            for expected in left:
                trial = copy.deepcopy(remembered)
                problem = transcript.match(expected, message, trial)
                if problem is None:
                    remembered = trial
                    left.remove(expected)
                    break
                why.append(problem)
            else:
                pytest.fail(f"unexpected: {json.dumps(message)[:1500]}\n" + "\n".join(why))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=names)
def test_transcript_on_stdio(wire, path, origin, tmp_path):
    replay(wire, path, origin, tmp_path)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=names)
def test_transcript_on_a_socket(listening, path, origin, tmp_path):
    with contract.Wire(listening) as wire:
        replay(wire, path, origin, tmp_path)
