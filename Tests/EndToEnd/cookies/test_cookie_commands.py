# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cookies from a shell: -b, -c, --jar and `outrider cookies`, beside curl."""

import json
import shutil
import stat
import subprocess

import contract
import pytest
from cookie_server import CookieServer
from shell import outrider, refused
from socket_service import running

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def server():
    with CookieServer() as server:
        yield server


@pytest.fixture
def run(tmp_path):
    """Runs a command beside a service that nothing else uses."""
    env = {"OUTRIDER_JARS": str(tmp_path / "jars")}

    def run(*words, **more):
        return outrider(*words, "--stdio", env=env, cwd=tmp_path, **more)

    return run


def said(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def test_a_text_is_sent_and_kept_nowhere(run, server):
    assert said(run("get", "-b", "a=1; b=two words", server.url())) == "a=1; b=two words"
    assert said(run("get", "-b", "a=1", "-b", "b=2", server.url())) == "a=1; b=2"
    assert said(run("get", server.url())) == ""


def test_cookies_are_kept_between_the_urls_of_a_command(run, server):
    assert said(run("get", "-b", "", server.url(server.setting("a=1")), server.url())) == "a=1"


def test_a_file_is_read_and_written(run, server, tmp_path):
    file = tmp_path / "cookies.txt"
    first = run("get", "-b", "cookies.txt", "-c", "cookies.txt", server.url(server.setting("a=1; Max-Age=99", "s=2")))
    assert first.returncode == 0 and b"does not exist" in first.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert said(run("get", "-b", "cookies.txt", "-c", "cookies.txt", server.url())) == "a=1; s=2"
    assert said(run("get", "-j", "-b", "cookies.txt", server.url())) == "a=1"
    assert said(run("get", "-b", "cookies.txt", "-b", "x=9", server.url())) == "a=1; s=2; x=9"
    assert "\ta\t1\n" in said(run("get", "-s", "-b", "cookies.txt", "-c", "-", server.url("/nothing")))


def test_bytes_of_a_cookie_that_are_not_utf_8_stay(run, server, tmp_path):
    file, server.planted = tmp_path / "cookies.txt", ["a=caf\xe9; Max-Age=99"]
    said(run("get", "-c", "cookies.txt", server.url("/planted")))
    assert file.read_bytes().endswith(b"\ta\tcaf\xe9\n")
    for words, given in (("cookies.txt", b""), ("-", file.read_bytes())):
        done = run("get", "-b", words, server.url(), stdin=given)
        assert (done.returncode, done.stdout) == (0, b"a=caf\xe9"), done.stderr
        assert said(run("cookies", "import", "work", words, stdin=given)) == "1 imported\n"
        assert run("get", "--jar", "work", server.url()).stdout == b"a=caf\xe9"
    (tmp_path / "broken.json").write_bytes(b'[{"name":"a","value":"\xe9","domain":"x.test"}]')
    refused(run("cookies", "import", "--json", "work", "broken.json"), 1, "broken.json is no JSON")


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here; scripts/setup --test installs it")
def test_curl_reads_the_file_and_the_other_way_round(run, server, tmp_path):
    file = str(tmp_path / "cookies.txt")
    said(run("get", "-c", file, server.url(server.setting("a=1; Max-Age=99", "b=2; Path=/x"))))
    curl = ["curl", "-q", "-sS", "-b", file, "-c", file]
    assert subprocess.run([*curl, server.url("/x")], capture_output=True, check=True).stdout == b"b=2; a=1"
    subprocess.run([*curl, server.url(server.setting("c=3; Max-Age=99"))], capture_output=True, check=True)
    assert sorted(said(run("get", "-b", file, server.url())).split("; ")) == ["a=1", "c=3"]


def test_programs_share_a_named_jar(run, server):
    said(run("get", "--jar", "work", server.url(server.setting("sid=secret; Max-Age=99; HttpOnly", "b=2"))))
    assert said(run("get", "--jar", "work", server.url())) == "sid=secret; b=2"
    listed = said(run("cookies", "list", "work"))
    assert [line.split("\t")[0] for line in listed.splitlines()] == ["sid", "b"] and "secret" not in listed
    assert "secret" in said(run("cookies", "list", "work", "--values", "--name", "sid"))
    assert said(run("cookies", "header", "work", server.url())) == "Cookie: sid=secret; b=2\n"
    assert said(run("cookies", "explain", "work", server.url())).startswith("sent\tsid\t")
    assert "not taken\t" in said(run("cookies", "explain", "work", server.url(), "--set", "x=1; Domain=com"))
    exported = said(run("cookies", "export", "work"))
    assert "#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t" in exported
    assert said(run("cookies", "delete", "work", "--name", "b")).startswith("deleted\tb\t127.0.0.1\t/")
    assert said(run("cookies", "clear", "work")) == "1 deleted\n"
    assert said(run("cookies", "import", "work", "-", stdin=exported.encode())) == "2 imported\n"
    assert said(run("cookies", "set", "work", "https://x.test/", "n=1; Secure")).startswith("added\tn\tx.test\t/")
    assert said(run("get", "--jar", "work", server.url())) == "sid=secret; b=2"


def test_a_jar_that_does_not_exist_is_named_with_those_that_do(run, server):
    refused(run("cookies", "list", "wrok"), 1, "no jar wrok", "no other")
    said(run("cookies", "set", "work", server.url(), "a=1; Max-Age=99"))
    refused(run("cookies", "list", "wrok"), 1, "no jar wrok", "there are: work")
    refused(run("cookies", "list", "wrok", "--json"), 1, "no jar wrok")
    for words in (["clear", "wrok"], ["delete", "wrok", "--name", "a"], ["export", "wrok"]):
        refused(run("cookies", *words), 1, "no jar wrok", "there are: work")
    said(run("cookies", "clear", "work"))
    assert said(run("cookies", "list", "work")) == said(run("cookies", "list", "work", "--name", "b")) == ""
    assert said(run("cookies", "clear", "work")) == "0 deleted\n"
    assert said(run("cookies", "export", "work")).startswith("# Netscape")


@pytest.mark.parametrize("form", ["--{}|{}", "--{}={}"])
def test_the_directory_of_a_flag_of_the_service_is_named(tmp_path, form):
    path, flags = str(tmp_path / "s"), []
    for kind in ("jars", "caches"):
        flags += form.format(kind, tmp_path / kind).split("|")
    with running(path, *flags, variables={"OUTRIDER_JARS": "/elsewhere", "OUTRIDER_CACHES": "/elsewhere"}):
        refused(outrider("cookies", "list", "wrok", "--socket", path), 1, f"no jar wrok in {tmp_path}/jars (")
        refused(outrider("cache", "list", "dosc", "--socket", path), 1, f"no cache dosc in {tmp_path}/caches (")


def test_session_cookies_of_a_file_are_left_out_and_those_of_a_jar_stay(run, server, tmp_path):
    said(run("cookies", "set", "work", server.url(), "mine=1"))
    ends = [("s", "0"), ("p", "1999999999"), ("q", ""), ("r", "0.5")]
    lines = ["# remark", *(f"127.0.0.1\tFALSE\t/\tFALSE\t{end}\t{name}\t1" for name, end in ends), "nonsense"]
    (tmp_path / "cookies.txt").write_text("\r\n".join(lines))
    done = run("get", "--jar", "work", "-j", "-b", "cookies.txt", server.url())
    assert sorted(done.stdout.split(b"; ")) == [b"mine=1", b"p=1"]
    assert b"cookies.txt, line 6" in done.stderr and b"line 2" not in done.stderr
    assert sorted(said(run("get", "--jar", "work", server.url())).split("; ")) == ["mine=1", "p=1"]


def test_a_cookie_with_a_partition_is_named_as_such(run):
    said(run("cookies", "set", "work", "https://x.test/", "p=1; Secure; Partitioned"))
    done = run("cookies", "export", "work")
    assert done.returncode == 0 and b"\tp\t" not in done.stdout
    assert b"the cookie p has a tab or a partition" in done.stderr and b"--json" in done.stderr


def test_a_file_that_is_no_json_is_named(run, tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "object.json").write_text("{}")
    refused(run("cookies", "import", "--json", "work", "notes.txt"), 1, "notes.txt is no JSON")
    refused(run("cookies", "import", "--json", "work", "object.json"), 1, "object.json must hold an array of cookies")
    refused(run("cookies", "import", "--json", "work", "-", stdin=b"x"), 1, "standard input is no JSON")


def test_what_is_wrong_is_said(run, server, tmp_path):
    (tmp_path / "folder").mkdir()
    refused(run("get", "-b", "folder", server.url()), 1, "cannot read folder")
    refused(run("get", "--jar", "../x", server.url()), 2, "1 to 64")
    refused(run("get", "-b", "=x", server.url()), 2, "name=value")
    refused(run("cookies", "delete", "work"), 2, "--name")
    (tmp_path / "broken.txt").write_text("nonsense\n127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1\n")
    done = run("get", "-b", "broken.txt", server.url())
    assert done.stdout == b"a=1" and b"broken.txt, line 1" in done.stderr
    cookies = [{"name": "a", "value": "1", "domain": "x.test"}, {"name": "b", "value": "1"}]
    (tmp_path / "broken.json").write_text(json.dumps(cookies))
    done = run("cookies", "import", "--json", "work", "broken.json")
    assert done.stdout == b"1 imported\n" and b"broken.json, cookie 2: b: " in done.stderr

