# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bytes and messages; and what importing the package costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from outrider import InvalidCall, ProtocolError, Response
from outrider._protocol import frames as _rpc
from outrider._connection import inbox as _replies

SOURCE = Path(__file__).resolve().parents[1] / "src"


def test_a_call_is_one_ascii_line_with_the_members_in_order() -> None:
    frame = _rpc.call_frame(7, "data.send", _rpc.encode({"url": "http://é/\n"}))
    assert frame == b'{"jsonrpc":"2.0","id":7,"method":"data.send","params":{"url":"http://\\u00e9/\\n"}}\n'


def test_notifications_replies_and_refusals_are_valid_messages() -> None:
    assert json.loads(_rpc.cancel_frame(3)) == {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 3}}
    assert json.loads(_replies.reply_frame(1_000_000_001, {"sum": 5}))["result"] == {"sum": 5}
    assert json.loads(_replies.refusal_frame(4, -32601, "no"))["error"] == {"code": -32601, "message": "no"}
    assert json.loads(_rpc.event_frame("stream.credit", "{}")) == {
        "jsonrpc": "2.0",
        "method": "stream.credit",
        "params": {},
    }


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), float("inf"), b"bytes", object()])
def test_what_json_has_no_form_for_is_refused_by_the_parameters_name(value: object) -> None:
    with pytest.raises(InvalidCall, match=r"^body cannot be written as JSON"):
        _rpc.encode({"a": [value]}, "body")


def test_a_value_that_contains_itself_is_refused() -> None:
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(InvalidCall, match="contains itself"):
        _rpc.encode(circle)


def test_several_lines_are_read_at_once_and_blank_ones_are_skipped() -> None:
    lines = b'{"id":1,"result":{}}\n\n   {"id":2,"result":{"a":"\\u2028"}}\r\n{"method":"event.x","params":{}}\n'
    assert [message.get("id") for message in _rpc.messages(lines)] == [1, 2, None]


def test_the_waiting_pad_before_a_reply_is_skipped() -> None:
    assert _rpc.messages(b'     {"id":1,"result":{}}\n') == [{"id": 1, "result": {}}]


@pytest.mark.parametrize(
    "line", [b"{", b"hello", b'{"a":1}x', b"[1]", b"7", b"\xff", b'{"a":NaN}', b"[" * 100_000, b'{"a":1},{"b":2}x']
)
def test_what_is_not_a_message_is_a_protocol_error(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        _rpc.messages(line + b"\n")


def test_the_portable_codec_does_what_the_fast_one_does() -> None:
    fast, portable = _rpc._accelerated(), _rpc._portable()
    value = {"a": [1, 2.5, 1e300, "é\u2028\x00", None, True, {}], "b": -(2**63)}
    assert fast[1](value) == portable[1](value)
    text = portable[1](value)
    assert fast[0](text, 0) == portable[0](text, 0) == (value, len(text))


def test_decoding_takes_one_value_and_nothing_else() -> None:
    assert _rpc.decode(" [1] \n") == [1]
    for text in ("", "[1] 2", "nul", "NaN", "{'a':1}"):
        with pytest.raises(ValueError):
            _rpc.decode(text)


def _fresh(program: str) -> str:
    words = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n{program}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


HEAVY = "asyncio typing dataclasses inspect subprocess logging email http re json socket ssl urllib threading enum"


@pytest.mark.parametrize("program", ["import outrider", "import outrider; outrider.get; outrider.Client"])
def test_importing_loads_nothing_heavy(program: str) -> None:
    loaded = set(_fresh(f"{program}; print(*sys.modules)").split())
    assert "outrider" in loaded
    assert not loaded & set(HEAVY.split())


def test_what_is_not_json_is_a_value_error_also_where_nobody_has_imported_json() -> None:
    program = """
from outrider import ProtocolError, Response, ServerSentEvent
from outrider._protocol.frames import messages
line = b'{"jsonrpc":"2.0","id":1,"result":{"ok":true,"body":{"kind":"base64","base64":"eyJhIjoxLH0="}}}'
print("json" in sys.modules)
for text in ('{"a":1,}', '{"a" 1}', '[1', '"a', "{a:1}", '["\\\\x"]', "[1,]", "[NaN]"):
    for read in (ServerSentEvent(text).json, Response(line, print).json, lambda: messages(text.encode() + b"\\n")):
        try:
            read()
        except (ValueError, ProtocolError):
            continue
        print("nothing raised for", text)
"""
    assert _fresh(program) == "False\n"


def test_everything_public_can_be_reached_and_nothing_else() -> None:
    import outrider

    for name in outrider.__all__:
        assert getattr(outrider, name) is not None
    assert set(dir(outrider)) == set(outrider.__all__)
    with pytest.raises(AttributeError, match="no attribute 'gett'"):
        outrider.gett  # type: ignore[attr-defined]  # noqa: B018


def test_the_package_never_prints() -> None:
    for file in (SOURCE / "outrider").rglob("*.py"):
        assert "print(" not in "".join(line for line in file.read_text().splitlines() if "    print(" not in line)
        if file.name != "__main__.py":
            assert "sys.stdout" not in file.read_text()


def test_the_response_to_an_exchange_that_went_well_stays_as_it_came() -> None:
    """Everything else is read at once, and the order stays."""
    good = b'{"jsonrpc":"2.0","id":7,"result":{"ok":true,"url":"http://a/","body":{"kind":"none","size":0}}}'
    bad = b'{"jsonrpc":"2.0","id":8,"result":{"ok":false}}'
    event = b'{"jsonrpc":"2.0","method":"event.log","params":{}}'
    odd = b' {"jsonrpc":"2.0","id":9,"result":{"ok":true}}'
    found = _rpc.Incoming().take(b"\n".join([good, bad, event, b"", good.replace(b"7", b'"x"'), odd]) + b"\n")
    assert [number for number, _ in found] == [7, 8, None, "x", 9]
    assert found[0][1] == good
    assert [type(message) for _, message in found[1:]] == [dict] * 4
    assert _rpc.unpack(found[0][1])["url"] == "http://a/"
    assert _rpc.unpack(found[1][1]) == {"ok": False}


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ({"kind": "base64", "size": 2, "base64": "aGk="}, b"hi"),
        ({"kind": "base64", "size": 2, "contentType": '"base64":"AAAA"', "base64": "aGk="}, b"hi"),
        ({"kind": "text", "size": 2, "text": '"base64":"AAAA"'}, None),
        ({"kind": "json", "size": 2, "json": {"body": {"kind": "base64", "base64": "AAAA"}}}, None),
        ({"kind": "stored", "size": 2, "response": "rsp_a"}, None),
        ({"kind": "none", "size": 0}, None),
    ],
)
def test_a_body_is_found_in_a_reply_that_is_still_unread(body: dict[str, Any], content: bytes | None) -> None:
    """Whatever the rest of the reply says."""
    result = {
        "ok": True,
        "tag": '"body":{"kind":"base64","base64":"AAAA"}',
        "headers": [{"name": "body", "value": '{"kind":"base64","base64":"AAAA"}'}],
        "body": body,
        "results": [{"id": "a", "ok": True, "body": {"kind": "base64", "size": 3, "base64": "BBBB"}}],
    }
    line = f'{{"jsonrpc":"2.0","id":1,"result":{_rpc.encode(result)}}}'.encode()
    [(number, message)] = _rpc.Incoming().take(line + b"\n")
    assert number == 1 and type(message) is bytes
    assert _rpc.packed_body(message) == content
    response = Response(message, lambda name, params: {})
    assert response.tag == result["tag"] and response.body == body
