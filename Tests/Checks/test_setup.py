# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""`scripts/setup`: it says what it would install, asks, and starts no service."""

import os
import pty
import re
import shutil
import subprocess

import pytest
from house import CHECKOUT

TOOLS = "bash sh env sed grep cat id tee chmod rm ln sort head sha256sum dirname mkdir tr".split()

# socat is what is missing; installing it makes it appear
APT = """#!/bin/sh
echo "apt-get $*" >>"$HERE/log"
case $* in
    *install*) [ -x "$HERE/policy-rc.d" ] && { "$HERE/policy-rc.d" nginx start; echo "policy $?" >>"$HERE/log"; }
        [ ! -e "$HERE/broken" ] || exit 100
        ln -s /bin/true "$HERE/bin/socat" ;;
esac
"""


class Setup:
    """A copy of the script in a place of its own, with a system that lacks one package."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "scripts/requirements").mkdir(parents=True)
        text = (CHECKOUT / "scripts/setup").read_text().replace("/usr/sbin/policy-rc.d", str(folder / "policy-rc.d"))
        (folder / "scripts/setup").write_text(text)
        (folder / "scripts/setup").chmod(0o755)
        (folder / "bin").mkdir()
        for name in TOOLS:
            (folder / "bin" / name).symlink_to(shutil.which(name))
        for name, content in {
            "apt-get": APT,
            "swift": "#!/bin/sh\necho Swift version 6.2\n",
            "pkg-config": "#!/bin/sh\n",
            "python3": "#!/bin/sh\n",
            "sleep": "#!/bin/sh\n",
            "sudo": '#!/bin/sh\nshift\nexec "$@"\n',
        }.items():
            (folder / "bin" / name).write_text(content)
            (folder / "bin" / name).chmod(0o755)

    def __call__(self, *words, **more):
        environment = {"PATH": str(self.folder / "bin"), "HERE": str(self.folder), **more}
        return subprocess.run(
            [self.folder / "scripts/setup", *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True)

    def on_a_terminal(self, typed):
        """What was shown, and the status."""
        ours, theirs = pty.openpty()
        environment = {"PATH": str(self.folder / "bin"), "HERE": str(self.folder)}
        process = subprocess.Popen(
            [self.folder / "scripts/setup"], env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        os.write(ours, typed.encode() + b"\n")
        shown = b""
        try:
            while data := os.read(ours, 4096):
                shown += data
        except OSError:
            pass
        os.close(ours)
        return shown.decode(), process.wait(30)

    @property
    def log(self):
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def setup(tmp_path):
    return Setup(tmp_path)


def test_without_a_terminal_nothing_is_installed(setup):
    done = setup()
    assert done.returncode == 1 and setup.log == ""
    assert "socat" in done.stderr and "CI=true" in done.stderr and "--yes" in done.stderr


@pytest.mark.parametrize(("words", "more"), [(["--yes"], {}), ([], {"CI": "true"})])
def test_consent_in_advance_installs_and_still_says_what(setup, words, more):
    done = setup(*words, **more)
    assert done.returncode == 0, done.stderr
    assert "socat" in done.stderr and "install -y --no-install-recommends socat" in setup.log


def test_a_package_of_several_parts_is_named_once(setup):
    done = setup("--test", "--bench", "--clients")
    named = re.search(r"by apt-get: (.*)", done.stderr)[1].split()
    assert "jq" in named and len(named) == len(set(named))


@pytest.mark.parametrize(("typed", "installs"), [("y", True), ("yes", True), ("n", False), ("", False)])
def test_on_a_terminal_it_asks(setup, typed, installs):
    shown, status = setup.on_a_terminal(typed)
    assert "socat" in shown and "[y/N]" in shown
    assert (status == 0) == installs and ("install" in setup.log) == installs


@pytest.mark.parametrize("is_broken", [False, True])
def test_no_service_is_started_meanwhile_and_nothing_is_left(setup, is_broken):
    if is_broken:
        (setup.folder / "broken").touch()
    done = setup("--yes")
    assert (done.returncode != 0) == is_broken
    assert "policy 101" in setup.log
    assert not (setup.folder / "policy-rc.d").exists()


def test_a_policy_of_the_machine_stays(setup):
    policy = setup.folder / "policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 7\n")
    policy.chmod(0o755)
    assert setup("--yes").returncode == 0
    assert "policy 7" in setup.log and policy.read_text() == "#!/bin/sh\nexit 7\n"


@pytest.mark.parametrize("name", ["venv", "bench", "clients"])
def test_python_packages_have_versions_and_hashes(name):
    lists = CHECKOUT / "scripts/requirements"
    pinned = (lists / f"{name}.txt").read_text().replace("\\\n", "")
    lines = [line for line in pinned.splitlines() if line and not line.startswith("#")]
    assert lines and all(re.match(r"[\w.-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line) for line in lines)
    names = {line.partition("==")[0] + "==" + line.partition("==")[2].split()[0] for line in lines}
    wanted = [line for line in (lists / f"{name}.in").read_text().splitlines() if not line.startswith("#")]
    # an extra is no package: `httpx[http2]` brings h2 along; a version may be for some versions of Python only
    assert {re.sub(r"\[.*?\]| ;.*", "", line) for line in wanted} <= names


def test_swift_packages_have_exact_versions():
    manifest = (CHECKOUT / "Package.swift").read_text()
    lines = [line for line in manifest.splitlines() if ".package(url:" in line]
    assert len(lines) >= 10 and all(re.search(r'exact: "\d+\.\d+\.\d+"', line) for line in lines)
