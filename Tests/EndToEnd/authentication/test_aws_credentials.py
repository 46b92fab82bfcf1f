# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Temporary keys for AWS tools: from moto, a server of other authors, through botocore, which is what those tools
use; and from a service that refuses and errs."""

import json
import os
import subprocess
import sys
from urllib.parse import parse_qs

import contract
import providers
import pytest
from authorization_server import Authorizing, served
from listeners import free_port
from reply_server import Replying
from shell import LONG, outrider, refused
from shell_login import logged_in, token
from upload_server import Taker

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

ROLE = "arn:aws:iam::123456789012:role/dev"
ERROR = "<ErrorResponse><Error><Code>{}</Code><Message>{}</Message></Error></ErrorResponse>"
KEYS = """<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>sk</SecretAccessKey><SessionToken>st</SessionToken><Expiration>2030-01-01T00:00:00Z</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"""
# what an AWS tool does: reads its configuration, starts the process, signs with the keys
TOOL = """
import botocore.session, json, sys
session = botocore.session.Session(profile="work")
sts = session.create_client("sts", region_name="us-east-1", endpoint_url=sys.argv[1])
print(json.dumps([session.get_credentials().method, sts.get_caller_identity()["Arn"]]))
"""


def keys(env, endpoint, *more, role=ROLE):
    return outrider("aws-credential-process", "work", "--role-arn", role, "--endpoint", endpoint, *more, env=env)


server = served()


class Tokens(Taker):
    """Gives keys for tokens that the authorization server stands by."""

    def __init__(self, server):
        self.server = server
        super().__init__()

    def at_(self, connection, reader, request, argument):
        self.take(reader, request)
        request.form = {name: value[0] for name, value in parse_qs(request.body.decode()).items()}
        good = self.server.is_good(request.form["WebIdentityToken"])
        body = (KEYS if good else ERROR.format("ExpiredTokenException", "it is over")).encode()
        status = 200 if good else 400
        connection.sendall(f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        return True


def test_an_aws_tool_gets_its_keys_and_signs_with_them(env, server, tmp_path):
    pytest.importorskip("moto", reason="moto is not here; scripts/setup --test installs it")
    port = free_port()
    command = [os.path.join(os.path.dirname(sys.executable), "moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    endpoint = f"http://127.0.0.1:{port}/"
    with providers.running([sys.executable, *command], port, tmp_path / "log"):
        logged_in(env, server, "--origin", endpoint)
        done = keys(env, endpoint, "--role-session-name", "alice", "--duration", "900")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert set(found) == {"Version", "AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"}
        assert found["Version"] == 1 and found["AccessKeyId"].startswith("ASIA")
        config = tmp_path / "config"
        config.write_text(
            "[profile work]\ncredential_process = "
            f"{contract.binary()} aws-credential-process work --role-arn {ROLE} --endpoint {endpoint}\n")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS", "OUTRIDER", "XDG"))}
        tool = subprocess.run(
            [sys.executable, "-c", TOOL, endpoint], capture_output=True, timeout=LONG,
            env={**clean, **env, "AWS_CONFIG_FILE": str(config), "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
                 "AWS_EC2_METADATA_DISABLED": "true", "NO_PROXY": "*"})
        assert tool.returncode == 0, tool.stderr
        assert json.loads(tool.stdout) == [
            "custom-process", "arn:aws:sts::123456789012:assumed-role/dev/outrider"]


def test_the_token_is_what_the_service_is_asked_with(env, server):
    with Tokens(server) as service:
        logged_in(env, server, "--origin", service.url(""))
        done = keys(env, service.url("/"), "--role-session-name", "alice", "--duration", "900")
        assert json.loads(done.stdout) == {
            "Version": 1, "AccessKeyId": "ASIA1", "SecretAccessKey": "sk", "SessionToken": "st",
            "Expiration": "2030-01-01T00:00:00Z"}
        assert done.stderr == b""
        assert service.last().form == {
            "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": ROLE, "RoleSessionName": "alice",
            "DurationSeconds": "900", "WebIdentityToken": token(env)}
        assert service.last().field("authorization") is None


def test_a_token_that_has_ended_is_refreshed_once(env, server):
    with Tokens(server) as service:
        logged_in(env, server, "--origin", service.url(""))
        server.expire()
        assert keys(env, service.url("/")).returncode == 0
        assert len(service.taken) == 2 and server.outcomes() == ["ok"]
        # one that gives nothing better is believed
        server.revoke_all()
        refused(keys(env, service.url("/")), 11, "work")


def test_the_token_goes_to_origins_of_its_credential_only(env, server):
    with Tokens(server) as service:
        logged_in(env, server, "--origin", server.url(""))
        refused(keys(env, service.url("/")), 11, "no origin of work")
        assert service.taken == []


def test_a_refusal_is_told_and_nothing_is_printed(env, server):
    with Replying() as service, Authorizing() as stranger:
        logged_in(env, server, "--origin", service.url().partition("/reply")[0])
        access = token(env)
        denied = ERROR.format("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity").encode()
        said = refused(keys(env, service.url(403, "text/xml", denied)), 11, "AccessDenied", "Not authorized", ROLE)
        assert access not in said
        assert service.count == 1 and server.outcomes() == []
        for body in (b"<html>busy</html>", b"", KEYS.encode()[:-9], b'<!DOCTYPE a SYSTEM "x"><a/>'):
            refused(keys(env, service.url(200, "text/html", body)), 1, "Security Token Service", "200")
        # one that leads elsewhere is not followed with a token
        refused(keys(env, service.url(307, Location=stranger.url("/token"))), 1, "307")
        assert stranger.audit == []
    refused(keys(env, service.url()), 12, service.url())


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["--role-arn", "dev"], "--role-arn"),
        (["--role-arn", ROLE, "--duration", "60"], "--duration"),
        (["--role-arn", ROLE, "--role-session-name", "a b"], "--role-session-name"),
        (["--role-arn", ROLE, "--endpoint", "http://sts.example/"], "--endpoint"),
        (["--role-arn", ROLE, "--region", "x", "--endpoint", "https://sts.example/"], "--region"),
        (["--role-arn", ROLE, "--region", "evil.example/"], "--region"),
    ],
)
def test_words_that_do_not_fit_are_named(env, words, word):
    refused(outrider("aws-credential-process", "work", *words, env=env), 2, word)
