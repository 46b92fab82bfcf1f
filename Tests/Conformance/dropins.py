#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Runs the tests of requests with the adapter of the Python client in place of its own.

    dropins.py [-k EXPRESSION]

The tests come from the source distribution of requests, which is downloaded by name and SHA-256. They run twice:
without the adapter, because some need a network or a name server, and with the adapter. A test that passes without and
fails with the adapter is a failure, unless exceptions.py names that test. $OUTRIDER is the binary. The last line is
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
import xml.etree.ElementTree as ElementTree

import exceptions

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = ROOT / ".build/dropins/bin/python"
NAME = "requests-2.34.2"
REQUIREMENT = "requests==2.34.2 --hash=sha256:f288924cae4e29463698d6d60bc6a4da69c89185ad1e0bcc4104f584e960b9ed\n"
FILES = ["tests/test_requests.py", "tests/test_lowlevel.py", "tests/test_hooks.py"]
MINUTES = 10
MOST_SHOWN = 30


def download(place: pathlib.Path) -> "str | None":
    """Unpacks the source distribution. Returns why that was not possible, or None."""
    (place / "requirement").write_text(REQUIREMENT)
    words = [PYTHON, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    words += ["--no-binary", ":all:", "--require-hashes", "-r", "requirement"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=MINUTES * 60)
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ["pip failed without a message"])[-1]
    with tarfile.open(place / f"{NAME}.tar.gz") as archive:
        archive.extractall(place, filter="data")
    return None


def results(place: pathlib.Path, report: str, options: "list[str]", environment: "dict[str, str]") -> "dict[str, str]":
    """Runs the tests; for each its verdict: passed, failed or skipped."""
    path = place / report
    words = [PYTHON, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir=.", "-p", "no:cacheprovider"]
    words += [f"--junitxml={path}", *options, *FILES]
    with open(place / f"{report}.log", "wb") as log:
        seconds = MINUTES * 60
        subprocess.run(words, cwd=place / NAME, env=environment, stdout=log, stderr=log, timeout=seconds)
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


def compare(native: "dict[str, str]", mounted: "dict[str, str]") -> "tuple[int, list[str], int]":
    """How many passed, which failed, and how many are left out."""
    passed, failed, skipped = 0, [], 0
    for case, verdict in native.items():
        why = exceptions.reason("requests", case)
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


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the tests of requests with the adapter.")
    parser.add_argument("-k", dest="expression", default="", help="only the tests that match")
    options = ["-k", parser.parse_args().expression]
    if not PYTHON.exists():
        print("dropins: skipped, because .build/dropins is not here: run scripts/setup --clients")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    binary = os.environ.get("OUTRIDER") or str(ROOT / ".build/debug/outrider")
    with tempfile.TemporaryDirectory(prefix="or-", dir="/tmp") as directory:
        place = pathlib.Path(directory)
        problem = download(place)
        if problem is not None:
            print(f"dropins: skipped, because the package registry is not reachable: {problem}")
            print("0 passed, 0 failed, 1 skipped")
            return 0
        environment = {name: value for name, value in os.environ.items() if not name.endswith("_CA_BUNDLE")}
        native = results(place, "native.xml", options, environment)
        service = serve(binary, place / "o.sock")
        try:
            source = os.pathsep.join([str(ROOT / "clients/python/src"), str(HERE)])
            environment.update(OUTRIDER_SOCKET=str(place / "o.sock"), PYTHONPATH=source)
            mounted = results(place, "mounted.xml", ["-p", "mounting", *options], environment)
        finally:
            service.terminate()
            service.wait(30)
        passed, failed, skipped = compare(native, mounted)
        if failed:
            print(*failed[:MOST_SHOWN], (place / "mounted.xml.log").read_text()[-20_000:], sep="\n")
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
