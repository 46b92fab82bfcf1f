# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Another user who may connect (`--allow-uid`) sends requests; files, tokens and the log stay with the owner."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import contract
import pytest
from request_client import result

pytestmark = [
    pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user"),
]

OWNER, OTHER = 61_001, 61_002
UNKNOWN = -32012

# sends each line to the socket as another user, replies to callbacks, and prints the reply to each call
CLIENT = """
import json, os, socket, sys
os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
with socket.socket(socket.AF_UNIX) as client:
    client.connect(sys.argv[1])
    reader = client.makefile("rb")
    for line in sys.stdin.buffer:
        client.sendall(line)
        while True:
            message = json.loads(reader.readline())
            if "method" not in message:
                break
            if "id" in message:
                client.sendall(sys.argv[3].replace("ID", str(message["id"])).encode() + b"\\n")
        print(json.dumps(message), flush=True)
"""


@pytest.fixture
def socket_path():
    """A service of one user that lets another one in."""
    # other users may not pass through the directories of pytest
    place = pathlib.Path(tempfile.mkdtemp(prefix="or-"))
    os.chown(place, OWNER, OWNER)
    path = place / "s"
    process = subprocess.Popen(
        [contract.binary(), "serve", "--socket", str(path), "--allow-uid", str(OTHER)], stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL, user=OWNER, group=OWNER, extra_groups=[],
        env={"PATH": os.environ["PATH"], "HOME": str(place), "TMPDIR": str(place)})
    try:
        contract.await_socket(path, process)
        place.chmod(0o711)
        yield str(path)
        assert process.poll() is None
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(place)


def calls(path, *messages, user=OTHER, reply=""):
    """The replies to calls of a user, in order."""
    lines = "".join(
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
        for number, (method, params) in enumerate(messages))
    ran = subprocess.run(
        [sys.executable, "-c", CLIENT, path, str(user), reply], input=lines.encode(), capture_output=True, timeout=60)
    assert ran.returncode == 0, ran
    return [json.loads(line) for line in ran.stdout.splitlines()]


def refused(reply, pointer=None):
    assert reply.get("error", {}).get("code") == -32014, reply
    assert reply["error"].get("data", {}).get("pointer") == pointer
    return reply["error"]["message"]


def test_requests_of_another_user_are_sent(socket_path, origin):
    sent, info, session = calls(
        socket_path, ("data.send", {"url": origin + "/json"}), ("server.info", {}),
        ("session.create", {"name": "mine"}))
    assert sent["result"]["status"] == 200
    assert "result" in info and "result" in session


@pytest.mark.parametrize("method", [
    "server.stop", "server.setLog", "oauth.list", "oauth.get", "oauth.token", "oauth.create", "oauth.delete",
    "oauth.login", "oauth.offerPassphrase", "download.send", "download.resume", "response.save",
])  # fmt: skip
def test_methods_of_the_owner_are_refused(socket_path, method):
    (reply,) = calls(socket_path, (method, {}))
    assert method in refused(reply)


FILE = {"file": "/etc/hostname"}
PINS = {"pinnedCertificates": {"files": ["/etc/hostname"]}}


