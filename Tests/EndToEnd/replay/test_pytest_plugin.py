# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""`outrider.testing` and the plugin for pytest, in a sample project, also with pytest-xdist."""

import os
import subprocess
import sys

import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
PROJECT = '''
import os
import outrider
import pytest
from outrider import testing

ORIGIN = os.environ["ORIGIN"]


def program():
    """What is tested: it knows nothing of cassettes."""
    return outrider.get(ORIGIN + "/json").json()


@pytest.mark.outrider(cassette="shared.har", repeat="last")
def test_named():
    assert program()


@pytest.mark.outrider
@pytest.mark.parametrize("number", range(4))
def test_each_has_its_own(number):
    with outrider.Client() as client:
        assert client.post(ORIGIN + "/echo", json={"n": number}).ok


@pytest.mark.outrider(mode="none")
def test_what_was_not_recorded_fails():
    pytest.skip("only with a cassette")


@pytest.mark.outrider(ignore={"query": ["ts"]}, repeat="last")
class TestClass:
    @pytest.mark.outrider(mask={"query": ["account"]})
    def test_named(self):
        assert outrider.get(ORIGIN + f"/json?account=private7&ts={os.getpid()}").ok

    @pytest.mark.parametrize("word", ["a/b", "a b", "x" * 300])
    def test_words(self, word):
        assert outrider.get(ORIGIN + "/json", params={"word": word, "ts": os.getpid()}).ok


def test_stubs(outrider_stubs):
    outrider_stubs.add("https://api.example.com/users/{id}", json={"name": "ada"})
    outrider_stubs.add("https://api.example.com/flaky", responses=[{"fault": "lost"}, {"text": "ok"}])
    assert outrider.get("https://api.example.com/users/7").json() == {"name": "ada"}
    with pytest.raises(outrider.OutriderError):
        outrider.get("https://api.example.com/flaky")
    assert outrider.get("https://api.example.com/flaky").text == "ok"
    outrider_stubs.add("https://api.example.com/file", file=os.path.basename(__file__), trailers={"X-Sum": "1"})
    assert "outrider_stubs" in outrider.get("https://api.example.com/file").text
    with pytest.raises(outrider.ReplayError, match="no stub is for"):
        outrider.get(ORIGIN + "/json")
    assert [one["url"].rsplit("/", 1)[1] for one in outrider_stubs.requests()][:2] == ["7", "flaky"]


def test_without_the_plugin(tmp_path):
    before = os.environ.get("OUTRIDER_SOCKET")
    with testing.replay(tmp_path / "a.har") as tape:
        first = program()
        assert tape.info()["recording"]
    assert tape.report["recorded"] == 1 and os.environ.get("OUTRIDER_SOCKET") == before
    with testing.replay(tmp_path / "a.har") as tape:
        assert program() == first
    assert tape.report["played"] == 1
'''


FAULTS = '''
import outrider
import pytest
from outrider import testing

URL = "http://127.0.0.1:9/"


@pytest.mark.outrider(cassette="absent.har", mode="none")
def test_absent():
    """It ends before its first line."""


@pytest.mark.outrider(cassette="empty.har", mode="none")
def test_miss():
    with pytest.raises(ValueError):
        outrider.get(URL)


@pytest.mark.outrider(casette="empty.har")
def test_misspelt():
    """It ends before its first line."""


@pytest.mark.outrider("empty.har", "none")
def test_two_arguments():
    """It ends before its first line."""


def test_bad_values(tmp_path):
    with pytest.raises(ValueError, match="mode must be one of once, none, newEpisodes, all, not 'play'"):
        testing.replay(tmp_path / "a.har", "play")
    with pytest.raises(TypeError, match="ignore cannot be written as JSON"):
        testing.replay(tmp_path / "a.har", ignore={"query": {1}})
    with pytest.raises(outrider.ReplayError, match="record it first"), testing.replay(tmp_path / "a.har", "none"):
        pass
'''
EMPTY = '{"log":{"version":"1.2","creator":{"name":"a","version":"1"},"entries":[]}}'


def run(directory, origin, *words, status=0):
    environment = {
        **os.environ,
        "ORIGIN": origin,
        "OUTRIDER_BIN": contract.binary(),
        "PYTHONPATH": str(contract.ROOT / "clients/python/src"),
    }
    # else the run cleans up behind all others of this user
    own = f"--basetemp={directory / 'temporary'}"
    command = [sys.executable, "-m", "pytest", own, "-q", "-p", "no:cacheprovider", "-p", "outrider.testing.plugin"]
    done = subprocess.run(
        [*command, *words], cwd=directory, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_a_sample_project(tmp_path, origin):
    """Recorded once, then played without the server, alone and with two workers."""
    (tmp_path / "test_program.py").write_text(PROJECT)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    deselect = ("--deselect", "test_program.py::test_what_was_not_recorded_fails")
    assert "11 passed" in run(tmp_path, origin, *deselect)
    cassettes = sorted(path.name for path in (tmp_path / "cassettes").rglob("*.har"))
    named = ["TestClass.test_named.har", "shared.har", *(f"test_each_has_its_own-{n}.har" for n in range(4))]
    assert [name for name in cassettes if "test_words" not in name] == named, cassettes
    assert len(cassettes) == 9 and max(map(len, cassettes)) < 250, cassettes
    [tape] = (tmp_path / "cassettes").rglob("TestClass.test_named.har")
    assert "private7" not in tape.read_text()
    # cassettes name the origin: another one, where nothing listens, shows that nothing is asked
    for path in (tmp_path / "cassettes").rglob("*.har"):
        path.write_text(path.read_text().replace(origin, "http://127.0.0.1:9"))
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "cassettes").rglob("*.har")}
    rest = (*deselect, "-k", "named or own or words or test_stubs", "--outrider-mode", "none")
    for more in ((), ("-n", "2")):
        assert "10 passed" in run(tmp_path, "http://127.0.0.1:9", *rest, *more)
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_faults_have_remedies(tmp_path, origin):
    """A cassette that is absent or has no response, and a mark that is written wrongly."""
    (tmp_path / "test_faults.py").write_text(FAULTS)
    (tmp_path / "cassettes").mkdir()
    (tmp_path / "cassettes/empty.har").write_text(EMPTY)
    said = run(tmp_path, origin, status=1)
    assert "1 failed, 1 passed, 3 errors" in said, said
    assert "absent.har, and the mode" in said and "(pytest: --outrider-mode once)" in said
    assert "to record missing responses: --outrider-mode newEpisodes" in said
    assert "a cassette has no option casette; did you mean cassette?" in said
    assert "one argument without a name, the cassette" in said
