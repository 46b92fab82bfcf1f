# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Files of options (-K): what curl reads from one, and what is refused."""

import os
import shutil
import subprocess

import contract
import pytest
from capture_server import Capture
from shell import echoed, outrider, refused

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
OWN = {b"user-agent", b"accept", b"accept-encoding", b"accept-language", b"connection", b"expect"}


@pytest.fixture
def run(service):
    return lambda *words, **more: outrider(words[0], "--socket", service, *words[1:], **more)


FILES = {
    "with hyphens": "# a comment\n--request PATCH\n-H \"X-One: 1\"\n-d a=1\n-d @body\n",
    "without": 'request = PUT\nheader: "X-Two: 2" # after it\n  data = "b c"\ndata-raw="@no"\n',
    "escapes": 'data = "tab\\tquote\\"back\\\\slash\\nline\\q"\nheader = "X-Three: \\"3\\""\n',
    "short words": '-XPOST\n-sSH "X-Four: 4"\n-d=5\ndata "-6"\n\n\r\n',
    "empty value": 'data = ""\nreferer = "http://ref/"\n-G\n',
    "flags": "silent\n-s\nshow-error\nget\ndata = q=1\n",
    "an empty file": "",
}


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_options_is_read_as_by_curl(run, tmp_path, name):
    (tmp_path / "body").write_bytes(b"from a file")
    with Capture() as capture:
        (tmp_path / "options").write_text(FILES[name] + f'url = "{capture.url("/x")}"\n')
        sent = []
        for command in (["curl", "-q", "-s"], ["get"]):
            words = [*command, "-K", "options"]
            if command == ["get"]:
                done = run(*words, cwd=tmp_path)
            else:
                env = {"PATH": os.environ["PATH"]}
                done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=30, env=env, check=False)
            assert done.returncode == 0, done
            one = capture.take()
            fields = sorted((key.lower(), value) for key, value in one.fields if key.lower() not in OWN)
            sent.append((one.line, fields, one.body))
        assert sent[0] == sent[1]


def test_options_of_a_file_stand_where_the_file_is_named(run, origin, tmp_path):
    (tmp_path / "one").write_text("data = b\n")
    (tmp_path / "all").write_text(f"data = a\nconfig = one\n-K one\ndata = c\nurl = {origin}/echo\n")
    for words in (["-sK", "all"], ["-Kall"], ["--config", "all"], ["--config=all"]):
        assert echoed(run("get", "-d", "first", *words, "-d", "last", cwd=tmp_path))["body"] == "first&a&b&b&c&last"


def test_a_password_comes_from_standard_input(run, origin):
    done = run("get", "-K", "-", f"{origin}/basic-auth/ada/secret", stdin=b'user = "ada:secret"\n')
    assert done.returncode == 0, done.stderr
    done = run("get", "-f", "-K-", f"{origin}/basic-auth/ada/secret", stdin=b'user = "ada:wrong"\n')
    assert done.returncode == 14


def test_options_and_nothing_else_are_read_from_standard_input(run, origin):
    for words in (["-d", "@-"], ["-K", "-"], ["-H", "@-"], ["--input-file", "-"], ["-u", "ada"]):
        for option in (["-sSK-"], ["--config", "-"], ["--config=-"]):
            done = run("post", *option, *words, f"{origin}/echo", stdin=b'header = "X-One: 1"\n')
            refused(done, 2, "standard input can be read once")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max-time = 5\nheader = X-One: 1\n", "line 2 of options: a value with spaces needs quotes"),
        ("\nuser-agent\n", "line 2 of options: --user-agent needs a value"),
        ("-H\n", "line 1 of options: -H needs a value"), ("-s yes\n", "line 1 of options: -s takes no value"),
        ("silent = yes\n", "--silent"), ("nonsense = 1\n", "--nonsense"), ("next\n", "name a URL"),
        ("config = options\n", "a file may name itself"), ("config = none\n", "cannot read none"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_option_is_told(run, origin, tmp_path, text, said):
    (tmp_path / "options").write_text(text)
    refused(run("get", "-K", "options", f"{origin}/json", cwd=tmp_path), 2, said)


def test_the_option_needs_a_file(run, origin):
    for words in (["-K"], ["--config"]):
        refused(run("get", f"{origin}/json", *words), 2, words[0])
