#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Builds both packages of a binary and tries them where nothing else of Outrider is.

    run.py [--binary FILE]

The Debian package is installed into a root that holds only what it depends on, the wheel into a fresh virtual
environment, and its binary runs in a root with the libraries that every Linux has. Only root can make such roots;
without that right those cases are skipped. The last line is `N passed, N failed, N skipped`.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
SHELL = ["dash", "coreutils"]
EVERYWHERE = ["libc6", "libstdc++6", "libgcc-s1", "zlib1g"]
MINUTES = 5


class Skipped(Exception):
    """Why a case cannot be tried here."""


def run(*command, **more):
    """The output of a command; a failure of the case if it fails."""
    command = [str(word) for word in command]
    more = {"stdin": subprocess.DEVNULL, "timeout": MINUTES * 60, **more}
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def closure(packages):
    """These Debian packages and all that they depend on, as far as they are installed."""
    known, wanted = set(), list(packages)
    while wanted:
        name = wanted.pop()
        if name in known:
            continue
        shown = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Pre-Depends}, ${Depends}", name], capture_output=True, text=True
        )
        if shown.returncode == 0:
            known.add(name)
            wanted += re.findall(r"(?:^|, |\| )([a-z0-9][a-z0-9+.-]+)", shown.stdout)
    return known


def make_root(place, packages):
    """A root directory with the files of these packages, and no others."""
    if os.geteuid() != 0:
        raise Skipped("a root directory needs root")
    for top in ("bin", "sbin", "lib", "lib64"):
        if os.path.islink(f"/{top}"):
            os.makedirs(place, exist_ok=True)
            os.symlink(os.readlink(f"/{top}"), place / top)
    for directory in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "etc", "tmp", "proc", "dev", "root", "run",
                      "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"):  # fmt: skip
        (place / directory).mkdir(parents=True, exist_ok=True)
    (place / "var/lib/dpkg/status").touch()
    for name in closure(packages):
        for file in run("dpkg-query", "-L", name).splitlines():
            target = place / file.lstrip("/")
            if os.path.isfile(file) and not file.startswith("/usr/share") and not os.path.lexists(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file, target, follow_symlinks=False)


