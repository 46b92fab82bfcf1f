# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Parameters, encodings, header fields, authorization: against a real server, and against what Python makes of them."""

import base64
import datetime
import json
import plistlib
import random
import urllib.parse

import contract
import pytest
from request_client import built, get, result, sent

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

FORM = "application/x-www-form-urlencoded; charset=utf-8"
WORDS = {"french": "français", "japanese": "日本語", "arabic": "العربية", "emoji": "😃"}


def form(wire, parameters, **encoding):
    response = wire.call("encode.form", {"parameters": parameters, "encoding": encoding})
    return result(response)["text"]


# What arrives


def test_parameters_of_a_get_are_its_query(wire, origin):
    """[3.D.13] [C15] [3.B.5] [B1]"""
    seen = sent(wire, origin, more="?a=b", parameters={"foo": "bar", "on": True}, encoding={"bool": "literal"})
    assert (seen["method"], seen["target"], seen["body"]) == ("GET", "/echo?a=b&foo=bar&on=true", "")
    assert "content-type" not in seen["fields"]


def test_a_form_of_many_scripts_arrives(wire, origin):
    """[3.D.14] [3.D.18]"""
    seen = sent(wire, origin, method="POST", parameters=WORDS)
    assert seen["fields"]["content-type"] == FORM
    assert dict(urllib.parse.parse_qsl(seen["body"])) == WORDS


def test_two_long_values_arrive_byte_for_byte(wire, origin):
    """[3.D.15]"""
    values = {name: base64.b64encode(random.Random(name).randbytes(60_000)).decode() for name in ("one", "two")}
    seen = sent(wire, origin, method="POST", parameters=values)
    assert dict(urllib.parse.parse_qsl(seen["body"])) == values


def test_twenty_thousand_characters_arrive(wire, origin):
    """[C28]"""
    text = "中文字" * 7000
    seen = sent(wire, origin, method="POST", parameters={"q": text})
    assert dict(urllib.parse.parse_qsl(seen["body"])) == {"q": text}
    seen = sent(wire, origin, method="POST", parameters={"q": text}, encoding="json")
    assert json.loads(seen["body"]) == {"q": text}


def test_json_arrives_as_it_was_written(wire, origin):
    """The written form of numbers and the order of members survive. [3.D.16] [C11] [C27]"""
    text = '{"z":1.50,"a":-9223372036854775808,"m":[1e3,-0,0.1],"é":"ü"}'
    url = json.dumps(origin + "/echo")
    wire.methods["77"] = "data.send"
    for member in ('"parameters":%s,"encoding":"json"' % text, '"body":{"json":%s}' % text):
        line = '{"jsonrpc":"2.0","id":77,"method":"data.send","params":{"url":%s,"method":"POST",%s}}'
        wire.send_text(line % (url, member))
        seen = result(wire.receive())["body"]["json"]
        assert seen["body"].replace("\\u00e9", "é").replace("\\u00fc", "ü") == text


def test_an_integer_of_more_than_64_bits_is_a_decimal(wire, origin):
    """[C11]"""
    tagged = {"a": {"$decimal": "18446744073709551616"}}
    asked = {"url": origin + "/echo", "method": "POST", "parameters": tagged, "encoding": "json"}
    seen = result(wire.call("data.send", asked))["body"]["json"]
    assert seen["body"] == '{"a":18446744073709551616}'


@pytest.mark.parametrize("value", [[1, "a", None], "text", 7, True, [], {}])
def test_any_json_value_can_be_the_body(wire, origin, value):
    """[C23]"""
    seen = sent(wire, origin, method="POST", parameters=value, encoding={"kind": "json"})
    assert json.loads(seen["body"]) == value
    assert seen["fields"]["content-type"] == "application/json"


