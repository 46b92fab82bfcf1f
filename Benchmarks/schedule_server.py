# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The server of schedules.py: responds, dies, redirects, drips, takes bodies, gives parts of a file, asks who asks."""

import asyncio
import hashlib
import random
import re

USER, PASSWORD, REALM, NONCE = "ada", "s3cret", "vault", "0123456789abcdef"
FILE = random.Random(7).randbytes(60_000)
EVENTS = b"".join(b"id: %d\ndata: %d\n\n" % (number, number) for number in range(40))
FINE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine"
MOVED = b"HTTP/1.1 302 Found\r\nLocation: /fine\r\nContent-Length: 0\r\n\r\n"
ASKS = (b'HTTP/1.1 401 Who?\r\nWWW-Authenticate: Digest realm="%s", nonce="%s", qop="auth"\r\nContent-Length: 0\r\n\r\n'
        % (REALM.encode(), NONCE.encode()))


class Broken(Exception):
    """The connection is to be cut here."""


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, _ = head.split(" ", 2)
            fields = {name.lower(): value for name, value in re.findall(r"^([\w-]+): *([^\r\n]*)", head, re.M)}
            body = await read(reader, fields)
            await RESPONDERS[target.split("?")[0]](writer, method, target, fields, body)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError, Broken):
        pass
    finally:
        writer.close()


async def read(reader, fields):
    if fields.get("transfer-encoding"):
        body = b""
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readuntil(b"\r\n")
        return body
    return await reader.readexactly(int(fields.get("content-length", 0)))


async def fine(writer, *_):
    writer.write(FINE)


async def late(writer, *_):
    await asyncio.sleep(0.002)
    writer.write(FINE)


async def to(writer, *_):
    writer.write(MOVED)


async def dies(writer, *_):
    if random.random() < 0.5:
        raise Broken
    writer.write(FINE)


async def drip(writer, *_):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n" + bytes(20000))
    await asyncio.sleep(0.001)
    writer.write(bytes(20000))


async def take(writer, method, target, fields, body):
    """How many bytes came, or a death after them."""
    if random.random() < 0.1:
        raise Broken
    text = b"%d" % len(body)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)


async def vault(writer, method, target, fields, body):
    def hashed(text):
        return hashlib.md5(text.encode()).hexdigest()

    said = {name: quoted or bare for name, quoted, bare in
            re.findall(r'(\w+)=(?:"([^"]*)"|([^,\s]*))', fields.get("authorization", ""))}
    middle = ":".join(said.get(name, "") for name in ("nonce", "nc", "cnonce", "qop"))
    proof = hashed(f"{hashed(f'{USER}:{REALM}:{PASSWORD}')}:{middle}:{hashed(f'{method}:{target}')}")
    writer.write(FINE if said.get("response") == proof else ASKS)


async def file(writer, method, target, fields, body):
    """The rest of it from where it is asked for; now and then it breaks off."""
    found = re.match(r"bytes=(\d+)-$", fields.get("range", ""))
    start = int(found[1]) if found else 0
    part = FILE[start:]
    if not part:
        writer.write(b"HTTP/1.1 416 No\r\nContent-Range: bytes */%d\r\nContent-Length: 0\r\n\r\n" % len(FILE))
        return
    status = b"206 Part\r\nContent-Range: bytes %d-%d/%d" % (start, len(FILE) - 1, len(FILE)) if found else b"200 OK"
    writer.write(b'HTTP/1.1 %s\r\nETag: "one"\r\nContent-Length: %d\r\n\r\n' % (status, len(part)) + part[:30000])
    await writer.drain()
    if random.random() < 0.2:
        raise Broken
    await asyncio.sleep(0.001)
    writer.write(part[30000:])


async def events(writer, method, target, fields, body):
    """Forty events, perhaps in two connections: a client that comes back says where it was."""
    last = fields.get("last-event-id")
    rest = EVENTS if last is None else EVENTS[EVENTS.index(b"id: %d\n" % (int(last) + 1)):] if int(last) < 39 else b""
    if not rest:
        writer.write(b"HTTP/1.1 204 Over\r\n\r\n")
        return
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    cut = len(rest) // 2 if random.random() < 0.3 else len(rest)
    writer.write(rest[:cut])
    await writer.drain()
    raise Broken


RESPONDERS = {"/fine": fine, "/late": late, "/to": to, "/dies": dies, "/drip": drip, "/take": take, "/vault": vault,
           "/file": file, "/events": events}
