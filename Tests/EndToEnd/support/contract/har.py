# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The rules of HTTP Archive 1.2, as a list of what an archive breaks."""

import base64
import re
import urllib.parse

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
# name: (type, required)
LOG = {"version": (str, True), "creator": (dict, True), "browser": (dict, False), "pages": (list, False)}
LOG |= {"entries": (list, True), "comment": (str, False)}
CREATOR = {"name": (str, True), "version": (str, True), "comment": (str, False)}
ENTRY = {
    "pageref": (str, False), "startedDateTime": (str, True), "time": (float, True), "request": (dict, True),
    "response": (dict, True), "cache": (dict, True), "timings": (dict, True), "serverIPAddress": (str, False),
    "connection": (str, False), "comment": (str, False),
}  # fmt: skip
REQUEST = {
    "method": (str, True), "url": (str, True), "httpVersion": (str, True), "cookies": (list, True),
    "headers": (list, True), "queryString": (list, True), "postData": (dict, False), "headersSize": (int, True),
    "bodySize": (int, True), "comment": (str, False),
}  # fmt: skip
RESPONSE = {
    "status": (int, True), "statusText": (str, True), "httpVersion": (str, True), "cookies": (list, True),
    "headers": (list, True), "content": (dict, True), "redirectURL": (str, True), "headersSize": (int, True),
    "bodySize": (int, True), "comment": (str, False),
}  # fmt: skip
COOKIE = {
    "name": (str, True), "value": (str, True), "path": (str, False), "domain": (str, False), "expires": (str, False),
    "httpOnly": (bool, False), "secure": (bool, False), "comment": (str, False),
}  # fmt: skip
PAIR = {"name": (str, True), "value": (str, True), "comment": (str, False)}
POST = {"mimeType": (str, True), "params": (list, False), "text": (str, False), "comment": (str, False)}
CONTENT = {
    "size": (int, True), "compression": (int, False), "mimeType": (str, True), "text": (str, False),
    "encoding": (str, False), "comment": (str, False),
}  # fmt: skip
PHASES = ("blocked", "dns", "connect", "send", "wait", "receive", "ssl")
TIMINGS = {name: (float, name in ("send", "wait", "receive")) for name in PHASES} | {"comment": (str, False)}


def faults(archive):
    """What is wrong with it, each with its place; empty if it is an archive."""
    if set(archive) != {"log"}:
        yield "an archive has `log` and nothing else"
        return
    log = archive["log"]
    yield from members(log, LOG, "log")
    if log.get("version") != "1.2":
        yield "log.version is 1.2"
    yield from members(log.get("creator", {}), CREATOR, "log.creator")
    for index, entry in enumerate(log.get("entries", [])):
        yield from entry_faults(entry, f"log.entries[{index}]")


def members(value, rules, at):
    for name, (kind, required) in rules.items():
        if name not in value:
            if required:
                yield f"{at}.{name} is missing"
        elif not isinstance(value[name], (int, float) if kind is float else kind) or (
            kind in (int, float) and isinstance(value[name], bool)
        ):
            yield f"{at}.{name} is no {kind.__name__}: {value[name]!r}"
    for name in set(value) - set(rules):
        if not name.startswith("_"):
            yield f"{at}.{name} is not in the rules"


def entry_faults(entry, at):
    found = list(members(entry, ENTRY, at))
    found += members(entry.get("request", {}), REQUEST, f"{at}.request")
    found += members(entry.get("response", {}), RESPONSE, f"{at}.response")
    found += members(entry.get("timings", {}), TIMINGS, f"{at}.timings")
    yield from found
    if found:
        return
    if not TIME.fullmatch(entry["startedDateTime"]):
        yield f"{at}.startedDateTime is no ISO 8601 time"
    yield from timing_faults(entry, f"{at}.timings")
    request, response = entry["request"], entry["response"]
    if "#" in request["url"] or not urllib.parse.urlsplit(request["url"]).netloc:
        yield f"{at}.request.url is no absolute URL without fragment"
    for side, part in (("request", request), ("response", response)):
        for name, rules in (("cookies", COOKIE), ("headers", PAIR)):
            for index, item in enumerate(part[name]):
                yield from members(item, rules, f"{at}.{side}.{name}[{index}]")
                if "expires" in item and not TIME.fullmatch(item["expires"]):
                    yield f"{at}.{side}.{name}[{index}].expires is no ISO 8601 time"
        for size in ("headersSize", "bodySize"):
            if part[size] < -1:
                yield f"{at}.{side}.{size} is less than -1"
    for index, item in enumerate(request["queryString"]):
        yield from members(item, PAIR, f"{at}.request.queryString[{index}]")
    if "postData" in request:
        yield from members(request["postData"], POST, f"{at}.request.postData")
        if "text" not in request["postData"] and "params" not in request["postData"]:
            yield f"{at}.request.postData has neither text nor params"
    content = response["content"]
    yield from members(content, CONTENT, f"{at}.response.content")
    if content.get("encoding") == "base64":
        base64.b64decode(content["text"], validate=True)


def timing_faults(entry, at):
    timings = entry["timings"]
    for name in PHASES:
        value = timings.get(name, -1)
        if value < 0 and (value != -1 or name in ("send", "wait", "receive")):
            yield f"{at}.{name} is {value}"
    if timings.get("ssl", -1) > timings.get("connect", -1):
        yield f"{at}.ssl is part of connect"
    whole = sum(timings.get(name, -1) for name in PHASES if name != "ssl" and timings.get(name, -1) != -1)
    if abs(entry["time"] - whole) > 0.01:
        yield f"{at}: time is the sum of the timings, {whole}, not {entry['time']}"
