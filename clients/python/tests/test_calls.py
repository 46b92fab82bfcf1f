# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The keywords of a request, as parameters of the protocol."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import tempfile
from base64 import b64decode
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from outrider import InvalidCall
from outrider._protocol.parameters import GRACE, UNTIMED_GUARD, Defaults, build, build_item
from outrider._resources.reading import build_stream

EXACT = {"as": "base64"}


def spec(method: str = "GET", url: str = "http://h/", defaults: Defaults | None = None, **options: Any) -> Any:
    built = build(method, url, options, defaults or Defaults())
    return json.loads(built.params)


def test_a_plain_get_is_a_url_and_the_wish_for_exact_bytes() -> None:
    assert spec() == {"url": "http://h/", "serialize": EXACT}
    assert spec("HEAD") == {"url": "http://h/", "method": "HEAD", "serialize": EXACT}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"params": {"q": "wolf", "t": ("a", "b"), "x": None}}, {"query": {"q": "wolf", "t": ["a", "b"], "x": None}}),
        ({"params": {"a": ["1", None, 2], "b": (None,)}}, {"query": {"a": ["1", 2], "b": []}}),
        ({"data": {"a": [None, "1"]}}, {"body": {"form": {"a": ["1"]}}}),
        ({"params": [("a", 1), ("b", 2)]}, {"query": {"a": 1, "b": 2}}),
        (
            {"params": [("a", 1), ("b", (2, 3)), ("a", 3)]},
            {"query": [{"name": "a", "value": 1}, {"name": "b", "value": [2, 3]}, {"name": "a", "value": 3}]},
        ),
        ({"data": zip("aba", "123")}, {"body": {"form": [{"name": n, "value": v} for n, v in zip("aba", "123")]}}),
        (
            {"files": {"f": None}, "data": [("a", "1"), ("b", "2"), ("a", "3")]},
            {"body": {"multipart": [{"name": n, "text": t} for n, t in zip("aba", "123")]}},
        ),
        ({"params": "a=1&b=2"}, {"url": "http://h/?a=1&b=2"}),
        ({"headers": {"A": ["1", "2"]}}, {"headers": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}),
        ({"headers": [("X-A", "1")]}, {"headers": {"X-A": "1"}}),
        ({"json": {"a": [1, None]}}, {"body": {"json": {"a": [1, None]}}}),
        ({"json": False}, {"body": {"json": False}}),
        ({"data": "text"}, {"body": {"text": "text"}}),
        ({"data": b"\x00\xff"}, {"body": {"base64": "AP8="}}),
        ({"data": {"a": 1}}, {"body": {"form": {"a": 1}}}),
        ({"data": b"x", "content_type": "image/png"}, {"body": {"base64": "eA==", "contentType": "image/png"}}),
        ({"file": Path("/etc/hostname")}, {"body": {"file": "/etc/hostname"}}),
        ({"files": {"f": b"x"}}, {"body": {"multipart": [{"name": "f", "base64": "eA==", "filename": "f"}]}}),
        ({"files": {"f": Path("/etc/hostname")}}, {"body": {"multipart": [{"name": "f", "file": "/etc/hostname"}]}}),
        ({"files": {"f": (None, "x")}}, {"body": {"multipart": [{"name": "f", "text": "x"}]}}),
        (
            {"files": [("f", ("a.bin", "x", "a/b", {"X": "1"}))], "data": {"n": 1, "m": ["a", "b"], "o": None}},
            {
                "body": {
                    "multipart": [
                        {"name": "n", "text": "1"},
                        {"name": "m", "text": "a"},
                        {"name": "m", "text": "b"},
                        {
                            "name": "f",
                            "text": "x",
                            "filename": "a.bin",
                            "mimeType": "a/b",
                            "headers": [{"name": "X", "value": "1"}],
                        },
                    ]
                }
            },
        ),
        ({"data": "x", "compress": "gzip"}, {"body": {"text": "x"}, "compress": "gzip"}),
        ({"data": "x", "expect_continue": True}, {"body": {"text": "x"}, "expectContinue": True}),
        ({"auth": ("user", "pässword")}, {"headers": {"Authorization": "Basic dXNlcjpww6Rzc3dvcmQ="}}),
        ({"auth": {"bearer": "t"}}, {"auth": {"bearer": "t"}}),
        ({"auth": {"digest": ("u", "p")}}, {"auth": {"digest": {"username": "u", "password": "p"}}}),
        ({"auth": {"username": "u", "password": "p"}}, {"auth": {"username": "u", "password": "p"}}),
        ({"parameters": {"a": [1, None]}, "encoding": "json"}, {"parameters": {"a": [1, None]}, "encoding": "json"}),
        ({"parameters": {"a": b"x"}}, {"parameters": {"a": {"$data": "eA=="}}}),
        ({"parameters": (Decimal("1.10"),)}, {"parameters": [{"$decimal": "1.10"}]}),
        ({"parameters": {"t": datetime.fromtimestamp(1.5)}}, {"parameters": {"t": {"$date": 1.5}}}),
        ({"timeout": 1.5}, {"timeout": 1.5}),
        ({"timeout": {"connect": 1}}, {"timeout": {"connect": 1}}),
        ({"timeout": float("inf")}, {}),
        ({"redirect": "none", "retry": {"limit": 1}}, {"redirect": "none", "retry": {"limit": 1}}),
        ({"proxy": "http://p:1"}, {"proxy": "http://p:1"}),
        ({"proxy": False}, {"proxy": False}),
        (
            {"proxy": {"https": "p", "credential": ("u", "p")}},
            {"proxy": {"https": "p", "credential": {"username": "u", "password": "p"}}},
        ),
        ({"validate": True, "max_body": 9}, {"validate": True, "maxBody": 9}),
        ({"handlers": [{"id": "a"}]}, {"handlers": [{"id": "a"}]}),
        ({"start_immediately": False}, {"startImmediately": False}),
        ({"body_to": "stored", "max_inline": 0}, {"bodyTo": "stored", "maxInline": 0}),
        ({"metrics": True, "tag": "t", "events": ("state",)}, {"metrics": True, "tag": "t", "events": ["state"]}),
        ({"tag": None, "json": None, "timeout": None}, {}),
    ],
)  # fmt: skip
def test_each_option_has_its_place(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert spec(**given) == {"url": "http://h/", "serialize": EXACT, **wanted}


def test_an_open_file_is_streamed_by_its_path_or_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc")
    with path.open("rb") as file:
        assert spec(files={"f": file})["body"] == {"multipart": [{"name": "f", "file": str(path)}]}
        file.read(1)
        part = {"name": "f", "base64": "YmM=", "filename": "a.txt"}
        assert spec(files={"f": file})["body"] == {"multipart": [part]}
    with path.open() as text:
        part = {"name": "f", "text": "abc", "filename": "a.txt"}
        assert spec(files={"f": text})["body"] == {"multipart": [part]}
    part = {"name": "f", "base64": "eA==", "filename": "f"}
    assert spec(files={"f": io.BytesIO(b"x")})["body"] == {"multipart": [part]}


def test_a_method_is_written_in_capitals() -> None:
    assert spec("get") == spec("GET") and spec("put")["method"] == "PUT"
    built = build_stream("post", "http://h/", {}, Defaults())
    assert json.loads(built.params)["method"] == "POST"


def test_data_that_is_an_open_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"abc")
    with path.open("rb") as file:
        assert spec(data=file)["body"] == {"file": str(path)}
        assert file.read(1) == b"a"
        assert spec(data=file)["body"] == {"base64": "YmM="}
    with path.open() as text:
        assert spec(data=text)["body"] == {"text": "abc"}
    with gzip.open(tmp_path / "a.gz", "wb") as packed:
        packed.write(b"abc")
    with gzip.open(tmp_path / "a.gz") as unpacked:
        assert spec(data=unpacked)["body"] == {"base64": "YWJj"}


