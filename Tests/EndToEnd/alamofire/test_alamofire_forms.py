# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cases of Alamofire's form encoder, through `encode.form`: what goes in, and what must come out."""

import contract
import pytest
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

MANY = {
    "one": "one", "two": 2, "three": True, "four": [1, 2, 3], "five": {"a": "a"}, "six": {"a": {"b": "b"}},
    "seven": {"a": "a"},
}  # fmt: skip
SOME = {"one": "one", "two": 2, "three": True, "four": [1, 2, 3], "five": {"a": "a", "b": "b"}}
# 123.456 s after the beginning of 2001
DATE = {"$date": 978307323.456}
NAME = {"oneTwoThree": "oneTwoThree"}

# label: parameters, encoding, form
CASES = {
    "[3.A.1]": ({"a": "a"}, {}, "a=a"),
    "[3.A.2]": ({"a": {"$decimal": "1.0"}}, {"number": "plain"}, "a=1"),
    "[3.A.4]": ({"a": 1.0}, {}, "a=1.0"),
    "[3.A.5]": ({"a": 1}, {}, "a=1"),
    "[3.A.7]": ({"a": {"b": "b"}}, {}, "a%5Bb%5D=b"),
    "[3.A.8]": ({"a": {"b": "b"}}, {"keyPath": "brackets"}, "a%5Bb%5D=b"),
    "[3.A.9]": ({"a": {"b": "b"}}, {"keyPath": "dots"}, "a.b=b"),
    "[3.A.11]": (
        MANY,
        {},
        "five%5Ba%5D=a&four%5B%5D=1&four%5B%5D=2&four%5B%5D=3&one=one&seven%5Ba%5D=a&six%5Ba%5D%5Bb%5D=b&three=1&two=2",
    ),
    "[3.A.15]": (
        SOME,
        {},
        "five%5Ba%5D=a&five%5Bb%5D=b&four%5B%5D=1&four%5B%5D=2&four%5B%5D=3&one=one&three=1&two=2",
    ),
    "[3.A.18]": (
        {"foo": [{"one": "one", "two": 2, "three": True}]},
        {"array": "indexInBrackets"},
        "foo%5B0%5D%5Bone%5D=one&foo%5B0%5D%5Bthree%5D=1&foo%5B0%5D%5Btwo%5D=2",
    ),
    "[3.A.19]": (
        SOME,
        {"array": "indexInBrackets"},
        "five%5Ba%5D=a&five%5Bb%5D=b&four%5B0%5D=1&four%5B1%5D=2&four%5B2%5D=3&one=one&three=1&two=2",
    ),
    "[3.A.21]": (
        {"foo": [{"bar": 2}, {"qux": 3}, {"quy": 4}]},
        {"array": "indexInBrackets"},
        "foo%5B0%5D%5Bbar%5D=2&foo%5B1%5D%5Bqux%5D=3&foo%5B2%5D%5Bquy%5D=4",
    ),
    "[3.A.23]": ({"array": [1, 2]}, {"array": "noBrackets"}, "array=1&array=2"),
    "[3.A.24]": ({"array": [1, 2]}, {"array": {"template": "{key}.{number}"}}, "array.1=1&array.2=2"),
    "[3.A.25]": ({"bool": True}, {"bool": "literal"}, "bool=true"),
    "[3.A.26]": ({"bool": True}, {}, "bool=1"),
    "[3.A.27]": ({"data": {"$data": "ZGF0YQ=="}}, {}, "data=ZGF0YQ%3D%3D"),
    "[3.A.29]": ({"date": DATE}, {"date": "reference"}, "date=123.456"),
    "[3.A.30]": ({"date": DATE}, {"date": "seconds"}, "date=978307323.456"),
    "[3.A.32]": ({"date": DATE}, {"date": "iso8601"}, "date=2001-01-01T00%3A02%3A03Z"),
    "[3.A.36]": (NAME, {"key": "snake"}, "one_two_three=oneTwoThree"),
    "[3.A.37]": (NAME, {"key": "kebab"}, "one-two-three=oneTwoThree"),
    "[3.A.38]": (NAME, {"key": "capitalized"}, "OneTwoThree=oneTwoThree"),
    "[3.A.39]": (NAME, {"key": "lower"}, "onetwothree=oneTwoThree"),
    "[3.A.40]": (NAME, {"key": "upper"}, "ONETWOTHREE=oneTwoThree"),
    "[3.A.43]": ({"a": None}, {}, ""),
    "[3.A.44]": ({"one": "one", "two": None}, {}, "one=one"),
    "[3.A.45]": ({"a": None}, {"nil": "null"}, "a=null"),
    "[3.A.47]": ({"a": None}, {"nil": "dropValue"}, "a="),
    "[3.A.48]": ({"one": "one", "two": None}, {"nil": "dropValue"}, "one=one&two="),
    "[3.A.50]": ({"spaces": "replace with spaces"}, {"space": "plus"}, "spaces=replace+with+spaces"),
    "[3.A.52]": (
        {
            "lowercase": "abcdefghijklmnopqrstuvwxyz", "uppercase": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            "numbers": "0123456789",
        },
        {},
        "lowercase=abcdefghijklmnopqrstuvwxyz&numbers=0123456789&uppercase=ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    ),
    "[3.A.53]": (
        {"reserved": ":#[]@!$&'()*+,;="},
        {},
        "reserved=%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D",
    ),
    "[3.A.55]": ({"foo&bar": "baz&qux", "foobar": "bazqux"}, {}, "foo%26bar=baz%26qux&foobar=bazqux"),
    "[3.A.56]": ({"?foo?": "?bar?"}, {}, "?foo?=?bar?"),
    "[3.A.58]": ({" foo ": " bar "}, {}, "%20foo%20=%20bar%20"),
    "[3.A.60]": ({"percent%": "%25"}, {}, "percent%25=%2525"),
    "[3.A.61]": (
        {"french": "français", "japanese": "日本語", "arabic": "العربية", "emoji": "😃"},
        {},
        "arabic=%D8%A7%D9%84%D8%B9%D8%B1%D8%A8%D9%8A%D8%A9&emoji=%F0%9F%98%83&french=fran%C3%A7ais"
        "&japanese=%E6%97%A5%E6%9C%AC%E8%AA%9E",
    ),
}  # fmt: skip


@pytest.mark.parametrize("label", CASES)
def test_what_a_form_looks_like(line, label):
    parameters, encoding, form = CASES[label]
    asked = {"parameters": parameters, **({"encoding": encoding} if encoding else {})}
    assert result(line.call("encode.form", asked))["text"] == form


@pytest.mark.parametrize("root", [[1], "string"])
def test_the_root_of_a_form_is_an_object(line, root):
    """A list of numbers and a text are refused with their place. [3.A.16] [3.A.17]"""
    error = line.call("encode.form", {"parameters": root})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"].startswith("/parameters"), error


@pytest.mark.parametrize("date", [{"$date": "yesterday"}, {"$date": 1e300}, {"$date": True}])
def test_a_date_that_cannot_be_written_is_a_failure(line, date):
    """[3.A.35]"""
    error = line.call("encode.form", {"parameters": {"date": date}, "encoding": {"date": "iso8601"}})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"].startswith("/parameters/date"), error
