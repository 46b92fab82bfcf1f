# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Logging in from a shell, and what Git and Docker get: credentials on disk, shared by commands."""

import json
import os
import subprocess
import time
import urllib.error
import urllib.request

import contract
import pytest
from authorization_server import served
from shell import LONG, outrider, refused
from shell_login import browse, logged_in, login, making, token

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


server = served()


def test_a_login_leaves_a_token_for_every_other_command(env, server):
    logged_in(env, server)
    access = token(env)
    assert server.is_good(access)
    assert token(env, "--header") == f"Authorization: Bearer {access}"
    assert server.outcomes("authorization_code") == ["ok"] and server.outcomes() == []


def test_a_request_of_the_shell_is_sent_with_the_token(env, server):
    logged_in(env, server, "--origin", server.url(""))
    done = outrider("get", "-f", "--oauth", "work", server.url("/api"), env=env)
    assert done.returncode == 0, done.stderr
    refused(outrider("get", "-f", server.url("/api"), env=env), 14, "401")
    refused(outrider("get", "--oauth", "play", server.url("/api"), env=env), 11, "named play", "`outrider login NAME`")


def test_a_token_that_does_not_last_is_refreshed_once(env, server):
    server.lifetime = 30
    logged_in(env, server)
    server.lifetime = 3600
    first = token(env)
    assert token(env, "--min-validity", "1000") == first
    assert server.outcomes() == ["ok"]


def test_the_same_credential_logs_in_again_by_its_name(env, server):
    logged_in(env, server)
    server.revoke_all()
    assert login(env, ["login", "work"], browse)[0] == 0
    assert server.is_good(token(env))


def test_a_browser_on_another_machine_is_pasted_from(env, server):
    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    def paste(url):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), Stay())
        with pytest.raises(urllib.error.HTTPError) as found:
            opener.open(url, timeout=LONG)
        return found.value.headers["Location"].encode() + b"\n"

    status, said = login(env, making(server, "--paste"), paste)
    assert status == 0, said
    assert server.is_good(token(env))
    status, said = login(env, ["login", "work", "--paste"], lambda _: b"https://evil.example/?code=a&state=b\n")
    assert status == 11 and "state did not match" in said


def test_a_device_is_shown_a_code(env, server):
    server.interval = 1
    status, said = login(env, making(server, "--device"), lambda line: None)
    assert status == 0 and "WDJB-MJHT" in said and server.url("/activate") in said, said
    assert server.is_good(token(env))


def test_a_login_that_is_refused_says_why(env, server):
    server.denies = "access_denied"

    def browse_anyway(url):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(url, timeout=LONG).read()

    status, said = login(env, making(server), browse_anyway)
    assert status == 11 and "access_denied" in said
    refused(outrider("token", "work", env=env), 11, "work")