def inside(place, *command):
    """Runs a command with that directory as its root, for which nothing is mounted beyond the command's end."""
    mounts = 'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"'
    environment = {"PATH": "/usr/sbin:/usr/bin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
    return run("unshare", "-m", "--propagation", "private", "sh", "-c", mounts, place, *command, env=environment)


def package(what, binary):
    """Makes a package; gives its path."""
    said = run(ROOT / "scripts/package", what, "--binary", binary)
    return ROOT / said.strip().splitlines()[-1].partition(":")[0]


def installed(place):
    return {path for path in place.rglob("*") if not path.is_dir()}


def responds(words, origin):
    """The commands that a user would try first."""
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", words("--version"))
    assert words("get", "--stdio", origin + "/json") == '{"id":1,"x":0.1}'
    assert words("get", "--spawn", origin + "/json") == '{"id":1,"x":0.1}'
    words("status")
    words("stop")


def debian_package(made, scratch, origin):
    """It installs into a root with its dependencies alone, works there, and leaves nothing behind."""
    depends = run("dpkg-deb", "-f", made["deb"], "Depends")
    place = scratch / "root"
    make_root(place, [*re.findall(r"(?:^|, )([a-z0-9+.-]+)", depends), *SHELL])
    before = installed(place / "usr")
    dpkg = ["dpkg", f"--root={place}", "--force-depends", "--force-not-root", "--force-script-chrootless"]
    began = time.monotonic()
    run(*dpkg, "-i", made["deb"])
    print(f"  installed in {time.monotonic() - began:.1f} s")
    names = {str(path.relative_to(place)) for path in installed(place / "usr") - before}
    for name in ("usr/bin/outrider", "usr/share/man/man1/outrider-get.1.gz", "usr/lib/systemd/user/outrider.socket",
                 "usr/share/bash-completion/completions/outrider", "usr/share/zsh/vendor-completions/_outrider",
                 "usr/share/fish/vendor_completions.d/outrider.fish", "usr/share/doc/outrider/copyright",
                 "usr/share/doc/outrider/NOTICES.gz", "usr/share/doc/outrider/SECURITY.md"):  # fmt: skip
        assert name in names, name
    responds(lambda *words: inside(place, "outrider", *words), origin)
    run(*dpkg, "--purge", "outrider")
    assert installed(place / "usr") == before


def lintian(made, scratch, origin):
    """Debian's own judge finds no error."""
    if not shutil.which("lintian"):
        raise Skipped("lintian is not here")
    command = ["lintian", "--allow-root", "--fail-on", "error", made["deb"]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def wheel(made, scratch, origin):
    """It gives a fresh environment the commands and the client, which finds the binary of that environment."""
    environment = scratch / "environment"
    run(sys.executable, "-m", "venv", environment)
    before = installed(environment)
    pip = [environment / "bin/python", "-m", "pip", "--disable-pip-version-check"]
    began = time.monotonic()
    run(*pip, "install", "--no-index", "--no-compile", made["wheel"])
    print(f"  installed in {time.monotonic() - began:.1f} s")
    clean = {"HOME": str(scratch), "XDG_RUNTIME_DIR": str(scratch), "PYTHONDONTWRITEBYTECODE": "1"}
    clean["PATH"] = "/nonexistent"
    responds(lambda *words: run(environment / "bin/outrider", *words, env=clean), origin)
    script = f"import outrider; print(outrider.get('{origin}/json').json()['id'])"
    assert run(environment / "bin/python", "-c", script, env=clean) == "1\n"
    run(environment / "bin/outrider", "stop", env=clean)
    run(*pip, "uninstall", "-y", "outrider")
    assert installed(environment) == before


def binary_of_the_wheel(made, scratch, origin):
    """It runs where only the libraries are that every Linux has."""
    place = scratch / "bare"
    make_root(place, [*EVERYWHERE, *SHELL])
    with zipfile.ZipFile(made["wheel"]) as archive:
        archive.extractall(scratch / "unpacked")
    data = next((scratch / "unpacked").glob("*.data"))
    (place / "opt/bin").mkdir(parents=True)
    shutil.copytree(data / "data/lib", place / "opt/lib")
    shutil.copy2(data / "scripts/outrider", place / "opt/bin/outrider")
    for file in installed(place / "opt"):
        file.chmod(0o755)
    responds(lambda *words: inside(place, "/opt/bin/outrider", *words), origin)


def installation(made, scratch, origin):
    """`make install` below a prefix: pages that man reads without a warning, and completions."""
    # systemd takes a path with a space in quotes only
    prefix = scratch / "my prefix"
    run(ROOT / "scripts/package", "install", prefix, "--binary", made["binary"], umask=0o077)
    assert not [path for path in prefix.rglob("*") if not path.stat().st_mode & 0o004]
    unit = (prefix / "share/systemd/user/outrider.service").read_text()
    assert f'ExecStart="{prefix}/bin/outrider" serve' in unit
    # the service ends with 143 after SIGTERM, which systemd takes for a failure otherwise
    assert "143" in re.search(r"^SuccessExitStatus=(.*)$", unit, re.MULTILINE)[1].split()
    # a start by hand counts for no crash loop, which would end the socket
    # and what fails at once is not started without end
    limits = dict(re.findall(r"^StartLimit(\w+)=(\d+)$", unit.partition("[Service]")[0], re.MULTILINE))
    assert int(limits["IntervalSec"]) > 0 and int(limits["Burst"]) >= 50, unit
    assert run(prefix / "bin/outrider", "--version")
    other = prefix / "share/man/man1/outriders.1"
    other.touch()
    removed = scratch / "removed"
    shutil.copytree(prefix, removed)
    run(ROOT / "scripts/package", "uninstall", removed)
    assert installed(removed) == {removed / other.relative_to(prefix)}
    other.unlink()
    command = [ROOT / "scripts/package", "install", "/sys/outrider", "--binary", made["binary"]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "/sys/outrider" in done.stderr and "Traceback" not in done.stderr, done.stderr
    if shutil.which("man"):
        for page in (prefix / "share/man/man1").iterdir():
            shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True)
            assert shown.returncode == 0 and not shown.stderr, f"{page.name}: {shown.stderr}"


def completions(made, scratch, origin):
    """Each shell that is here completes commands and options."""
    run(ROOT / "scripts/package", "install", scratch, "--binary", made["binary"])
    bash = """
        source "$0/share/bash-completion/completions/outrider"
        COMP_WORDS=(outrider get --retr) COMP_CWORD=2 COMP_LINE="outrider get --retr" COMP_POINT=19
        _outrider outrider --retr get
        echo "${COMPREPLY[@]}"
    """
    retries = ["--retry", "--retry-all-errors", "--retry-delay", "--retry-max-time"]
    assert sorted(run("bash", "-c", bash, scratch).split()) == retries
    bash = bash.replace("get --retr", "help cookies ex").replace("COMP_CWORD=2", "COMP_CWORD=3").replace("=19", "=24")
    assert run("bash", "-c", bash.replace("--retr get", "ex cookies"), scratch).split() == ["explain", "export"]
    if shutil.which("fish"):
        fish = f"source {scratch}/share/fish/vendor_completions.d/outrider.fish; complete -C 'outrider get --retr'"
        environment = {"HOME": str(scratch), "PATH": f"{scratch}/bin:{os.environ['PATH']}"}
        found = run("fish", "--no-config", "-c", fish, env=environment)
        assert [row.split("\t")[0] for row in found.splitlines()] == retries, found
        found = run("fish", "--no-config", "-c", fish.replace("get --retr", "cookies ex"), env=environment)
        assert [row.split("\t")[0] for row in found.splitlines()] == ["explain", "export"], found
        found = run("fish", "--no-config", "-c", fish.replace("get --retr", "help cookies ex"), env=environment)
        assert [row.split("\t")[0] for row in found.splitlines()] == ["explain", "export"], found
        found = run("fish", "--no-config", "-c", fish.replace("get --retr", "help docto"), env=environment)
        assert [row.split("\t")[0] for row in found.splitlines()] == ["doctor"], found
        found = run("fish", "--no-config", "-c", fish.replace("get --retr", "call data.se"), env=environment)
        assert found.split() == ["data.send"], found
    if shutil.which("zsh"):
        zsh = "fpath=($0/share/zsh/site-functions $fpath); autoload -Uz compinit; compinit -uD; echo $_comps[outrider]"
        assert run("zsh", "-f", "-c", zsh, scratch) == "_outrider\n"


def licences(made, scratch, origin):
    """Each Swift package of the manifest stands on the page, and its licence in the installation; a wheel has those of
    the libraries that it carries."""
    from packaging import licences as known

    parts = {part.split(",")[0]: version for part, version, _ in known.linked()}
    for name, version in known.resolved().items():
        assert parts.get(name) == version, f"docs/internals/licenses.md has {parts.get(name)} of {name}, not {version}"
    run(ROOT / "scripts/package", "install", scratch, "--binary", made["binary"])
    notices = (scratch / "share/doc/outrider/NOTICES").read_text()
    licences = ("llhttp", "BoringSSL", "Apache License", "Mozilla Public", "Runtime Library Exception")
    for word in (*licences, *known.resolved()):
        assert word in notices, word
    with zipfile.ZipFile(made["wheel"]) as archive:
        names = archive.namelist()
    carried = {re.sub(r"[^a-z].*", "", pathlib.Path(name).name) for name in names if "/lib/outrider/" in name}
    texts = " ".join(name for name in names if ".dist-info/licenses/" in name)
    assert "licenses/NOTICES" in texts
    # one package has all libraries of Brotli
    for library in carried:
        assert library[:9] in texts, f"no licence of {library}: {texts}"


CASES = [installation, completions, licences, debian_package, lintian, wheel, binary_of_the_wheel]


def attempt(case, made, origin):
    """passed, failed or skipped."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            case(made, pathlib.Path(scratch), origin)
        except Skipped as why:
            print(f"{case.__name__}: skipped ({why})")
            return "skipped"
        except (AssertionError, OSError, subprocess.SubprocessError, StopIteration) as problem:
            print(f"{case.__name__}: FAILED\n{problem}")
            return "failed"
    print(f"{case.__name__}: passed")
    return "passed"


def main():
    parser = argparse.ArgumentParser(description="Builds both packages of a binary and tries them.")
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / ".build/release/outrider")
    binary = parser.parse_args().binary
    made = {"binary": binary}
    for what in ("deb", "wheel"):
        began = time.monotonic()
        made[what] = package(what, binary)
        print(f"{made[what].name}: {made[what].stat().st_size:,} bytes, made in {time.monotonic() - began:.0f} s")
    command = [sys.executable, ROOT / "scripts/origin.py", "--port", "0", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            origin = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            verdicts = [attempt(case, made, origin) for case in CASES]
        finally:
            server.terminate()
    print(", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("passed", "failed", "skipped")))
    return 1 if "failed" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
