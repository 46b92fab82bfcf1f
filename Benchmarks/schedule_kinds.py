# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The kinds of schedules: a request of each kind, what is done to it, and what must come of it."""

import asyncio
import base64
import shutil

from schedule_server import FILE, PASSWORD, USER

PATHS = ["/fine", "/fine", "/to", "/dies", "/drip", "/late"]
DEEDS = ["request.suspend", "request.resume", "request.cancel"]
# the last one is how an event stream ends whose server has no more to say
LOST, CANCELLED, OVER = 1404, 1900, 2012
SESSIONS = {
    "narrow": lambda url: {"limits": {"concurrent": 4}},
    "known": lambda url: {"credentials": [{"url": url, "username": USER, "password": PASSWORD}]},
    "asking": lambda url: {"challenge": {"callback": "who"}},
}
COMMON = {"events": ["state", "finish"], "timeout": 60, "retry": {"scale": 0.001, "limit": 3}}


def need(holds, *what):
    if not holds:
        raise AssertionError(" ".join(str(one)[:500] for one in what))


async def disturb(service, handle, chance, others=()):
    """Does random things to a request, and lets it go on at last. Returns what was done."""
    most = DEEDS if chance.random() < 0.3 else DEEDS[:2]
    deeds = [chance.choice([*most, *others]) for _ in range(chance.randint(0, 8))]
    replies = []
    for deed in [*deeds, "request.resume"]:
        replies.append(service.call(deed, {"request": handle}))
        if chance.random() < 0.3:
            await asyncio.sleep(chance.choice([0, 0, 0.001]))
    for deed, reply in zip(deeds, await asyncio.wait_for(asyncio.gather(*replies), 60)):
        need("result" in reply, handle, deed, reply)
    return deeds


async def finish(service, handle, deeds, may=(LOST,)):
    """The response of a request, which must be one that its deeds explain."""
    response = (await service.over(handle))["response"]
    error = response.get("error", {}).get("code")
    cancels = {"request.cancel", "stream.close"} & set(deeds)
    need(error in (None, *may) or (error == CANCELLED and cancels), deeds, "ended with", response)
    state = (await service.done("request.get", {"request": handle}))["state"]
    need(state == ("cancelled" if error == CANCELLED else "finished"), state, "after", response)
    await service.done("request.forget", {"request": handle})
    service.forget(handle)
    return response


async def plain(service, url, chance, place, where, **more):
    more.setdefault("startImmediately", chance.random() < 0.8)
    params = {"url": url + chance.choice(PATHS), **COMMON, **more}
    handle = (await service.done("data.start", params))["request"]
    response = await finish(service, handle, await disturb(service, handle, chance))
    need(not response["ok"] or response["status"] == 200, response)


async def limited(service, url, chance, place, where):
    priority = chance.choice(["low", "normal", "high"])
    await plain(service, url, chance, place, where, session="narrow", priority=priority)


async def signed(service, url, chance, place, where):
    """By a session that knows the password, by one that asks, or by code of the request's own."""
    more = chance.choice([{"session": "known"}, {"session": "asking"}, {"challenge": {"callback": "mine"}}])
    if chance.random() < 0.3:
        more = {**more, "body": {"text": "x" * 3000}, "method": "POST"}
    handle = (await service.done("data.start", {"url": url + "/vault", **COMMON, **more}))["request"]
    response = await finish(service, handle, await disturb(service, handle, chance))
    need(not response["ok"] or response["status"] == 200, where, response)