@pytest.mark.parametrize(("method", "params", "pointer"), [
    ("data.send", {"url": "ORIGIN", "method": "POST", "body": FILE}, "/body/file"),
    ("data.start", {"url": "ORIGIN", "method": "POST", "body": {"multipart": [{"name": "a", **FILE}]}},
     "/body/multipart/0/file"),
    ("upload.send", {"url": "ORIGIN", "body": FILE}, "/body/file"),
    ("sse.open", {"url": "ORIGIN", "method": "POST", "body": FILE}, "/body/file"),
    ("har.export", {"path": "/tmp/mine.har"}, "/path"),
    ("multipart.encode", {"parts": [{"name": "a", **FILE}]}, "/parts/0/file"),
    ("router.import", {"from": FILE}, "/from/file"),
    ("router.define", {"name": "r", "baseUrl": "ORIGIN", "endpoints": {"e": {"path": "/", "body": FILE}}},
     "/endpoints/e/body/file"),
    ("data.send", {"url": "http+unix://%2Frun%2Fdocker.sock/"}, "/url"),
    ("data.send", {"url": "HTTPS+UNIX://%2Frun%2Fdocker.sock/"}, "/url"),
    ("data.send", {"url": "ORIGIN", "trust": {"all": [PINS]}}, "/trust/all/0/pinnedCertificates/files/0"),
    ("data.send", {"url": "ORIGIN", "trust": {"all": [{"all": [{"revocation": {"crlFiles": ["/etc/hostname"]}}]}]}},
     "/trust/all/0/all/0/revocation/crlFiles/0"),
    ("session.create", {"trust": {"all": ["default", PINS]}}, "/trust/all/1/pinnedCertificates/files/0"),
    ("session.create", {"trust": {"hosts": {"a.test": {"all": [PINS]}}}},
     "/trust/hosts/a.test/all/0/pinnedCertificates/files/0"),
    ("router.define", {"name": "r", "baseUrl": "http+unix://%2Fs/", "endpoints": {}}, "/baseUrl"),
])  # fmt: skip
def test_files_and_sockets_of_the_owner_are_refused(socket_path, origin, method, params, pointer):
    params = json.loads(json.dumps(params).replace("ORIGIN", origin + "/echo"))
    (reply,) = calls(socket_path, (method, params))
    refused(reply, pointer)


@pytest.mark.parametrize(("params", "pointer"), [
    ({"auth": {"oauth": "work"}}, "/auth/oauth"),
    ({"interceptors": [{"oauth": "work"}]}, "/interceptors/0/oauth"),
    ({"interceptors": [{"chain": [{"bearer": "x"}, {"chain": [{"oauth": "work"}]}]}]},
     "/interceptors/0/chain/1/chain/0/oauth"),
])  # fmt: skip
def test_tokens_of_the_owner_are_refused(socket_path, origin, params, pointer):
    (reply,) = calls(socket_path, ("data.send", {"url": origin + "/json", **params}))
    assert "credentials" in refused(reply, pointer)


def test_the_code_of_another_user_cannot_name_a_file(socket_path, origin):
    """Neither in a call nor in the result of a callback."""
    given = '{"jsonrpc":"2.0","id":ID,"result":{"body":{"file":"/etc/hostname"}}}'
    (reply,) = calls(
        socket_path, ("data.send", {
            "url": origin + "/echo", "method": "POST", "interceptors": [{"callback": "mine", "asks": ["adapt"]}]}),
        reply=given)
    assert reply.get("result", {}).get("ok") is False, reply
    (reply,) = calls(socket_path, ("request.decide", {"decision": "dec_0000000000000000", "answer": {"path": "/x"}}))
    refused(reply, "/answer/path")


def test_the_owner_and_root_may_do_everything(socket_path, origin):
    for user in (OWNER, 0):
        sent, listed = calls(
            socket_path, ("data.send", {"url": origin + "/echo", "method": "POST", "body": FILE}), ("oauth.list", {}),
            user=user)
        assert result(sent)["status"] == 200
        assert "result" in listed


def test_what_a_user_shares_is_not_for_another_one(socket_path, origin):
    """Sessions and routers carry credentials."""
    session = ("session.create", {"name": "team", "shared": True})
    router = ("router.define", {
        "name": "api", "shared": True, "baseUrl": origin, "endpoints": {"e": {"path": "/json"}}})
    use = [("data.send", {"url": origin + "/json", "session": "team"}),
           ("router.send", {"router": "api", "endpoint": "e"}), ("router.list", {})]
    made = calls(socket_path, session, router, *use, user=OWNER)
    assert all("result" in reply for reply in made), made
    again = calls(socket_path, *use, user=OWNER)
    assert [reply["result"]["status"] for reply in again[:2]] == [200, 200]
    first, second, listed = calls(socket_path, *use)
    assert first["error"]["code"] == second["error"]["code"] == UNKNOWN, (first, second)
    assert listed["result"]["routers"] == []
    assert "result" in calls(socket_path, router)[0]
