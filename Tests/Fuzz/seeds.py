# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The inputs with which the targets of libFuzzer begin: texts of the Swift tests, transcripts of schema/, cassettes."""

import base64
import gzip
import json
import pathlib
import re
import struct
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "Tests"
MOST, LONGEST = 400, 4096
PLAIN = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
RAW = re.compile(r'#"(.*?)"#')
LONG = re.compile(r'#?"""\n(.*?)\n *"""', re.DOTALL)
NUMBERS = re.compile(r"\[([0-9A-Fa-fx,\s]{3,})\]")
# self-signed, of a key of Ed25519, for a.test and 127.0.0.1
CERTIFICATE = """\
MIIBUDCCAQKgAwIBAgIUKDGv0FNtlAW1+JZw+3iLItFQHgYwBQYDK2VwMBExDzANBgNVBAMMBmEudGVzdDAeFw0yNjExMjcwODU2NDBaFw0zNjEx
MjQwODU2NDBaMBExDzANBgNVBAMMBmEudGVzdDAqMAUGAytlcAMhALS1WxWeQnOeZ6PqGQyY0CTgjb8HQHj8vTL52ThrLe7go2wwajAdBgNVHQ4E
FgQURqDCvP4KNGgqgvyABn5MFQ/c5lMwHwYDVR0jBBgwFoAURqDCvP4KNGgqgvyABn5MFQ/c5lMwDwYDVR0TAQH/BAUwAwEB/zAXBgNVHREEEDAO
ggZhLnRlc3SHBH8AAAEwBQYDK2VwA0EAOXyVKc8zQT6TmrvCCefxhIwIlF1CB+b1+kQDbi66HIAZSCWDWUIEOyF9/1ANtGnZvnBdw38PeBNc0oeB
wUl+Bg=="""
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "0": "\0", '"': '"', "\\": "\\", "'": "'"}


def unescaped(text: str) -> str:
    def one(found: "re.Match[str]") -> str:
        if found.group(1):
            number = int(found.group(1), 16)
            return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else ""
        return ESCAPES.get(found.group(2), found.group(0))

    return re.sub(r"\\u\{([0-9A-Fa-f]+)\}|\\(.)", one, text)


def literals(path: pathlib.Path) -> "list[bytes]":
    """The texts and the lists of bytes that a Swift file names."""
    source = path.read_text()
    found = [text.encode() for text in RAW.findall(source)]
    for text in LONG.findall(source):
        lines = [line.strip() if line.strip().endswith("\\r") else line for line in text.splitlines()]
        least = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        found.append(unescaped("\n".join(line[least:] for line in lines)).encode())
    found += [unescaped(text).encode() for text in PLAIN.findall(LONG.sub("", source)) if r"\(" not in text]
    for numbers in NUMBERS.findall(source):
        words = [word.strip() for word in numbers.split(",") if word.strip()]
        if not all(re.fullmatch(r"0x[0-9A-Fa-f]{1,2}|0|[1-9]\d{0,2}", word) for word in words):
            continue
        values = [int(word, 0) for word in words]
        if all(value < 256 for value in values):
            found.append(bytes(values))
    return found


def transcripts() -> "list[bytes]":
    """The messages that the documentation shows, one a line."""
    found = []
    for path in sorted((ROOT / "schema/transcripts").rglob("*")):
        if path.is_file():
            found += [line[3:].encode() for line in path.read_text().splitlines() if line[:3] in (">> ", "<< ")]
    return found


def made(name: str) -> "list[bytes]":
    """Inputs that no test has as a text."""
    text = b'{"items":[1,2.5,"x",null,true,{"a":[]}]}' * 3
    if name == "gzip":
        return [gzip.compress(text, mtime=0), gzip.compress(b"", mtime=0) + gzip.compress(text, 1, mtime=0)]
    if name == "deflate":
        raw = zlib.compressobj(6, zlib.DEFLATED, -15)
        return [zlib.compress(text), zlib.compress(bytes(4000)), raw.compress(text) + raw.flush()]
    if name == "chunked":
        return [b"5\r\nhello\r\n0\r\n\r\n", b"A;x=y\r\n0123456789\r\n0\r\nDigest: x\r\n\r\n", b"0\r\n\r\n"]
    if name == "zstd":
        return [bytes.fromhex(text) for text in (
            "28b52ffd0058833e0061", "28b52ffd2400010000", "28b52ffd0458 29000068656c6c6f")]
    if name == "brotli":
        return [bytes.fromhex("0b028068656c6c6f03"), b"\x06"]
    if name == "hpack":
        return [bytes.fromhex(text) for text in (
            "828684418cf1e3c2e5f23a6ba0ab90f4ff", "400a637573746f6d2d6b65790d637573746f6d2d686561646572",
            "4803333032580770726976617465611d4d6f6e2c203231204f63742032303133", "3fe11f88c1c0bf",
            "20488264025885aec3771a4b")]
    if name == "loopback":
        return [b"GET /callback?code=a&state=b HTTP/1.1\r\nHost: 127.0.0.1:4711\r\nAccept: */*\r\n\r\n"]
    if name == "tunnels":
        return [b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", bytes.fromhex("050005000001000000000000"),
                bytes.fromhex("050201000500000302616243 21"), bytes.fromhex("0500050000040000"), b"\5\0\5\2",
                b"HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 2\r\n\r\nno"]
    if name == "websocket":
        frames = ("810568656c6c6f", "010268698000", "827e0080" + 128 * "00", "827f0000000000010000" + 40 * "00",
                  "890170", "880203e8")
        return [bytes.fromhex(text) for text in frames] + [bytes.fromhex("".join(frames[:3]))]
    if name in ("http2", "frames2"):
        return [
            bytes.fromhex("000001010400000001 88"), bytes.fromhex("000001010500000001 88"),
            bytes.fromhex("0000050000 00000001 68656c6c6f"), bytes.fromhex("0000080600000000000102030405060708"),
            bytes.fromhex("00000408000000000000001000"), bytes.fromhex("000004030000000001 00000008"),
            bytes.fromhex("0000080700000000000000000100000000"), bytes.fromhex("000006040000000000 000400000005"),
            bytes.fromhex("00000101040000000188 000005000100000001 68656c6c6f")]
    if name == "cassettes":
        return cassettes()
    if name in ("certificates", "pins"):
        return certificates()
    if name == "heads":
        return heads()
    if name == "rows":
        return rows()
    if name == "journal":
        return journals()
    if name == "netrc":
        return [b"a.test\nuser\npass\\ \"word", b"machine a.test login x password y\ndefault login z"]
    if name == "suffixes":
        return [b"a.b.test\ntest\n*.b.test\n!a.b.test", b"x.co.uk\nuk\nco.uk", b"ck\n*.ck\n!www.ck"]
    if name == "json" or name == "frames" or name == "calls":
        return transcripts()
    return []


