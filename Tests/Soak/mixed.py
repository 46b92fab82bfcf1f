# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What programs do with a service, in short plays: sessions, caches, streams, WebSockets, uploads, events.

A play is a generator: it yields a call, and gets the result, or None for an error.
"""

import random

PATHS = ("/json", "/gzip", "/deflate", "/chunked", "/trailers", "/bytes/5000", "/redirect/2", "/status/404", "/headers")


def plain(origin, _):
    yield "data.send", {"url": origin + random.choice(PATHS), "handles": False}


def session(origin, number):
    """A session with cookies, a cache and limits of its own, which serves some requests."""
    name = f"mixed{number}"
    made = yield "session.create", {"name": name, "cache": {}, "cookies": {}, "limits": {"perHost": 2}}
    if made is None:
        made = yield "session.create", {"name": name}
    for _ in range(3):
        yield "data.send", {"url": origin + random.choice(PATHS), "session": name}
    yield "cookies.set", {"session": name, "url": origin + "/", "name": "a", "value": "b"}
    yield "session.close", {"session": name}


def cache(origin, number):
    url = f"{origin}/cached/{number % 50}"
    yield "cache.put", {"url": url, "headers": {"Cache-Control": "max-age=600"}, "base64": "aGVsbG8=" * 50}
    yield "cache.get", {"url": url}
    yield "cache.delete", {"url": url}


def stream(origin, _):
    """An event stream that is read in part."""
    opened = yield "sse.open", {"url": origin + "/events/3", "wait": "response"}
    if opened and "stream" in opened:
        yield "stream.read", {"stream": opened["stream"], "items": 1}
        yield "stream.close", {"stream": opened["stream"]}


def socket(origin, _):
    opened = yield "websocket.open", {"url": origin + "/websocket/2", "compact": True}
    if opened and "stream" in opened:
        yield "stream.read", {"stream": opened["stream"], "items": 1}
        yield "websocket.close", {"stream": opened["stream"]}


def upload(origin, _):
    body = random.choice([{"text": "x" * 3000}, {"multipart": [{"name": "a", "text": "b" * 500}]}, {"json": [1, 2, 3]}])
    yield "upload.send", {"url": origin + "/echo", "body": body, "handles": False}


def started(origin, _):
    """A request that is cancelled or awaited, then forgotten."""
    made = yield "data.start", {"url": origin + random.choice(["/delay/1", "/bytes/100000", "/json"])}
    if made is None:
        return
    yield random.choice(["request.cancel", "request.suspend", "request.describe"]), {"request": made["request"]}
    yield "request.cancel", {"request": made["request"]}
    yield "request.wait", {"request": made["request"]}
    yield "request.forget", {"request": made["request"]}


def stored(origin, _):
    """A response that stays in the service until it is released."""
    got = yield "data.send", {"url": origin + "/bytes/200000", "bodyTo": "stored"}
    handle = ((got or {}).get("body") or {}).get("response")
    if handle:
        yield "response.read", {"response": handle, "bytes": 1000}
        yield "response.release", {"response": handle}


def monitor(origin, _):
    made = yield "events.subscribe", {"topics": ["request.*", "attempt.*"]}
    yield "data.send", {"url": origin + "/json"}
    if made:
        yield "events.unsubscribe", {"subscription": made["subscription"]}


PLAYS = (plain, plain, session, cache, stream, socket, upload, started, stored, monitor)