def test_what_only_has_the_name_of_a_file_is_read(tmp_path: Path) -> None:
    class Upper(io.BufferedReader):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(size).upper()

    class Around:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def read(self) -> bytes:
            return b"around " + self.file.read()  # type: ignore[no-any-return]

    class Odd:
        name, mode = str(tmp_path), 1

        def read(self) -> bytes:
            return b"odd"

    def sent(file: Any) -> Any:
        (part,) = spec(files={"f": file})["body"]["multipart"]
        return b64decode(part["base64"]) if "base64" in part else part["file"]

    for module in (gzip, bz2, lzma):
        path = tmp_path / f"a.{module.__name__}"
        with module.open(path, "wb") as packed:
            packed.write(b"plain")
        with module.open(path) as unpacked:
            assert sent(unpacked) == b"plain"
        with io.BufferedReader(module.open(path)) as buffered:
            assert sent(buffered) == b"plain"
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    with path.open("rb") as file:
        assert sent(Around(file)) == b"around abc"
    with Upper(io.FileIO(path)) as upper:
        assert sent(upper) == b"ABC"
    assert sent(Odd()) == b"odd"
    with io.FileIO(str(path)) as bare, path.open("r+b") as random:
        assert sent(bare) == sent(random) == str(path)
    with tempfile.NamedTemporaryFile() as temporary:
        temporary.write(b"x")
        temporary.seek(0)
        assert sent(temporary) == temporary.name and os.path.getsize(temporary.name) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"files": "x"},
        {"files": {"f": 1j}},
        {"files": {"f": ("a",)}},
        {"files": [("a",)]},
        {"files": {1: b"x"}},
        {"files": {"f": b"x"}, "data": "text"},
        {"files": {"f": b"x"}, "json": {}},
        {"files": {"f": ("a", b"x", 1)}},
    ],
)
def test_files_that_are_none_are_refused_by_name(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"files|data"):
        spec(**given)


def test_serialize_replaces_the_wish_for_exact_bytes() -> None:
    assert spec(serialize="json")["serialize"] == {"as": "json"}
    assert spec(serialize={"as": "text", "encoding": "utf-8"})["serialize"] == {"as": "text", "encoding": "utf-8"}