def cassettes() -> "list[bytes]":
    entry = {
        "startedDateTime": "2026-01-01T00:00:00.000Z", "time": 3,
        "request": {"method": "GET", "url": "http://a.test/", "headers": [{"name": "A", "value": "b"}]},
        "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": [],
                     "content": {"size": 5, "mimeType": "text/plain", "text": "aGVsbG8=", "encoding": "base64"}},
        "timings": {"send": 0, "wait": 2, "receive": 1}, "_chunks": [[0, 3], [1.5, 2]],
        "_trailers": [{"name": "T", "value": "u"}],
        "_webSocketMessages": [{"type": "send", "opcode": 1, "data": "hi", "time": 1}], "_cut": True,
    }
    line = json.dumps(entry, separators=(",", ":"))
    har = json.dumps({"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [entry]}})
    return [line.encode(), f"{line},\n{line}".encode(), har.encode()]


def certificates() -> "list[bytes]":
    """A certificate as text and as bytes, and the beginning of a hello."""
    text = f"-----BEGIN CERTIFICATE-----\n{CERTIFICATE}\n-----END CERTIFICATE-----\n"
    hello = bytes.fromhex("160303002c020000280303") + bytes(32) + bytes.fromhex("00130100 00")
    return [text.encode(), base64.b64decode(CERTIFICATE), hello]


def heads() -> "list[bytes]":
    """Heads of stored responses."""
    def number(value: int) -> bytes:
        return struct.pack(">q", value)

    def text(value: str) -> bytes:
        return number(len(value.encode())) + value.encode()

    def texts(*values: str) -> bytes:
        return number(len(values)) + b"".join(map(text, values))

    times = number(1_790_000_000_000) + number(1_790_000_000_100)
    plain = number(1) + number(200) + times + number(-1) + number(0) + text("OK") + text("1.1")
    part = number(1) + number(206) + times + number(60) + number(1) + text("") + text("2")
    return [
        plain + texts() + texts() + texts() + text(""),
        plain + texts("Cache-Control", "max-age=60", "Age", "7") + texts("accept") + texts("t") + text("{}"),
        part + texts("Content-Range", "bytes 0-4/10", "ETag", '"a"') + texts() + texts("a", "b") + text(""),
    ]


def rows() -> "list[bytes]":
    """Each damage, with a body and with a file."""
    found = []
    for what in [*range(8), 0x80, 0x84, 0x86]:
        for head in heads()[:2]:
            body = b"0123456789abcdef" if what & 0x80 else b"body"
            found.append(bytes([what, 3]) + struct.pack(">H", len(head)) + head + body)
    return found


def journals() -> "list[bytes]":
    journal = {"format": 1, "url": "http://a.test/x", "partial": "/tmp/x.part", "target": "/tmp/x", "total": 100,
               "etag": '"a"', "lastModified": "Mon, 01 Jan 2024 00:00:00 GMT", "sequential": False, "boot": "b",
               "held": [[0, 10], [20, 30]]}
    least = {"format": 1, "url": "", "partial": "/", "boot": "", "held": []}
    # more than there is
    refused = {**least, "total": 10, "held": [[0, 20]]}
    return [json.dumps(text, separators=(",", ":")).encode() for text in (journal, least, refused)]


def inputs(name: str, tests: "list[str]") -> "list[bytes]":
    found = made(name)
    for pattern in tests:
        for path in sorted(TESTS.glob(pattern)):
            if path.suffix == ".swift":
                found += literals(path)
    return [text for text in dict.fromkeys(found) if 0 < len(text) <= LONGEST]


def write(name: str, tests: "list[str]", folder: pathlib.Path) -> "list[str]":
    """Writes the inputs into a folder, and their words into a dictionary; returns the options that name both."""
    folder.mkdir(parents=True)
    found = inputs(name, tests)
    # every so many-th, if there are too many
    chosen = found[:: max(1, -(-len(found) // MOST))]
    files = [folder / f"{number:04}" for number in range(len(chosen))]
    for file, text in zip(files, chosen):
        file.write_bytes(text)
    # in this order, which a folder would not have
    listed = folder.with_suffix(".list")
    listed.write_text(",".join(map(str, files)))
    words = ["".join(f"\\x{byte:02X}" for byte in text) for text in found if 2 <= len(text) <= 20]
    file = folder.with_suffix(".dict")
    file.write_text("".join(f'"{word}"\n' for word in words[:200]))
    return ([f"-dict={file}"] if words else []) + ([f"-seed_inputs=@{listed}"] if files else [])
