#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Runs the tests of requests and httpx with the adapter and the transports of the Python client.

    dropins.py [requests|httpx] [-k EXPRESSION]

The tests come from the source distribution of each library, which is downloaded by name and SHA-256. They run twice:
without the service, because some need a network or a name server, and through it. A test that passes without and fails
with the service is a failure, unless exceptions.py names that test. $OUTRIDER is the binary. The last line is
`N passed, N failed, N skipped`.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time
import typing
import xml.etree.ElementTree as ElementTree

import exceptions

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = ROOT / ".build/dropins/bin/python"
MINUTES = 10
MOST_SHOWN = 80


class Suite(typing.NamedTuple):
    """The tests of one library, and the plugin that sends its requests through the service."""

    name: str
    version: str
    digest: str
    plugin: str
    files: "list[str]"
    options: "list[str]"


SUITES = [
    Suite(
        "requests", "2.34.2", "f288924cae4e29463698d6d60bc6a4da69c89185ad1e0bcc4104f584e960b9ed", "mounting",
        ["tests/test_requests.py", "tests/test_lowlevel.py", "tests/test_hooks.py"], ["-c", os.devnull],
    ),
    Suite(
        "httpx", "0.28.1", "75e98c5f16b0f35b567856f597f06ff2270a374470a5c2392242528e3e3e42fc", "transporting",
        ["tests"], ["-W", "ignore"],
    ),
]  # fmt: skip


def download(suite: Suite, place: pathlib.Path) -> "str | None":
    """Unpacks the source distribution. Returns why that was not possible, or None."""
    (place / "requirement").write_text(f"{suite.name}=={suite.version} --hash=sha256:{suite.digest}\n")
    words = [PYTHON, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    words += ["--no-binary", ":all:", "--require-hashes", "-r", "requirement"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=MINUTES * 60)
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ["pip failed without a message"])[-1]
    with tarfile.open(place / f"{suite.name}-{suite.version}.tar.gz") as archive:
        archive.extractall(place, filter="data")
    return None


def results(
    suite: Suite, place: pathlib.Path, report: str, options: "list[str]", environment: "dict[str, str]"
) -> "dict[str, str]":
    """Runs the tests; for each its verdict: passed, failed or skipped."""
    path = place / report
    words = [PYTHON, "-m", "pytest", "-q", "--rootdir=.", "-p", "no:cacheprovider"]
    words += [f"--junitxml={path}", *suite.options, *options, *suite.files]
    tests = place / f"{suite.name}-{suite.version}"
    with open(place / f"{report}.log", "wb") as log:
        seconds = MINUTES * 60
        subprocess.run(words, cwd=tests, env=environment, stdout=log, stderr=log, timeout=seconds)
    found = {}
    for case in ElementTree.parse(path).iter("testcase"):
        kinds = {child.tag for child in case}
        verdict = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found[f"{case.get('classname')}::{case.get('name')}"] = verdict
    return found


def serve(binary: str, path: pathlib.Path) -> "subprocess.Popen[bytes]":
    service = subprocess.Popen([binary, "serve", "--socket", str(path)], stdin=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not path.exists():
        if service.poll() is not None or time.monotonic() > deadline:
            service.kill()
            sys.exit(f"dropins: {binary} did not listen on {path}")
        time.sleep(0.05)
    return service


def compare(suite: Suite, native: "dict[str, str]", mounted: "dict[str, str]") -> "tuple[int, list[str], int]":
    """How many passed, which failed, and how many are left out."""
    passed, failed, skipped = 0, [], 0
    for case, verdict in native.items():
        why = exceptions.reason(suite.name, case)
        if verdict != "passed":
            skipped += 1
        elif mounted.get(case) == "passed":
            passed += 1
            if why is not None:
                print(f"{case} passes: strike off its exception")
        elif why is not None:
            skipped += 1
            print(f"{case}: {why}")
        else:
            failed.append(case)
    return passed, failed, skipped


def judge(suite: Suite, binary: str, options: "list[str]") -> "tuple[int, int, int]":
    """How many tests of a library passed, failed and were left out."""
    with tempfile.TemporaryDirectory(prefix="or-", dir="/tmp") as directory:
        place = pathlib.Path(directory)
        problem = download(suite, place)
        if problem is not None:
            print(f"{suite.name}: skipped, because the package registry is not reachable: {problem}")
            return 0, 0, 1
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_CA_BUNDLE")}
        native = results(suite, place, "native.xml", options, environment)
        service = serve(binary, place / "o.sock")
        try:
            source = os.pathsep.join([str(ROOT / "clients/python/src"), str(HERE)])
            environment.update(OUTRIDER_SOCKET=str(place / "o.sock"), PYTHONPATH=source)
            through = results(suite, place, "through.xml", ["-p", suite.plugin, *options], environment)
        finally:
            service.terminate()
            service.wait(30)
        passed, failed, skipped = compare(suite, native, through)
        if failed:
            print(*failed[:MOST_SHOWN], (place / "through.xml.log").read_text()[-20_000:], sep="\n")
        print(f"{suite.name} {suite.version}: {passed} passed, {len(failed)} failed, {skipped} skipped", flush=True)
        return passed, len(failed), skipped


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the tests of requests and httpx through the service.")
    parser.add_argument("-k", dest="expression", default="", help="only the tests that match")
    parser.add_argument("library", nargs="?", choices=[one.name for one in SUITES], help="only this library")
    given = parser.parse_args()
    if not PYTHON.exists():
        print("dropins: skipped, because .build/dropins is not here: run scripts/setup --clients")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    binary = os.environ.get("OUTRIDER") or str(ROOT / ".build/debug/outrider")
    options = ["-k", given.expression] if given.expression else []
    wanted = [one for one in SUITES if given.library in (None, one.name)]
    counts = [judge(suite, binary, options) for suite in wanted]
    passed, failed, skipped = (sum(column) for column in zip(*counts))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