async def uploaded(service, url, chance, place, where):
    """From memory, or from a stream that is written meanwhile."""
    size = chance.choice([10, 3000, 100_000])
    params = {"url": url + "/take", "method": "POST", **COMMON}
    if chance.random() < 0.5:
        handle = (await service.done("upload.start", {**params, "body": {"text": "x" * size}}))["request"]
        response = await finish(service, handle, await disturb(service, handle, chance))
    else:
        stream = (await service.done("upload.open", {}))["stream"]
        handle = (await service.done("upload.start", {**params, "body": {"stream": stream}}))["request"]
        writes = [service.call("stream.write", {"stream": stream, "text": "x" * (size // 2)}) for _ in range(2)]
        writes.append(service.call("stream.finish", {"stream": stream}))
        deeds = await disturb(service, handle, chance)
        # what was cancelled takes no more, and says so
        codes = {reply.get("error", {}).get("code") for reply in await asyncio.gather(*writes)}
        need(codes <= {None, -32012, -32013}, codes)
        # a stream can be sent once: what was lost on the way is not sent again
        response = await finish(service, handle, deeds, may=(LOST, 1310, 1410))
    need(not response["ok"] or response["body"]["text"] == str(size), response)


async def downloaded(service, url, chance, place, where):
    """To a path; what was lost on the way goes on, in the same request or in the next one."""
    place.mkdir()
    path = place / "file"
    params = {"url": url + "/file", **COMMON, "destination": {"path": str(path)}, "resume": chance.random() < 0.5}
    if chance.random() < 0.3:
        params["retry"] = {"limit": 0}
    response = None
    while response is None or (not response["ok"] and params["resume"]):
        handle = (await service.done("download.start", params))["request"]
        response = await finish(service, handle, await disturb(service, handle, chance))
        need(response["ok"] == path.exists(), response)
        params["retry"] = COMMON["retry"]
    need(not response["ok"] or path.read_bytes() == FILE, "another file than was sent")
    left = [one.name for one in place.iterdir() if one.name != "file"]
    need(not left or "resumeData" in response, left, "is left after", response)
    shutil.rmtree(place)


async def streamed(service, url, chance, place, where):
    """Bytes that are pushed, pulled, or given up."""
    target = chance.choice(["/file", "/drip", "/fine", "/dies", "/to"])
    push = chance.random() < 0.5
    wish = {"mode": "push", "credit": 1 << 20} if push else {"mode": "pull"}
    opened = await service.done("stream.open", {"url": url + target, **COMMON, **wish})
    handle, stream = opened["request"], opened["stream"]
    deeds = disturb(service, handle, chance)
    if chance.random() < 0.2:
        deeds = [*await deeds, "stream.close"]
        reply = await service.call("stream.close", {"stream": stream})
        # a push stream that has ended is known no more
        need("result" in reply or service.of(stream).over.done(), reply)
        await finish(service, handle, deeds)
        return service.forget(stream)
    if push:
        deeds = await deeds
        end = await service.over(stream)
        size, got = end["size"], b"".join(service.of(stream).data)
    else:
        reading = asyncio.ensure_future(pull(service, stream))
        deeds = await deeds
        got, end = await asyncio.wait_for(reading, 60)
        size = len(got)
    need(len(got) == size, len(got), "bytes of", size)
    response = await finish(service, handle, deeds)
    agree = response["ok"] == ("error" not in end)
    need(agree or is_late(response, len(got)), response, end)
    need(not response["ok"] or target != "/file" or got == FILE, "another file than was sent")
    service.forget(stream)


def is_late(response, size):
    """Whether it was cancelled when its stream had ended well: with the last byte of the length that was announced."""
    lengths = [field["value"] for field in response["headers"] if field["name"].lower() == "content-length"]
    return response.get("error", {}).get("code") == CANCELLED and lengths == [str(size)]


async def pull(service, stream):
    got = b""
    while True:
        piece = await service.done("stream.read", {"stream": stream, "wait": 30})
        got += base64.b64decode(piece["base64"])
        if piece["end"]:
            return got, piece


async def listened(service, url, chance, place, where):
    """An event stream that is opened again until it is over: every event once, in order."""
    params = {"url": url + "/events", "events": ["state", "finish"], "credit": 1 << 20, "mode": "push",
              "reconnect": {"delay": 0.001}}
    opened = await service.done("sse.open", params)
    handle, stream = opened["request"], opened["stream"]
    deeds = await disturb(service, handle, chance)
    await service.over(stream)
    numbers = [int(event["data"]) for event in service.of(stream).events]
    response = await finish(service, handle, deeds, may=(OVER,))
    need(numbers == list(range(len(numbers))), numbers)
    need(response["error"]["code"] == CANCELLED or len(numbers) == 40, numbers, response)
    service.forget(stream)


KINDS = {"plain": plain, "limited": limited, "signed": signed, "uploaded": uploaded, "downloaded": downloaded,
         "streamed": streamed, "listened": listened}
