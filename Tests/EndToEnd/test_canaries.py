# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Secrets that nobody may see are planted, and looked for in all that the service says, writes and remembers."""

import json
import os
import pathlib
import secrets
import subprocess

import contract
import pytest
from authorizing import Authorizing
from keeping import Store

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


class Service:
    """Speaks with a service of its own, and keeps every byte that it says."""

    def __init__(self, store, log, directory, *, level="trace"):
        command = [contract.binary(), "serve", "--stdio", "--log-level", level, "--log-file", str(log)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**store.environment, "OUTRIDER_CREDENTIALS": store.directory, "TMPDIR": str(directory),
                 "OUTRIDER_CREDENTIAL_KEY": f"file:{store.key[1]}"})
        self.said, self.number = b"", 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def call(self, method, **params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            assert line, "the service ended"
            self.said += line
            answer = json.loads(line)
            if answer.get("id") == self.number:
                return answer

    def remembers(self, texts):
        """Those that stand anywhere in its memory."""
        found = set()
        process = f"/proc/{self.process.pid}"
        with open(f"{process}/maps") as maps, open(f"{process}/mem", "rb", 0) as memory:
            for line in maps:
                place, rights = line.split()[:2]
                if "r" not in rights or line.rstrip().endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                    continue
                start, end = (int(number, 16) for number in place.split("-"))
                memory.seek(start)
                try:
                    data = memory.read(end - start)
                except OSError:
                    continue
                found |= {text for text in texts if text.encode() in data}
        return found


@pytest.mark.skipif(os.geteuid() != 0, reason="only root looks into processes that do not want it")
@pytest.mark.parametrize("persist", ["memory", "disk"])
def test_no_refresh_token_and_no_client_secret_is_anywhere_to_be_seen(tmp_path, persist):
    """Neither those that a program handed over, nor those that the server gave since."""
    store, log, place = Store(tmp_path), tmp_path / "log", tmp_path / "tmp"
    place.mkdir()
    with Authorizing(secret="client-" + secrets.token_hex(16)) as server, Service(store, log, place) as service:
        given = server.issue()
        planted = [server.secret, given["refresh_token"]]
        assert service.call("events.subscribe", topics=["*"])["result"]
        created = service.call(
            "oauth.create", name="work", grant="refresh", clientId=server.client, clientSecret=server.secret,
            clientAuth="body", tokenUrl=server.url("/token"), revocationUrl=server.url("/revoke"), persist=persist,
            token={"accessToken": given["access_token"], "refreshToken": given["refresh_token"], "expiresIn": 1},
            origins=[server.url("/")])
        assert created["result"]["credential"] == "work", created
        for _ in range(3):
            assert "result" in service.call("oauth.refresh", credential="work")
        token = service.call("oauth.token", credential="work")["result"]
        assert server.is_good(token["accessToken"])
        answer = service.call("data.send", url=server.url("/api"), auth={"oauth": "work"})
        assert answer["result"]["status"] == 200, answer
        service.call("oauth.get", credential="work")
        service.call("oauth.list")
        server.revoke_all()
        assert "error" in service.call("oauth.refresh", credential="work")
        planted += [token for family in server.families for token in family.refresh]
        assert len(set(planted)) >= 5
        # the scan sees what is there
        assert service.remembers([token["accessToken"]])
        assert service.remembers(planted) == set()
        service.process.terminate()
        rest, errors = service.process.communicate(timeout=30)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert log in written
    for secret in planted:
        assert secret.encode() not in service.said + rest + errors
        for path in written:
            assert secret.encode() not in path.read_bytes(), (secret, path)
