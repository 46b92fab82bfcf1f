# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What downloaded files are called, and who is asked where they go."""

import os
import random
import time

import contract
import pytest
from download_client import SIZE, download, server, to
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
__all__ = ["server"]


# Names that servers suggest


def test_the_name_comes_from_the_server_or_from_the_url(wire, server, tmp_path):
    """[O6]"""
    for field, url, name in [
        ('attachment; filename="report.pdf"', "/fine", "report.pdf"),
        ("attachment; filename*=UTF-8''na%C3%AFve%20file.txt; filename=naive.txt", "/fine", "naïve file.txt"),
        ("inline", "/fine/archive%20one.tar.gz?x=1", "archive one.tar.gz"),
        (None, "/fine/plain.bin", "plain.bin"),
        (None, "/fine/", "download"),
    ]:
        directory = tmp_path / name
        directory.mkdir()
        server.fields = [f"Content-Disposition: {field}"] if field else []
        response = download(wire, server.url(url), destination={"directory": str(directory)})
        assert response["suggestedFilename"] == name and os.listdir(directory) == [name]
        assert response["body"]["path"] == str(directory / name)


def test_the_end_of_a_wait_has_the_name_and_the_results_of_handlers(wire, server, tmp_path):
    spec = {"url": server.url("/fine/plain.bin"), "destination": {"directory": str(tmp_path)}}
    request = result(wire.call("download.start", spec))["request"]
    assert result(wire.call("request.wait", {"request": request}))["suggestedFilename"] == "plain.bin"
    request = result(wire.call("data.start", {"url": server.url("/fine"), "handlers": [{"id": "a"}]}))["request"]
    assert [one["id"] for one in result(wire.call("request.wait", {"request": request}))["results"]] == ["a"]


def hostile_names():
    """Three hundred names that an attacker might like to write to."""
    dots = ["..", "...", ".", ". .", ".. /", "..\\", "./..", "../" * 20 + "etc/passwd", "..%2f..%2fetc%2fpasswd"]
    paths = ["/etc/passwd", "//etc//passwd", "\\\\host\\share\\x", "C:\\Windows\\x.exe", "/", "\\", "a/", "a/../../b"]
    hidden = [".bashrc", ".ssh/authorized_keys", "~/.profile", "~", "-rf", "--help", ".outrider-part", ".git/config"]
    odd = ["a\tb", "a\x7fb", "a\x1b[31mb", "a‮gpj.exe", "a​b", "﻿a", "a\u2028b", "a‏b", "NUL", "con.txt", "LPT1"]
    long = ["x" * 300, "é" * 200, "x" * 250 + ".tar.gz", "." * 300, "/" * 300, "\U0001f600" * 100 + ".png", " " * 99]
    slashes = ["a⁄b", "a∕b", "a／b", "..⁄..⁄b", "%2e%2e/", "%00", "a%00.txt", "a;b", "a|b", "a<b>"]
    slashes += ['a"b', "a*?b", "a:b"]
    seeds = dots + paths + hidden + odd + long + slashes
    chance = random.Random(6266)
    while len(seeds) < 300:
        one, two = chance.choice(seeds), chance.choice(seeds)
        seeds.append((one + chance.choice(["", "/", "\\", "../", "\0", " ", "."]) + two)[:400])
    return seeds


