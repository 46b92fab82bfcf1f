#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A small HTTP/1.1 origin on loopback, so that outrider can be tried without the internet.

    scripts/origin.py [--port N] [--quiet]

The first line on stdout is the port: N, or with `--port 0` one that the system picked, or without `--port`
8080 when it is free and any other when it is not. Its paths are listed at `/`.
"""

import argparse
import base64
import gzip
import hashlib
import http
import http.server
import json
import re
import secrets
import signal
import socket
import sys
import time
import zlib

PAGE = """Hello from the origin that comes with outrider.

/json              {"id":1,"x":0.1}
/echo              what you sent: method, target, headers, body
/status/N          status N
/bytes/N           N bytes
/file/N            N bytes that can be asked for in parts, with an ETag
/delay/SECONDS     a response after a while
/gzip  /deflate    a compressed response
/chunked           a body in chunks
/headers           the same field twice
/trailers          a body in chunks, then a trailer
/redirect/N        302, N times, then /json
/events/N          N server-sent events, two with each connection, then 204; goes on from Last-Event-ID
/websocket         a WebSocket that sends back every message
/websocket/N       the same, after it has sent N messages
/chat              a response in the manner of language models, as server-sent events
/basic-auth/U/P    for user U with password P, and Basic
/digest-auth/U/P   the same, and Digest with SHA-256
"""
CHAT = ("You", " asked", ",", " and", " here", " are", " some", " words", ":", "\n", "naïve", " “quotes”", " 🐺", ".")
NONCE = secrets.token_hex(8)
MOST_BYTES = 1 << 30
MOST_SECONDS = 3600.0
PIECE = 1 << 16


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Origin(http.server.BaseHTTPRequestHandler):
    """One connection; kept alive between requests."""

    protocol_version = "HTTP/1.1"
    server_version = "outrider-origin"
    disable_nagle_algorithm = True
    wbufsize = -1
    quiet = False

    def handle_any(self) -> None:
        """Responds whatever the method is; unknown paths are 404."""
        self.body = self.read_body()
        path = self.path.split("?", 1)[0]
        name, _, argument = path[1:].partition("/")
        action = getattr(self, "at_" + (name.replace("-", "_") or "root"), None)
        try:
            if action is None:
                self.respond(404, "not found: see /\n")
            else:
                action(argument)
        except ValueError as error:
            self.respond(400, f"{error}\n")

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_any

    def __getattr__(self, name: str) -> object:
        # any other method, such as PURGE or QUERY, gets a response too
        if name.startswith("do_"):
            return self.handle_any
        raise AttributeError(name)

    def version_string(self) -> str:
        return self.server_version

    def handle(self) -> None:
        """Serves until the peer leaves, however it leaves."""
        try:
            super().handle()
        except ConnectionError:
            pass

    def read_body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            if size == 0:
                break
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(pieces)

    # paths

    def at_root(self, _: str) -> None:
        self.respond(200, PAGE)

    def at_json(self, _: str) -> None:
        self.respond(200, '{"id":1,"x":0.1}', "application/json")

    def at_echo(self, _: str) -> None:
        seen = {
            "method": self.command,
            "target": self.path,
            "headers": [[name, value] for name, value in self.headers.items()],
            "body": self.body.decode("utf-8", "replace"),
        }
        self.respond(200, json.dumps(seen), "application/json")

    def at_status(self, argument: str) -> None:
        status = int(argument)
        if not 200 <= status <= 599:
            raise ValueError("a status between 200 and 599, please")
        try:
            phrase = http.HTTPStatus(status).phrase
        except ValueError:
            phrase = "Unknown"
        self.respond(status, "" if status in (204, 304) else f"{status} {phrase}\n")

    def at_bytes(self, argument: str) -> None:
        left = int(argument)
        if not 0 <= left <= MOST_BYTES:
            raise ValueError(f"between 0 and {MOST_BYTES} bytes, please")
        self.head(200, "application/octet-stream", [("Content-Length", str(left))])
        piece = bytes(range(256)) * (PIECE // 256)
        while left > 0 and self.command != "HEAD":
            self.wfile.write(piece[: min(left, PIECE)])
            left -= PIECE

    def at_file(self, argument: str) -> None:
        size = int(argument)
        if not 0 <= size <= MOST_BYTES:
            raise ValueError(f"between 0 and {MOST_BYTES} bytes, please")
        first, last, fields = 0, size - 1, [("ETag", f'"file-{size}"'), ("Accept-Ranges", "bytes")]
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted:
            first = int(wanted[1])
            last = min(last, int(wanted[2] or last))
            if first > last:
                self.head(416, "text/plain", [*fields, ("Content-Range", f"bytes */{size}"), ("Content-Length", "0")])
                return
            fields.append(("Content-Range", f"bytes {first}-{last}/{size}"))
        fields.append(("Content-Length", str(last - first + 1)))
        self.head(206 if wanted else 200, "application/octet-stream", fields)
        piece = bytes(range(256)) * (PIECE // 256 + 1)
        while first <= last and self.command != "HEAD":
            count = min(last - first + 1, PIECE)
            self.wfile.write(piece[first % 256 : first % 256 + count])
            first += count

    def at_delay(self, argument: str) -> None:
        seconds = float(argument)
        if not 0 <= seconds <= MOST_SECONDS:
            raise ValueError(f"between 0 and {MOST_SECONDS:.0f} seconds, please")
        time.sleep(seconds)
        self.respond(200, f"waited {argument} s\n")

    def at_gzip(self, _: str) -> None:
        self.coded("gzip", gzip.compress(b"this was compressed with gzip\n", mtime=0))

    def at_deflate(self, _: str) -> None:
        self.coded("deflate", zlib.compress(b"this was compressed with deflate\n"))

    def at_chunked(self, _: str) -> None:
        self.chunks([])

    def at_trailers(self, _: str) -> None:
        self.chunks([("Trailer", "X-Checksum")], trailers=b"X-Checksum: 12\r\n")

    def at_headers(self, _: str) -> None:
        self.respond(200, "the same field twice\n", more=[("X-Twice", "one"), ("X-Twice", "two")])

    def at_redirect(self, argument: str) -> None:
        left = int(argument)
        target = f"/redirect/{left - 1}" if left > 1 else "/json"
        self.respond(302, f"see {target}\n", more=[("Location", target)])

    def at_events(self, argument: str) -> None:
        count, last = int(argument), int(self.headers.get("Last-Event-ID") or 0)
        if last >= count:
            self.respond(204, "")
            return
        events = [f'id: {n}\nevent: tick\ndata: {{"n":{n}}}\n\n' for n in range(last + 1, min(count, last + 2) + 1)]
        self.events(["retry: 100\n" + events[0], *events[1:]])

    def at_websocket(self, argument: str) -> None:
        key = self.headers.get("Sec-WebSocket-Key")
        if key is None:
            raise ValueError("a WebSocket handshake, please")
        many = int(argument or 0)
        offered = [name.strip() for name in self.headers.get("Sec-WebSocket-Protocol", "").split(",") if name.strip()]
        digest = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(digest).decode())
        if offered:
            self.send_header("Sec-WebSocket-Protocol", offered[0])
        self.end_headers()
        self.close_connection = True
        for number in range(min(many, 100_000)):
            self.send_frame(1, f"message {number}".encode())
        self.wfile.flush()
        self.echo_frames()

    def echo_frames(self) -> None:
        """Sends messages back, and pongs to pings, until the client closes."""
        while True:
            head = self.rfile.read(2)
            if len(head) < 2:
                return
            size = head[1] & 0x7F
            if size > 125:
                size = int.from_bytes(self.rfile.read(2 if size == 126 else 8), "big")
            mask = self.rfile.read(4)
            payload = bytes(byte ^ mask[index & 3] for index, byte in enumerate(self.rfile.read(size)))
            opcode = head[0] & 0x0F
            self.send_frame(10 if opcode == 9 else opcode, payload, head[0] & 0x80)
            self.wfile.flush()
            if opcode == 8:
                return

    def send_frame(self, opcode: int, payload: bytes, final: int = 0x80) -> None:
        size = len(payload)
        if size <= 125:
            head = bytes([final | opcode, size])
        elif size <= 65535:
            head = bytes([final | opcode, 126]) + size.to_bytes(2, "big")
        else:
            head = bytes([final | opcode, 127]) + size.to_bytes(8, "big")
        self.wfile.write(head + payload)

    def at_chat(self, _: str) -> None:
        pieces = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in CHAT]
        data = [json.dumps(piece, ensure_ascii=False, separators=(",", ":")) for piece in pieces]
        self.events([f"data: {line}\n\n" for line in [*data, "[DONE]"]])

    def at_basic_auth(self, argument: str) -> None:
        expected = base64.b64encode(argument.replace("/", ":", 1).encode()).decode()
        self.guarded(self.headers.get("Authorization") == "Basic " + expected, 'Basic realm="origin"')

    def at_digest_auth(self, argument: str) -> None:
        user, _, password = argument.partition("/")
        said = self.headers.get("Authorization", "")
        given = dict(re.findall(r'(\w+)="?([^",]*)"?', said)) if said.startswith("Digest ") else {}
        subject = sha256(f"{self.command}:{self.path}")
        parts = [given.get(name, "") for name in ("nonce", "nc", "cnonce", "qop")]
        proof = sha256(":".join([sha256(f"{user}:origin:{password}"), *parts, subject]))
        right = given.get("response") == proof and given.get("nonce") == NONCE
        self.guarded(right, f'Digest realm="origin", nonce="{NONCE}", qop="auth", algorithm=SHA-256')

    def guarded(self, right: bool, challenge: str) -> None:
        if right:
            self.at_json("")
        else:
            self.respond(401, "who asks?\n", more=[("WWW-Authenticate", challenge)])

    # how they respond

    def respond(
        self,
        status: int,
        text: str,
        kind: str = "text/plain; charset=utf-8",
        more: "list[tuple[str, str]] | None" = None,
    ) -> None:
        body = text.encode()
        length = [] if status in (204, 304) else [("Content-Length", str(len(body)))]
        self.head(status, kind, length + (more or []))
        if self.command != "HEAD":
            self.wfile.write(body)

    def coded(self, coding: str, body: bytes) -> None:
        self.head(200, "text/plain", [("Content-Encoding", coding), ("Content-Length", str(len(body)))])
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunks(self, more: "list[tuple[str, str]]", trailers: bytes = b"") -> None:
        self.head(200, "text/plain", [("Transfer-Encoding", "chunked"), *more])
        if self.command == "HEAD":
            return
        for word in (b"one ", b"two ", b"three\n"):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(word), word))
            self.wfile.flush()
        self.wfile.write(b"0\r\n" + trailers + b"\r\n")

    def events(self, events: "list[str]") -> None:
        self.head(200, "text/event-stream", [("Transfer-Encoding", "chunked"), ("Cache-Control", "no-store")])
        if self.command == "HEAD":
            return
        for event in events:
            data = event.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def head(self, status: int, kind: str, fields: "list[tuple[str, str]]") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in fields:
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        if not self.quiet:
            super().log_message(format, *arguments)


class Loopback(http.server.ThreadingHTTPServer):
    """Many connections at once, none of them from elsewhere."""

    daemon_threads = True
    request_queue_size = 512

    def server_bind(self) -> None:
        # the inherited one asks the resolver for a name, which may take seconds
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.server_address[:2]

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def main() -> int:
    parser = argparse.ArgumentParser(description="A small HTTP/1.1 origin on loopback.")
    parser.add_argument("--port", type=int, help="0: any free one; absent: 8080, or any if that is taken")
    parser.add_argument("--quiet", action="store_true", help="do not log requests to stderr")
    options = parser.parse_args()
    Origin.quiet = options.quiet
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server = Loopback(("127.0.0.1", 8080 if options.port is None else options.port), Origin)
    except (OSError, OverflowError) as error:
        if options.port is not None:
            print(f"origin: port {options.port}: {error}", file=sys.stderr)
            return 1
        server = Loopback(("127.0.0.1", 0), Origin)
    print(server.server_port, flush=True)
    try:
        server.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