def test_a_browser_is_opened_only_if_asked_and_gets_nothing_but_the_address(env, server, tmp_path):
    opened = tmp_path / "opened"
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nreadlink /proc/$$/fd/* > "{opened}.files"\nprintf "%s" "$*" > "{opened}.new"\n'
                       f'mv "{opened}.new" "{opened}"\n')
    program.chmod(0o755)
    seen = {}

    def look(url):
        deadline = time.monotonic() + LONG
        while not opened.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        seen["url"], seen["opened"] = url, opened.read_text()
        browse(url)

    status, said = login({**env, "BROWSER": str(program)}, making(server, "--open"), look)
    assert status == 0 and seen["opened"] == seen["url"], said
    files = set((tmp_path / "opened.files").read_text().splitlines())
    # the shell's own are its script and what it writes to
    assert {one for one in files if not one.startswith(str(tmp_path))} == {"/dev/null"}
    opened.unlink()
    assert login({**env, "BROWSER": str(program)}, ["login", "work"], browse)[0] == 0
    assert not opened.exists()


def test_logging_out_revokes_and_forgets(env, server):
    logged_in(env, server)
    access = token(env)
    done = outrider("logout", "work", env=env)
    assert done.returncode == 0 and done.stdout == b"", done.stderr
    assert not server.is_good(access)
    said = refused(outrider("token", "work", env=env), 11, "`outrider login NAME`")
    assert "oauth." not in said
    assert outrider("logout", "work", "--forget", env=env).returncode == 0
    refused(outrider("token", "work", env=env), 11, "work", "outrider login")


def test_logging_out_says_that_the_server_did_not_hear_of_it(env, server):
    logged_in(env, server)
    server.at_revoke = lambda request: ("ok", 503, {}, b"")
    refused(outrider("logout", "work", env=env), 11, "not revoked", "revocation endpoint of 'work' answered 503")
    refused(outrider("token", "work", env=env), 11)


def test_git_gets_the_token_for_its_server_and_for_no_other(env, server):
    logged_in(env, server, "--origin", server.url(""))
    access = token(env)
    host = server.url("").removeprefix("http://")
    asked = f"protocol=http\nhost={host}\npath=a.git\n\n".encode()
    helper = ["git-credential", "--credential", "work"]
    done = outrider(*helper, "get", env=env, stdin=asked)
    said = dict(line.split("=", 1) for line in done.stdout.decode().split())
    assert done.returncode == 0 and said["username"] == "oauth2" and said["password"] == access
    assert 3000 < int(said["password_expiry_utc"]) - time.time() <= 3601
    for scheme, other in (("https", host), ("http", "evil.example"), ("http", "localhost")):
        done = outrider(*helper, "get", env=env, stdin=f"protocol={scheme}\nhost={other}\n".encode())
        assert done.returncode == 0 and done.stdout == b"" and b"no origin of work" in done.stderr
    assert outrider(*helper, "store", env=env, stdin=asked).stdout == b""
    refused_one = asked.rstrip() + f"\nusername=oauth2\npassword={access}\n".encode()
    assert outrider(*helper, "erase", env=env, stdin=refused_one).returncode == 0
    assert server.outcomes() == ["ok"] and token(env) != access
    refused(outrider(*helper, "get", env=env, stdin=b"nonsense\n"), 2, "Git")
    for other in ("/", "?", "#", "@evil.example", "\\", " ", "\t", "\x7f", "\u00a0", "\u2028", "\x85"):
        hostile = f"protocol=http\nhost={host}{other}evil.example\n\n".encode()
        done = outrider(*helper, "get", env=env, stdin=hostile)
        assert done.returncode == 2 and done.stdout == b"" and b"no token is given" in done.stderr, other
    hostile = f"protocol=http://{host}/?\nhost=evil.example\n\n".encode()
    assert outrider(*helper, "get", env=env, stdin=hostile).returncode == 2


def test_git_itself_asks_for_it(env, server, tmp_path):
    """Through Git's own code."""
    logged_in(env, server, "--origin", server.url(""))
    access = token(env)
    helper = f"!{contract.binary()} git-credential --credential work"
    host = server.url("").removeprefix("http://")
    done = subprocess.run(
        ["git", "-c", f"credential.{server.url('')}.helper={helper}", "credential", "fill"],
        input=f"protocol=http\nhost={host}\n\n".encode(), capture_output=True, timeout=LONG, cwd=tmp_path,
        env={**os.environ, **env, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(tmp_path), "GIT_TERMINAL_PROMPT": "0"})
    assert f"password={access}\n".encode() in done.stdout, done.stderr


def test_docker_gets_the_token_for_its_registry_and_for_no_other(env, server):
    logged_in(env, server, "--origin", server.url(""))
    helper = ["docker-credential", "--credential", "work"]
    done = outrider(*helper, "get", env=env, stdin=server.url("").encode())
    assert json.loads(done.stdout) == {
        "ServerURL": server.url(""), "Username": "oauth2accesstoken", "Secret": token(env)}
    done = outrider(*helper, "get", env=env, stdin=b"registry.example")
    assert done.returncode == 1 and done.stdout == b"credentials not found in native keychain\n"
    assert outrider(*helper, "list", env=env).stdout == b"{}\n"
    refused(outrider(*helper, "store", env=env, stdin=b"{}"), 1, "login")


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["login", "work", "--issuer", "https://a"], "--client-id"),
        (["login", "work", "--origin", "https://a"], "--issuer"),
        (["login", "work", "--device", "--paste"], "--device"),
        (["login", "work", "--device", "--parameter", "a=b"], "--parameter"),
        (["login", "work", "--parameter", "offline"], "NAME=VALUE"),
        (["login", "work", "--parameter", "=offline"], "NAME=VALUE"),
        (["login", "work", "--parameter", "a=1", "--parameter", "b=1", "--parameter", "a=2"], "a is given twice"),
        (["login", "work", "--timeout", "0"], "--timeout"),
        (["token", "work", "--min-validity", "-1"], "--min-validity"),
        (["login", "work", "--redirect", "http://example.org/back"], "address of this machine"),
        (["login", "work", "--redirect", "http://localhost:8400"], "http://localhost:8400/callback"),
    ],
)
def test_words_that_do_not_fit_are_named(env, words, word):
    refused(outrider(*words, env=env), 2, word)