@pytest.mark.parametrize("format", ["xml", "binary"])
def test_a_property_list_is_read_by_others(wire, format):
    """[C25]"""
    value = {
        "text": "é<&>\r\n",
        "long": "x" * 300,
        "numbers": [0, 255, 256, 65536, -1, 2**63 - 1, -(2**63), 1.5],
        "flags": [True, False],
        "empty": [{}, []],
        "many": {str(number): number for number in range(300)},
    }
    tagged = {"data": {"$data": "AP8="}, "date": {"$date": "2001-01-01T00:02:03Z"}, "big": {"$decimal": str(2**64 - 1)}}
    encoding = {"kind": "propertyList", "format": format}
    body = built(wire, method="POST", parameters={**value, **tagged}, encoding=encoding)["body"]
    assert body["kind"] == "propertyList" and body["contentType"] == "application/x-plist"
    bytes_ = body["text"].encode() if format == "xml" else base64.b64decode(body["base64"])
    assert len(bytes_) == body["size"]
    moment = datetime.datetime(2001, 1, 1, 0, 2, 3)
    assert plistlib.loads(bytes_) == {**value, "data": b"\0\xff", "date": moment, "big": 2**64 - 1}
    # in the binary format these may be UTF-8 with U+0000, which many JSON parsers lose or cut
    for one in (value, 5, "wolf"):
        alone = result(wire.call("encode.propertyList", {"parameters": one, "encoding": {"format": format}}))
        assert plistlib.loads(alone["text"].encode() if format == "xml" else base64.b64decode(alone["base64"])) == one


def test_a_body_with_a_nul_is_shown_in_base64(wire):
    body = built(wire, method="POST", body={"base64": "AGE="})["body"]
    assert body["base64"] == "AGE=" and "text" not in body


def test_query_parameters_and_body_go_together(wire, origin):
    """A body of its own sends parameters into the query. [C16] [C24]"""
    body = {"text": "hello"}
    seen = sent(wire, origin, more="?a=1", method="PUT", query={"b": 2}, parameters={"c": 3}, body=body)
    assert (seen["target"], seen["body"]) == ("/echo?a=1&b=2&c=3", "hello")


def test_names_may_repeat_and_interleave(wire, origin):
    pairs = [{"name": "b", "value": 1}, {"name": "a", "value": "x y"}, {"name": "b", "value": [2, True]}, {"name": "c"}]
    seen = sent(wire, origin, method="POST", query=pairs, body={"form": pairs})
    assert (seen["target"], seen["body"]) == ("/echo?b=1&a=x%20y&b=2&b=1", "b=1&a=x+y&b=2&b=1")
    assert sent(wire, origin, parameters=pairs)["target"] == "/echo?b=1&a=x%20y&b%5B%5D=2&b%5B%5D=1"


def test_no_parameters_change_nothing(wire, origin):
    """[C20] [C14] [3.B.10] [3.B.25]"""
    for parameters in ({"parameters": {}}, {"parameters": None}, {"encoding": "json"}):
        seen = sent(wire, origin, method="POST", **parameters)
        assert (seen["target"], seen["body"]) == ("/echo", "") and "content-type" not in seen["fields"]


# Making requests


@pytest.mark.parametrize("params", [{}, {"bodyTo": "file"}, {"method": "POST", "body": {"text": "x"}}])
def test_an_empty_url_is_a_failure_of_the_request(wire, params):
    """[3.D.1] [3.D.2] [3.D.3] [B8] [B9]"""
    response = get(wire, "", **params)
    assert (response["ok"], response["error"]["code"], response["url"], response["attempts"]) == (False, 1100, "", 0)
    assert "status" not in response and response["body"]["kind"] == "none"


def test_a_time_limit_of_ten_milliseconds(wire, server):
    """[3.D.8]"""
    assert get(wire, server.url("/stall/"), timeout=0.01)["error"]["code"] == 1405


def test_ten_requests_at_once(wire, origin):
    """[3.D.19]"""
    running = [wire.start("data.send", {"url": f"{origin}/echo", "parameters": {"n": n}}) for n in range(10)]
    replies = wire.replies(running)
    seen = [result(replies[number])["body"]["json"]["target"] for number in running]
    assert seen == [f"/echo?n={n}" for n in range(10)]


def test_a_body_goes_to_a_file_and_comes_from_one(wire, origin, tmp_path):
    """[B4] [B5]"""
    path = tmp_path / "upload"
    path.write_bytes(b"wolf " * 1000)
    response = get(wire, origin + "/echo", method="PUT", body={"file": str(path)}, bodyTo="file")
    assert response["body"]["kind"] == "file"
    with open(response["body"]["path"], encoding="utf-8") as file:
        assert json.load(file)["body"] == "wolf " * 1000


# What is shown is what is sent