def test_params_as_text_go_before_the_fragment() -> None:
    assert spec(url="http://h/?x=1#end", params="a=1")["url"] == "http://h/?x=1&a=1#end"


@pytest.mark.parametrize(
    ("options", "problem", "says"),
    [
        ({"parms": {}}, TypeError, "did you mean params"),
        ({"zzz": 1}, TypeError, "there are base_url, params"),
        ({"params": 7}, TypeError, "params must be a mapping or pairs"),
        ({"params": [1]}, TypeError, "params must consist of pairs"),
        ({"headers": "X: y"}, TypeError, "headers must be a mapping or pairs"),
        ({"headers": {"X": 1}}, TypeError, "the value of X in headers must be a string"),
        ({"headers": {1: "x"}}, TypeError, "a name in headers must be a string"),
        ({"json": {"a": {1}}}, InvalidCall, "the request cannot be written as JSON: /json/a: set"),
        ({"json": float("nan")}, InvalidCall, "the request cannot be written as JSON"),
        ({"json": 1, "data": "x"}, TypeError, "only one of json, data and file"),
        ({"data": 7}, TypeError, "data must be a mapping or pairs"),
        ({"data": iter([b"a", b"b"])}, TypeError, "join the pieces"),
        ({"auth": {"digest": "u"}}, TypeError, "a tuple of user name and password"),
        ({"file": 7}, TypeError, "file must be a string, not int"),
        ({"content_type": "text/plain"}, TypeError, "content_type needs one of"),
        ({"auth": "user:password"}, TypeError, 'auth must be a tuple of .*, {"oauth": name}, or a credential'),
        ({"auth": ("a:b", "c")}, ValueError, "colon"),
        ({"auth": ("a", None)}, TypeError, "the password in auth"),
        ({"auth": {"digest": ("a", 1)}}, TypeError, "the password in auth"),
        ({"timeout": 0}, ValueError, "timeout must be more than 0"),
        ({"timeout": -1}, ValueError, "timeout must be more than 0"),
        ({"timeout": float("nan")}, ValueError, "timeout must be more than 0"),
        ({"timeout": True}, TypeError, "timeout must be a number"),
        ({"timeout": "5"}, TypeError, "timeout must be a number"),
        ({"timeout": {"connect": "5"}}, TypeError, "timeout\\['connect'\\] must be a number"),
    ],
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, Any], problem: type[Exception], says: str) -> None:
    with pytest.raises(problem, match=says):
        build("GET", "http://h/", options, Defaults())


def test_a_url_and_a_method_must_be_text() -> None:
    with pytest.raises(TypeError, match="url must be a string, not bytes"):
        build("GET", b"http://h/", {}, Defaults())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="method must be a string"):
        build(None, "http://h/", {}, Defaults())  # type: ignore[arg-type]


def test_defaults_are_for_requests_that_do_not_say_otherwise() -> None:
    defaults = Defaults(headers={"X-A": "1", "X-B": "2"}, auth=("u", "p"), timeout=5)
    plain = spec(defaults=defaults)
    assert plain["headers"] == {"X-A": "1", "X-B": "2", "Authorization": "Basic dTpw"}
    assert plain["timeout"] == 5
    own = spec(defaults=defaults, headers={"x-a": "9"}, auth=("v", "q"), timeout=1)
    assert own["headers"] == {"X-B": "2", "x-a": "9", "Authorization": "Basic djpx"}
    assert own["timeout"] == 1
    assert spec("POST", defaults=defaults)["headers"] == plain["headers"]


def test_waiting_is_a_little_longer_than_the_timeout() -> None:
    assert build("GET", "http://h/", {"timeout": 3}, Defaults()).guard == 3 + GRACE
    assert build("GET", "http://h/", {"timeout": {"total": 3}}, Defaults()).guard == 3 + GRACE
    assert build("GET", "http://h/", {"timeout": {"connect": 3}}, Defaults()).guard == UNTIMED_GUARD
    assert build("GET", "http://h/", {}, Defaults(timeout=4)).guard == 4 + GRACE
    assert build("GET", "http://h/", {"timeout": float("inf")}, Defaults()).guard < 1e7


def test_an_item_of_many_is_a_url_a_pair_or_a_mapping() -> None:
    defaults = Defaults()

    def item(given: Any, **options: Any) -> Any:
        return json.loads(build_item(given, options, defaults).params)

    assert item("http://h/") == {"url": "http://h/", "serialize": EXACT}
    assert item(("post", "http://h/"))["method"] == "POST"
    assert item({"url": "http://h/", "method": "put", "tag": "own"}, tag="all") == {
        "url": "http://h/",
        "method": "PUT",
        "tag": "own",
        "serialize": EXACT,
    }
    with pytest.raises(TypeError, match="needs url"):
        item({"method": "GET"})
    with pytest.raises(TypeError, match="a request must be"):
        item(7)
