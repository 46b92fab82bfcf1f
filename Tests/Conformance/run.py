#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Runs suites that others wrote against the service, and counts what they found.

    run.py FOLDER [--only SUITE]...

FOLDER holds `clients/` and `conformance/`. $OUTRIDER is the binary, and $OUTRIDER_RELEASE a quicker one, if there is
one, for the suites that allow a service little time. The suites write beside themselves, so a copy of them is run. A
case that fails for a reason in exceptions.py counts as skipped; a suite that does not end counts as a failure. The
last line is `N passed, N failed, N skipped`.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import exceptions

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CLIENTS = ROOT / ".build/clients/bin"
PYTHON = ROOT / ".build/venv/bin/python"
MINUTES = 6
# most of them wait most of the time
SIDE_BY_SIDE = 3
MOST_SHOWN = 30
# it waits for 6 s: beside other work, a build without optimization takes longer for 1 MiB of text as events
IMPATIENT = {"websocket-events"}

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Suite:
    """One runner: its command, the files that it leaves, and how they are read into (case, verdict, why)."""

    def __init__(self, name, folder, command, leaves, read, reasons=None):
        self.name, self.folder, self.command, self.leaves, self.read = name, folder, command, leaves, read
        self.reasons = reasons or name


def read_wire(rows):
    for row in rows:
        yield row["test"], PASSED if row["status"] == "pass" else FAILED, row["why"]


def read_matrix(rows):
    # `-` does not apply to that client; `~` is the client's own limit, seen as it is known
    verdicts = {".": PASSED, "~": PASSED, "!": SKIPPED, "F": FAILED}
    for row in rows:
        if row["cell"] != "-":
            case = f"{row['client']} {row['over']} {row['case']}"
            yield case, verdicts[row["cell"]], row["why"] or "the client is not installed"


def read_json(found):
    for case, verdict in found.items():
        wanted = {"y": ("accept",), "n": ("reject",), "i": ("accept", "reject")}[case[0]]
        yield case, PASSED if verdict in wanted else FAILED, verdict


def read_words(found):
    for case, verdict in found.items():
        known = {"pass": PASSED, "skip": SKIPPED}
        if not verdict.startswith("n/a"):
            yield case, known.get(verdict.partition(" ")[0], FAILED), verdict


def read_urls(found):
    bad = {(group, case): f"{got}, not {want}" for group, case, got, want in found["bad"]}
    for (group, case), why in bad.items():
        yield f"{group} {case}", FAILED, why
    for group, (good, _) in found["totals"].items():
        for number in range(good):
            yield f"{group} good {number}", PASSED, ""


def conformance(name, adapter, leaves, read, *options, reasons=None):
    command = ["run.py", "--adapter", adapter, *options]
    return Suite(name, f"conformance/{reasons or name}", command, leaves, read, reasons)


FRAMINGS = ("newline", "content-length")
SUITES = [
    conformance("json", "adapt_json", ["results/adapt_json.json"], read_json, "--dir", "test_parsing"),
    *(
        conformance(
            f"jsonrpc-{way}",
            f"adapt_jsonrpc_{way}",
            [f"results/adapt_jsonrpc_{way}.{framing}.json" for framing in FRAMINGS],
            read_words,
            reasons="jsonrpc",
        )
        for way in ("stdio", "socket")
    ),
    # by real exchanges and in a jar: the cases that both ask are two cases
    *(
        conformance(
            f"cookies-{mode}", "adapt_cookies", ["results/adapt_cookies.json"], read_words, "--mode", mode,
            reasons="cookies")
        for mode in ("http", "jar")
    ),
    conformance("urls", "adapt_urls", ["results/adapt_urls.json"], read_urls),
    *(
        conformance(
            f"oauth-{provider}", "adapt_oauth", [f"results/adapt_oauth.{provider}.json"], read_words,
            "--provider", provider, reasons="oauth")
        for provider in ("glewlwyd", "oidcmock")
    ),
    conformance("http2", "adapt_http2", ["results/adapt_http2.json"], read_words),
    *(
        conformance(
            f"websocket-{way}", f"adapt_websocket_{way}", [f"results/adapt_websocket_{way}.json"], read_words,
            reasons="websocket")
        for way in ("events", "reads", "channel")
    ),
    conformance("sse", "adapt_sse", ["results/adapt_sse.json"], read_words),
    conformance("chaos", "adapt_chaos", ["results/adapt_chaos.json"], read_words),
    conformance("tls", "adapt_tls", ["results/adapt_tls.json"], read_words),
    conformance("cache", "adapt_cache", ["results/adapt_cache.browser.json"], read_words),
    Suite(
        "cache-beyond", "conformance/cache", ["beyond.py", "--adapter", "adapt_cache"],
        ["results/beyond.adapt_cache.json"], read_words),
    Suite("wire", "clients", ["raw/wire_tests.py", "--json", "wire.json"], ["wire.json"], read_wire),
    Suite("matrix", "clients", ["run_matrix.py", "--json", "matrix.json"], ["matrix.json"], read_matrix),
]