@pytest.mark.parametrize(
    "params",
    [
        {"method": "POST", "parameters": {"a": [1, "é"]}},
        {"method": "POST", "parameters": {"a": [1, "é"]}, "encoding": {"kind": "json", "pretty": True}},
        {"method": "PATCH", "body": {"json": {"id": 1}}, "headers": {"X-A": ["1", "2"], "x-b": "3"}},
        {"parameters": {"q": "a b"}, "query": {"p": 1}, "auth": {"basic": {"username": "u", "password": "p"}}},
        {"method": "DELETE", "parameters": {"q": None, "r": 1}, "headers": [{"name": "Accept", "value": "a/b"}]},
        {"method": "POST"},
    ],
)
def test_build_shows_exactly_what_is_sent(wire, origin, params):
    """[D9]"""
    shown = result(wire.call("request.build", {"url": origin + "/echo", **params}))
    seen = sent(wire, origin, **params)
    assert shown["url"] == origin + seen["target"] and shown["method"] == seen["method"]
    assert [[header["name"], header["value"]] for header in shown["headers"]] == seen["headers"]
    assert shown.get("body", {}).get("text", "") == seen["body"]
    assert shown.get("body", {}).get("size", 0) == len(seen["body"].encode())


def test_build_shows_bytes_and_leaves_long_ones_out(wire):
    body = built(wire, method="POST", body={"base64": "AP8="})["body"]
    assert body == {"kind": "base64", "size": 2, "contentType": "application/octet-stream", "base64": "AP8="}
    body = built(wire, method="POST", body={"text": "hello"}, maxInline=4)["body"]
    assert body == {"kind": "text", "size": 5, "contentType": "text/plain; charset=utf-8"}


# What is refused


@pytest.mark.parametrize(
    ("params", "code", "pointer"),
    [
        ({"parameters": [1]}, 1211, "/parameters/0"),  # [3.A.16] [C12]
        ({"parameters": "string"}, 1211, "/parameters"),  # [3.A.17]
        ({"parameters": {"a": {"$data": "?"}}}, 1211, "/parameters/a/$data"),
        ({"parameters": {"a": {"$date": "soon"}}}, 1211, "/parameters/a/$date"),  # [3.A.35]
        ({"method": "POST", "parameters": {"a": {"$date": 1e30}}, "encoding": "json"}, 1201, "/parameters/a/$date"),
        ({"method": "POST", "parameters": [None], "encoding": "propertyList"}, 1211, "/parameters/0"),
        ({"parameters": {"a": 1}, "encoding": "json"}, 1102, "/parameters"),  # [B10]
        ({"parameters": {"a": 1}, "encoding": {"destination": "httpBody"}}, 1102, "/parameters"),
        ({"method": "POST", "parameters": {"a": 1}, "encoding": "json", "body": {"text": "x"}}, 1101, "/parameters"),
        ({"auth": {"bearer": "a\nb"}}, 1101, "/auth/bearer"),
        ({"auth": {"basic": {"username": "a:b", "password": "c"}}}, 1101, "/auth/basic/username"),
    ],
)
def test_what_cannot_be_encoded_is_not_sent(wire, server, params, code, pointer):
    response = get(wire, server.url("/fine"), **params)
    assert (response["error"]["code"], response["error"]["pointer"]) == (code, pointer), response
    assert response["attempts"] == 0
    error = wire.call("request.build", {"url": server.url("/fine"), **params})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer
    assert error["data"]["failure"]["code"] == code


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"encoding": "xml"}, "/encoding"),
        ({"encoding": {"pretty": True}}, "/encoding/pretty"),
        ({"encoding": {"kind": "json", "array": "brackets"}}, "/encoding/array"),
        ({"encoding": {"kind": "propertyList", "date": "seconds"}}, "/encoding/date"),
        ({"encoding": {"kind": "custom"}}, "/encoding/callback"),
        ({"encoding": {"array": {}}}, "/encoding/array/template"),
        ({"encoding": {"key": {"names": {"a": 1}}}}, "/encoding/key/names/a"),
        ({"encoding": {"nil": "nothing"}}, "/encoding/nil"),
        ({"query": [{"name": "a", "value": {"b": 1}}]}, "/query/0/value"),
        ({"query": [{"name": "a", "value": [None]}]}, "/query/0/value/0"),
        ({"query": [{"value": 1}]}, "/query/0/name"),
        ({"query": [1]}, "/query/0"),
        ({"auth": {}}, "/auth"),
        ({"auth": {"bearer": "a", "raw": "b"}}, "/auth"),
        ({"auth": {"basic": {"username": "a"}}}, "/auth/basic/password"),
        ({"auth": {"bearer": "a"}, "headers": {"authorization": "b"}}, "/auth"),
    ],
)
def test_wrong_parameters_are_named(wire, params, pointer):
    error = wire.call("data.send", {"url": "http://127.0.0.1:1/", **params})["error"]
    assert (error["code"], error["data"]["pointer"]) == (-32602, pointer), error


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ([{"name": "a"}, {"value": 1}], "parameters[1].name is required"),
        ([{"name": 5}], "parameters[0].name must be a string"),
        ([{"nam": "a"}], "parameters[0] has no member nam (did you mean name?)"),
        ({"a": {"b": {"$date": "soon"}}}, "parameters.a.b.$date must be seconds"),
    ],
)
def test_the_message_about_a_parameter_has_its_place(wire, parameters, said):
    assert wire.call("encode.form", {"parameters": parameters})["error"]["message"].startswith(said)
    sent = wire.call("data.send", {"url": "http://127.0.0.1:1/", "parameters": parameters})["result"]
    assert sent["error"]["message"].startswith(said.partition(" (")[0]), sent


