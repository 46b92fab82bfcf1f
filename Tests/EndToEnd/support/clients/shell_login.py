# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Logs in from a shell, as a person who says yes, to the credential `work` of an Authorizing server.

logged_in(env, server, "--origin", url)      # env: the fixture of that name
token(env)                                   # what `outrider token` prints then
"""

import os
import subprocess
import urllib.request

import contract
from shell import LONG, outrider


def making(server, *more):
    more = more if {"--origin", "--call"} & set(more) else (*more, "--no-origin")
    return ["login", "work", "--issuer", server.issuer, "--client-id", server.client, "--scope", "read", *more]


def login(env, words, act, stdin=None):
    """Runs the command; `act` is given its first line, as a person would read it. What it said on standard error."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OUTRIDER", "XDG_"))}
    process = subprocess.Popen(
        [contract.binary(), *words], env={**clean, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    try:
        line = process.stdout.readline().decode().strip()
        text = act(line)
        _, said = process.communicate(text, timeout=LONG)
        return process.returncode, said.decode()
    finally:
        process.kill()
        process.wait()


def browse(url):
    """A browser of a person who says yes: it follows the server back to the listener."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=LONG) as page:
        assert b"You can close this window" in page.read()


def logged_in(env, server, *more):
    status, said = login(env, making(server, *more), browse)
    assert status == 0 and "logged in as work" in said, said


def token(env, *more):
    done = outrider("token", "work", *more, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip()
