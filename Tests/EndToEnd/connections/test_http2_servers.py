# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""HTTP/2 with servers that others wrote. With OUTRIDER_TEST_LONG=1, uploads of 100 MB and 10,000 requests."""

import os
import time

import contract
import http2_servers
import pytest

LONG = bool(os.environ.get("OUTRIDER_TEST_LONG"))
UPLOAD, REQUESTS = (100_000_000, 10_000) if LONG else (4_000_000, 300)
CODINGS = {
    "nginx": ["gzip"], "apache2": ["br", "gzip"], "haproxy": ["gzip"], "caddy": ["zstd", "gzip"], "h2o": ["br", "gzip"],
}  # fmt: skip
pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(params=http2_servers.KINDS, scope="module")
def servers(request, tmp_path_factory, certificates, origin):
    kind = request.param
    if http2_servers.program(kind) is None:
        pytest.skip(f"{kind} is not here; scripts/setup --test installs it")
    folder = tmp_path_factory.mktemp(kind)
    folder.chmod(0o755)
    names = {"kind": kind}
    with http2_servers.serving(kind, folder, certificates, origin, names) as (secure, plain):
        yield {**names, "secure": secure, "plain": plain}


@pytest.fixture(params=["secure", "plain"])
def base(request, servers):
    """The params of a request, but for its path."""
    return {"url": servers[request.param], "httpVersion": "2"}


def send(wire, base, path, seconds=60, **more):
    return wire.call("data.send", {**base, "url": base["url"] + path, **more}, seconds)["result"]


def test_methods_and_bodies(trusting, base, tmp_path):
    got = send(trusting, base, "/json", metrics=True)
    assert got["status"] == 200 and got["httpVersion"] == "2" and got["body"]["json"] == {"id": 1, "x": 0.1}
    head = send(trusting, base, "/json", method="HEAD")
    assert head["status"] == 200 and head["body"]["kind"] == "none"
    assert send(trusting, base, "/status/204")["status"] == 204
    posted = send(trusting, base, "/echo", method="POST", body={"text": "some \u00e4 text"})
    assert posted["body"]["json"]["body"] == "some \u00e4 text" and posted["body"]["json"]["method"] == "POST"
    assert send(trusting, base, "/gzip")["body"]["text"] == "this was compressed with gzip\n"
    large = send(trusting, base, "/bytes/3000000", bodyTo="stored")
    assert large["ok"] and large["body"]["size"] == 3_000_000
    file = tmp_path / "upload"
    with open(file, "wb") as written:
        written.truncate(UPLOAD)
    taken = send(trusting, base, "/status/201", method="POST", body={"file": str(file)}, timeout=300, seconds=300)
    assert taken["status"] == 201, taken
    assert all(one["httpVersion"] == "2" for one in (head, posted, large, taken))


def test_cancelling_leaves_the_connection(trusting, base):
    first = send(trusting, base, "/json", metrics=True)
    begun = trusting.call("data.start", {**base, "url": base["url"] + "/bytes/900000000", "bodyTo": "stored"})
    time.sleep(0.2)
    trusting.call("request.cancel", {"request": begun["result"]["request"]})
    second = send(trusting, base, "/json", metrics=True)
    numbers = [one["metrics"]["attempts"][-1]["connection"] for one in (first, second)]
    assert numbers[0] == numbers[1]


def test_many_at_once(trusting, base):
    waiting, results, left = set(), [], REQUESTS
    while waiting or left:
        while left and len(waiting) < 64:
            left -= 1
            method = {"method": "POST", "body": {"text": str(left)}} if left % 3 == 0 else {}
            params = {**base, "url": f"{base['url']}/echo?{left}", **method}
            waiting.add(trusting.start("data.send", params))
        reply = trusting.receive(60)
        waiting.remove(reply["id"])
        results.append(reply["result"])
    bad = [one.get("error") or one["status"] for one in results if not one["ok"] or one["status"] != 200]
    assert not bad, (len(bad), bad[:3])


def test_codings(trusting, servers):
    base = {"url": servers["secure"], "httpVersion": "2"}
    for coding in CODINGS.get(servers["kind"], []):
        got = send(trusting, base, "/", headers={"Accept-Encoding": coding})
        fields = {field["name"]: field["value"] for field in got["headers"]}
        assert fields.get("content-encoding") == coding and "/json" in got["body"]["text"], (coding, fields)


def test_trailers_of_the_origin(trusting, servers, origin):
    """Of HTTP/1.1, and through proxies that pass them on."""
    wanted = [{"name": "X-Checksum", "value": "12"}]
    assert send(trusting, {"url": origin}, "/trailers")["trailers"] == wanted
    if servers["kind"] in ("haproxy", "caddy"):
        got = send(trusting, {"url": servers["plain"], "httpVersion": "2"}, "/trailers")
        assert [one["value"] for one in got["trailers"]] == ["12"]


def test_a_proxy_without_a_backend_ends_with_its_word(trusting, servers):
    if servers["kind"] == "haproxy":
        dead = {"url": f"http://127.0.0.1:{servers['dead']}", "httpVersion": "2"}
        got = send(trusting, dead, "/json", metrics=True, retry=False)
        assert got["status"] == 503 and len(got["metrics"]["attempts"]) <= 4