def test_other_kinds_are_refused_by_the_pure_methods(wire):
    for method, kind in (("encode.form", "json"), ("encode.json", "urlEncodedForm"), ("encode.propertyList", "json")):
        error = wire.call(method, {"parameters": {}, "encoding": kind})["error"]
        assert error["data"]["pointer"] == "/encoding/kind", error


# The same as Python


def values(random, depth=3):
    kind = random.randrange(7 if depth else 5)
    if kind < 2:
        kinds = [range(32, 127), range(0xA0, 0x3000), [0x1F600]]
        return "".join(chr(random.choice(random.choice(kinds))) for _ in range(4))
    if kind < 4:
        return random.choice([random.randrange(-(10**6), 10**6), random.random(), random.random() < 0.5])
    if kind == 4:
        return None
    if kind == 5:
        return [values(random, depth - 1) for _ in range(random.randrange(4))]
    return {f"k{index} &=%[]é": values(random, depth - 1) for index in range(random.randrange(4))}


def flat(name, value):
    """The pairs of a value, by the rules of the contract."""
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in flat(f"{name}[{key}]", inner)]
    if isinstance(value, list):
        return [pair for inner in value for pair in flat(name + "[]", inner)]
    if value is None:
        return []
    if isinstance(value, bool):
        return [(name, str(int(value)))]
    return [(name, value if isinstance(value, str) else json.dumps(value))]


def test_forms_read_back_as_what_they_were_made_of(wire):
    """[C1] [C10]"""
    rng = random.Random(7)
    for _ in range(150):
        given = {f"n{index}": values(rng) for index in range(rng.randrange(6))}
        expected = [pair for key, value in given.items() for pair in flat(key, value)]
        for encoding in ({"sort": False}, {"sort": False, "space": "plus"}, {"sort": False, "allowedCharacters": ""}):
            text = form(wire, given, **encoding)
            assert urllib.parse.parse_qsl(text, keep_blank_values=True) == expected
        assert sorted(urllib.parse.parse_qsl(form(wire, given), keep_blank_values=True)) == sorted(expected)


def test_escaping_is_that_of_python(wire):
    """[C22] [C9]"""
    rng = random.Random(8)
    for _ in range(100):
        text = "".join(chr(rng.choice([rng.randrange(1, 128), rng.randrange(0x80, 0xD800)])) for _ in range(12))
        escaped = result(wire.call("encode.escape", {"text": text}))["text"]
        assert escaped == urllib.parse.quote(text, safe="-._~/?")
        options = {"space": "plus", "allowedCharacters": "-._~"}
        escaped = result(wire.call("encode.escape", {"text": text, **options}))["text"]
        assert escaped == urllib.parse.quote_plus(text, safe="-._~")


def test_dates_are_those_of_strftime(wire):
    """[C5]"""
    rng = random.Random(9)
    pattern = "%Y-%m-%d %e %H:%M:%S %I %p %j %a %A %b %B %y %F %T %%"
    for _ in range(100):
        seconds = rng.randrange(-(10**10), 10**11)
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
        text = form(wire, {"d": {"$date": seconds}}, date={"format": pattern})
        assert urllib.parse.parse_qsl(text) == [("d", moment.strftime(pattern))]


def test_a_query_goes_before_the_fragment_of_a_url(wire):
    cases = {"http://a.test/x#top": "http://a.test/x?a=1#top", "http://a.test/?b#": "http://a.test/?b&a=1#"}
    for url, whole in cases.items():
        assert result(wire.call("encode.query", {"parameters": {"a": 1}, "url": url}))["url"] == whole