def environment(suite):
    """The binary by its full path, our adapters, and first on the path the clients' own Python."""
    found = dict(os.environ, PYTHONPATH=str(HERE), PYTHONDONTWRITEBYTECODE="1")
    binary = os.environ.get("OUTRIDER", ROOT / ".build/debug/outrider")
    if suite.name in IMPATIENT:
        binary = os.environ.get("OUTRIDER_RELEASE", binary)
    found["OUTRIDER"] = str(pathlib.Path(binary).resolve())
    if CLIENTS.is_dir():
        found["PATH"] = f"{CLIENTS}:{found['PATH']}"
        found["OUTRIDER_PYTHON"] = str(CLIENTS / "python3")
    return found


def run(suite, folder):
    """The suite's rows, and whether it came to its end."""
    place = folder / suite.folder
    # the tests' own Python has servers beside it that some suites start
    command = [str(PYTHON if PYTHON.exists() else sys.executable), *suite.command]
    try:
        said = subprocess.run(
            command,
            cwd=place,
            env=environment(suite),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=MINUTES * 60,
        )
        output, ended = said.stdout, True
    except subprocess.TimeoutExpired as error:
        output, ended = (error.stdout or b"").decode(errors="replace"), False
        print(f"   {suite.name}: no end within {MINUTES} minutes")
    rows = []
    for left in suite.leaves:
        try:
            found = suite.read(json.loads((place / left).read_text()))
            # the same cases in two framings are two cases
            prefix = f"{left.split('.')[-2]} " if len(suite.leaves) > 1 else ""
            rows += [(prefix + case, verdict, why) for case, verdict, why in found]
        except (OSError, ValueError):
            ended = False
    if not ended:
        print("\n".join("   | " + line for line in output.splitlines()[-15:]))
    return rows, ended


def by_folder(suites):
    """Suites of one folder, which may write the same file, together; the longest folder first."""
    rooms = {}
    for suite in suites:
        rooms.setdefault(suite.folder, []).append(suite)
    return sorted(rooms.values(), key=lambda room: room[0].folder != "clients")


def in_order(folder, suites):
    """Each suite with its rows, whether it came to its end, and its seconds."""
    done = []
    for suite in suites:
        began = time.monotonic()
        rows, ended = run(suite, folder) if (folder / suite.folder).is_dir() else ([], False)
        done.append((suite, rows, ended, time.monotonic() - began))
    return done


def judge(suite, rows, ended):
    """Prints what is not as it should be; the counts."""
    counts = {PASSED: 0, FAILED: 0, SKIPPED: 0}
    reasons, bad = {}, []
    for case, verdict, why in rows:
        reason = exceptions.reason(suite.reasons, case)
        if verdict == FAILED and reason:
            verdict = SKIPPED
            reasons.setdefault(reason, []).append(case)
        elif verdict == FAILED:
            bad.append(f"   FAILED {case}: {why}".encode("unicode_escape").decode())
        elif verdict == PASSED and reason:
            print(f"   passes, though exceptions.py expects it not to: {case}")
        counts[verdict] += 1
    for line in bad[:MOST_SHOWN]:
        print(line)
    if len(bad) > MOST_SHOWN:
        print(f"   and {len(bad) - MOST_SHOWN} more")
    for reason, cases in reasons.items():
        print(f"   on purpose: {', '.join(cases)}: {reason}")
    counts[FAILED] += not ended
    return counts


def main():
    parser = argparse.ArgumentParser(description="Runs suites that others wrote.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", action="append", choices=[suite.name for suite in SUITES])
    options = parser.parse_args()
    total = {PASSED: 0, FAILED: 0, SKIPPED: 0}
    with tempfile.TemporaryDirectory(prefix="outrider-suites-") as copy:
        copy = pathlib.Path(copy)
        for part in ("clients", "conformance"):
            if (options.folder / part).is_dir():
                shutil.copytree(options.folder / part, copy / part)
        # the originals may be read-only; the suites write beside themselves
        for path in [copy, *copy.rglob("*")]:
            path.chmod(path.stat().st_mode | 0o200)
        chosen = [suite for suite in SUITES if not options.only or suite.name in options.only]
        with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            rooms = [pool.submit(in_order, copy, room) for room in by_folder(chosen)]
            for suite, rows, ended, seconds in (done for room in rooms for done in room.result()):
                counts = judge(suite, rows, ended and bool(rows))
                words = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
                print(f"{suite.name:16} {words}  ({seconds:.0f} s)", flush=True)
                total = {verdict: total[verdict] + counts[verdict] for verdict in total}
    print(", ".join(f"{number} {verdict}" for verdict, number in total.items()))
    return 1 if total[FAILED] else 0


if __name__ == "__main__":
    sys.exit(main())