def test_three_hundred_hostile_names_never_leave_their_directory(wire, server, tmp_path):
    """Said in every way in which a server can say them; what is written lies in the directory, visible and plain."""
    server.data = b"x"
    directory = tmp_path / "in"
    directory.mkdir()
    outside = sorted(os.listdir(tmp_path))
    numbers = []
    for index, name in enumerate(hostile_names()):
        plain = name.replace("\r", "").replace("\n", "").replace("\0", "").replace("\x1b", "").replace("\x7f", "")
        quoted = plain.replace("\\", "\\\\").replace('"', '\\"')
        escaped = "".join(f"%{byte:02X}" for byte in name.encode())
        said = [f'attachment; filename="{quoted}"', f"attachment; filename*=UTF-8''{escaped}", f"filename={plain}"]
        server.fields = [f"Content-Disposition: {said[index % 3]}"]
        place = directory / str(index)
        place.mkdir()
        response = download(wire, server.url("/fine"), destination={"directory": str(place)})
        assert response["ok"], (name, response)
        assert len(os.listdir(place)) == 1, (index, said[index % 3], os.listdir(place))
        (written,) = os.listdir(place)
        path = os.path.join(place, written)
        assert response["body"]["path"] == path and os.path.dirname(os.path.realpath(path)) == str(place), name
        assert written[0] not in ".-~ " and len(written.encode()) <= 200 and written.isprintable(), (name, written)
        numbers.append(written)
    assert len(numbers) == 300 and sorted(os.listdir(tmp_path)) == outside


# Asking the client


def reply_to_callback(wire, number, response):
    """Replies to the next callback; gives its params and the reply to the call."""
    while True:
        message = wire.receive()
        if "id" in message and message.get("method") == "callback.destination":
            wire.send({"jsonrpc": "2.0", "id": message["id"], **response})
            return message["params"], result(wire.reply(number))


def test_the_client_is_asked_where_a_file_goes(wire, server, tmp_path):
    """Once it is there, before it is validated, whatever the status. [O1]"""
    server.fields = ['Content-Disposition: attachment; filename="its.name"']
    wish = {"url": server.url("/fine"), "destination": {"callback": "where"}, "tag": "t"}
    number = wire.start("download.send", wish)
    place = {"path": str(tmp_path / "a/here"), "createDirectories": True}
    params, response = reply_to_callback(wire, number, {"result": place})
    assert params["callback"] == "where" and params["size"] == SIZE and params["suggestedFilename"] == "its.name"
    assert params["response"]["status"] == 200 and params["tag"] == "t" and params["path"] != response["body"]["path"]
    assert response["body"]["path"] == str(tmp_path / "a/here") and (tmp_path / "a/here").read_bytes() == server.data


@pytest.mark.parametrize("silence", [{"error": {"code": 1, "message": "no"}}, {"result": {}}, {"result": {"path": 1}}])
def test_without_a_reply_a_file_goes_where_it_would_go_anyway(wire, server, tmp_path, silence):
    wish = {"url": server.url("/fine"), "destination": to(tmp_path / "default", callback="where")}
    _, response = reply_to_callback(wire, wire.start("download.send", wish), silence)
    assert response["ok"] and response["body"]["path"] == str(tmp_path / "default")


def test_the_limits_of_a_download_stand_still_while_the_client_decides(wire, server, tmp_path):
    """The file is there: a user may take time to choose its place."""
    wish = {"url": server.url("/fine"), "destination": {"callback": "where"}, "timeout": {"resource": 3}}
    number = wire.start("download.send", wish)
    callback = wire.receive()
    assert callback["method"] == "callback.destination"
    began = time.monotonic()
    while time.monotonic() - began < 3.2:
        time.sleep(0.1)
    wire.send({"jsonrpc": "2.0", "id": callback["id"], "result": {"path": str(tmp_path / "here")}})
    response = result(wire.reply(number))
    assert response["ok"] and response["body"]["path"] == str(tmp_path / "here"), response


def test_a_client_that_cannot_be_called_decides_by_itself(wire, server, tmp_path):
    destination = {"callback": "where", "decide": "pull"}
    wish = {"url": server.url("/fine"), "destination": destination, "events": {"pull": True}}
    request = result(wire.call("download.start", wish))["request"]
    while True:
        events = result(wire.call("events.next", {"request": request, "wait": 5}))["events"]
        found = [event["params"] for event in events if event["method"] == "event.decision"]
        if found:
            break
    assert found[0]["kind"] == "destination"
    decide = {"decision": found[0]["decision"], "answer": {"path": str(tmp_path / "there")}}
    result(wire.call("request.decide", decide))
    assert result(wire.call("request.wait", {"request": request}))["body"]["path"] == str(tmp_path / "there")
