# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Values that the service cannot read in a message: sent in another way, or refused by their name."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import outrider
import pytest
from outrider import Client


def sent(r: outrider.Response) -> Any:
    assert dict(r.json()["headers"])["Content-Type"] == "application/json"
    return r.json()["body"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"id": 2**63 - 1}, '{"id":9223372036854775807}'),
        ({"id": 2**63}, '{"id":9223372036854775808}'),
        ([-(2**63) - 1], "[-9223372036854775809]"),
        ({"a": "\ud800", "\udfff": 1}, r'{"a":"\ud800","\udfff":1}'),
        ("\\ud800 \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"), r'"\\ud800 \ud83d\ude00"'),
        ("\ud7ff", r'"\ud7ff"'),
    ],
)
def test_json_has_every_value_that_json_has(client: Client, origin: str, value: Any, text: str) -> None:
    assert sent(client.post(f"{origin}/echo", json=value)) == text
    assert sent(client.post(f"{origin}/echo", data=text, content_type="application/json")) == text


def test_json_may_be_as_deep_as_python_writes_it(client: Client, origin: str) -> None:
    value: Any = 1
    for _ in range(300):
        value = [value]
    assert sent(client.post(f"{origin}/echo", json=value)) == "[" * 300 + "1" + "]" * 300


def test_a_query_and_a_form_take_integers_of_any_size_and_bytes(client: Client, origin: str) -> None:
    values = {"a": 2**70, b"b": [-(2**70), b"x"], "c": {"é".encode()}}
    seen = client.post(f"{origin}/echo", params=values, data=values).json()
    assert seen["target"] == f"/echo?a={2**70}&b={-(2**70)}&b=x&c=%C3%A9"
    assert seen["body"] == f"a={2**70}&b={-(2**70)}&b=x&c=%C3%A9"
    with pytest.raises(TypeError, match=r"params\['a'\] must be text, or bytes in UTF-8"):
        client.get(f"{origin}/echo", params={"a": b"\xff"})
    with pytest.raises(TypeError, match=r"the name b'\\xff' in data must be text"):
        client.post(f"{origin}/echo", data={b"\xff": 1})


def test_an_integer_that_the_service_cannot_read_is_named(client: Client, origin: str, service: str) -> None:
    for call, name in (
        (lambda: client.get(f"{origin}/json", max_body=2**70), "max_body"),
        (lambda: client.call("data.send", url=f"{origin}/json", maxBody=2**70), "maxBody"),
        (lambda: client.start("GET", f"{origin}/json", max_body=2**70), "max_body"),
    ):
        with pytest.raises(outrider.InvalidCall, match=rf"^/{name}: the integer has more than 64 bits") as caught:
            call()
        assert caught.value.pointer == "/maxBody"
    [problem] = client.many([f"{origin}/json"], max_body=2**70)
    assert isinstance(problem, outrider.InvalidCall) and problem.pointer == "/maxBody"

    async def work() -> None:
        async with outrider.AsyncClient(socket=service) as other:
            with pytest.raises(outrider.InvalidCall, match=r"^/max_body.*\(give a smaller one\)$"):
                await other.get(f"{origin}/json", max_body=2**70)

    asyncio.run(work())


@pytest.mark.parametrize(
    ("options", "said", "pointer"),
    [
        ({"body_to": "x"}, "body_to must be one of", "/bodyTo"),
        ({"params": {"a": {"b": 1}}}, "params.a must be a string", "/query/a"),
        ({"params": {"a": object()}}, "the request cannot be written as JSON: /params/a: ", "/query/a"),
        ({"verify": {"pins": 1}}, "verify has no member pins", "/trust/pins"),
        ({"data": {"a": {"b": 1}}}, "data.a must be a string", "/body/form/a"),
        ({"timeout": {"firstByte": 1e9}}, "timeout.firstByte must be", "/timeout/firstByte"),
        ({"json": 1}, "a GET request carries no body: use POST, or say allow_get_body", "/body"),
    ],
)
def test_a_message_names_the_option_and_its_pointer_the_member(
    client: Client, origin: str, options: Any, said: str, pointer: str
) -> None:
    with pytest.raises(outrider.OutriderError, match=f"^{re.escape(said)}") as caught:
        client.get(f"{origin}/json", **options)
    assert caught.value.pointer == pointer
    with pytest.raises(outrider.OutriderError, match=f"^{re.escape(said)}"):
        client.start("GET", f"{origin}/json", **options).response()


def test_a_message_names_settings_and_an_own_call_names_members(client: Client, origin: str) -> None:
    with pytest.raises(outrider.InvalidCall, match=r"^connections_per_host must be"):
        client.session(connections_per_host=0).get(f"{origin}/json")
    with pytest.raises(outrider.InvalidCall, match=r"^bodyTo must be"):
        client.call("data.send", url=f"{origin}/json", bodyTo="x")


def test_a_parameter_may_be_a_large_integer(client: Client, origin: str) -> None:
    r = client.post(f"{origin}/echo", parameters={"a": [2**70, -5]}, encoding="json")
    assert r.json()["body"] == f'{{"a":[{2**70},-5]}}'


@pytest.mark.parametrize(
    ("options", "pointer", "why"),
    [
        ({"params": {"a/b": Path("x")}}, "/query/a~1b", "PosixPath has no form in JSON"),
        ({"params": {"a": ["x", "\ud800"]}}, "/query/a/1", "lone surrogate"),
        ({"headers": {"X-A": "\udce9"}}, "/headers/X-A", "lone surrogate"),
        ({"data": "\udce9 \ud83d\ude00"}, "/body/text", "lone surrogate"),
        ({"json": {"a": [1, float("nan")]}}, "/body/json/a/1", "nan is no number in JSON"),
        ({"json": {"a": Path("x")}}, "/body/json/a", "PosixPath has no form in JSON"),
    ],
)
def test_a_value_without_a_form_in_json_is_named(
    client: Client, origin: str, options: Mapping[str, Any], pointer: str, why: str
) -> None:
    with pytest.raises(outrider.InvalidCall, match=why) as caught:
        client.get(f"{origin}/echo", **options)
    assert caught.value.pointer == pointer


def test_text_beyond_16_bits_is_not_looked_at_character_by_character() -> None:
    """The lines of the client that run, instead of the time that they take."""
    from outrider._protocol.frames import encode

    steps = 0

    def count(frame: Any, event: str, argument: Any) -> Any:
        nonlocal steps
        steps += 1
        return count

    encode({"a": "\U0001f600"})  # loads what it needs
    before = sys.gettrace()
    sys.settrace(count)
    try:
        text = encode({"a": "\U0001f600" * 10_000})
    finally:
        sys.settrace(before)
    assert len(text) > 100_000 and steps < 1_000


def test_a_lone_surrogate_in_a_url_is_named(client: Client, origin: str) -> None:
    with pytest.raises(outrider.InvalidCall, match="/url: the text holds a lone surrogate"):
        client.get(f"{origin}/echo?\udce9")
    with pytest.raises(outrider.InvalidCall, match="/a: the text holds a lone surrogate"):
        client.call("diagnostics.echo", a="\udce9")


def test_what_data_takes(client: Client, origin: str) -> None:
    assert client.post(f"{origin}/echo", data=memoryview(b"abcd")[::2]).json()["body"] == "ac"
    with pytest.raises(TypeError, match="give file="):
        client.post(f"{origin}/echo", data=Path("x"))


def test_many_does_not_take_a_url_for_its_letters(client: Client, origin: str) -> None:
    with pytest.raises(TypeError, match=r"many\(\[url\]\)"):
        client.many(f"{origin}/json")


def test_none_leaves_a_file_out_and_wrong_events_are_named(client: Client, origin: str) -> None:
    body = client.post(f"{origin}/echo", files={"a": None, "b": b"x"}, data={"c": None}).json()["body"]
    assert body.count("Content-Disposition") == 1 and 'name="b"' in body
    with pytest.raises(TypeError, match="events must be a boolean or kinds of events, not int"):
        client.get(f"{origin}/json", events=5)  # type: ignore[arg-type]


def test_a_path_may_begin_with_the_home(
    client: Client, origin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "sent.txt").write_text("wolf")
    assert client.post(f"{origin}/echo", file="~/sent.txt").json()["body"] == "wolf"
    assert "wolf" in client.post(f"{origin}/echo", files={"f": Path("~/sent.txt")}).text
    assert client.get(f"{origin}/json").save("~/kept") == str(tmp_path / "kept") and (tmp_path / "kept").exists()
    with pytest.raises(outrider.RequestError, match=f"{tmp_path}/none"):
        client.post(f"{origin}/echo", file="~/none")


def test_a_descriptor_in_a_path_is_one_of_this_program(client: Client, origin: str, tmp_path: Path) -> None:
    (tmp_path / "sent.txt").write_text("wolf")
    with open(tmp_path / "sent.txt", "rb") as file:
        for place in (f"/dev/fd/{file.fileno()}", f"/proc/self/fd/{file.fileno()}"):
            assert client.upload(f"{origin}/echo", place).json()["body"] == "wolf"
            assert "wolf" in client.post(f"{origin}/echo", files={"f": Path(place)}).text
            with open(place, "rb") as again:
                assert client.post(f"{origin}/echo", data=again).json()["body"] == "wolf"
    reader, writer = os.pipe()
    refusal = pytest.raises(outrider.RequestError, match=r"is not a regular file .*as a stream")
    with open(reader, "rb"), open(writer, "wb"), refusal:
        client.upload(f"{origin}/echo", f"/dev/fd/{reader}")


@pytest.mark.parametrize("text", ["[" + "1," * 50_000 + "2]", "[" + "1," * 50_000])
def test_the_collector_of_garbage_goes_on_after_a_long_value(text: str) -> None:
    from outrider._protocol.frames import decode

    for is_on in (True, False):
        gc.enable() if is_on else gc.disable()
        try:
            if text.endswith("]"):
                assert len(decode(text)) == 50_001
            else:
                with pytest.raises(ValueError):
                    decode(text)
            assert gc.isenabled() is is_on
        finally:
            gc.enable()


def test_no_password_is_shown(client: Client) -> None:
    r = client.get("http://ada:s3cret@127.0.0.1:1/x?a=b", check=False)
    assert repr(r) == "<Response [0] GET http://127.0.0.1:1/x?a=b>" and "s3cret" not in repr(r.error)
    for url in ("ada:s3cret@127.0.0.1/x", "http:ada:s3cret@127.0.0.1/x"):
        r = client.get(url, check=False)
        assert r.error is not None and "s3cret" not in repr(r), r
