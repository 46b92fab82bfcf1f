#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Thirty tasks of a shell: curl's command line beside Outrider's, their length, and how long each takes.

    Benchmarks/shell_tasks.py [--binary FILE] [--runs N] [--write]

Both lines of a task run in a directory of their own against the small origin, Outrider's with a running service, as on
the desk of a user. What they print and leave must be equal; a task whose results differ is a failure. The time is the
median of the runs, and contains the shell. `--write` puts the table into docs/guide/shell-tasks.md.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path
from typing import List, NamedTuple, Optional, Tuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/guide/shell-tasks.md"
# the figures stand behind it
MARK = "## The tasks\n"
SECONDS = 60


class Task(NamedTuple):
    """A task; `$U` is the origin. `curl` is None where curl cannot do it."""

    name: str
    curl: "str | None"
    outrider: str
    # what is compared: "output" or "json" of standard output, "none", or the name of a file
    result: str = "output"


TASKS = [
    Task("print a page", "curl -s $U/json", "outrider get $U/json"),
    Task("look at the fields", "curl -sI $U/json | grep -i ^content-", "outrider head $U/json | grep -i ^content-"),
    Task("save under a name", "curl -so page.json $U/json", "outrider get -o page.json $U/json", "page.json"),
    Task("save under the name in the URL", "curl -sO $U/json", "outrider get -O $U/json", "json"),
    Task("follow redirects", "curl -sL $U/redirect/3", "outrider get $U/redirect/3"),
    Task(
        "stop at a redirect", "curl -so r -w '%{http_code}' $U/redirect/1",
        "outrider get --no-location -o r -w '%{http_code}' $U/redirect/1",
    ),
    Task("fail at status 404", "curl -sf $U/status/404 || echo no", "outrider get -sf $U/status/404 || echo no"),
    Task("print the status", "curl -so /dev/null -w '%{http_code}' $U/status/418",
         "outrider get -so /dev/null -w '%{http_code}' $U/status/418"),
    Task("lay out JSON", "curl -s $U/json | python3 -m json.tool --indent 2",
         "outrider get --pretty format $U/json"),
    Task("fetch three pages in order", "curl -s $U/bytes/[10-12]", "outrider get $U/bytes/[10-12]"),
    Task("name files after the URL", "curl -s $U/bytes/[10-12] -o '#1.bin'",
         "outrider get $U/bytes/[10-12] -o '#1.bin'", "11.bin"),
    Task("fetch ten slow pages at once", "curl -sZ \"$U/delay/0.2?[1-10]\" -o 'p#1'",
         "outrider get -Z \"$U/delay/0.2?[1-10]\" -o 'p#1'", "p7"),
    Task("fetch the URLs in a file", "xargs -n1 curl -s < urls", "outrider get --input-file urls"),
    Task("send a query", "curl -sG --data-urlencode 'q=two words' $U/echo", "outrider get $U/echo 'q==two words'",
         "json:target"),
    Task("send a form", "curl -s -d name=wolf -d legs=4 $U/echo", "outrider get -d name=wolf -d legs=4 $U/echo",
         "json:body"),
    Task("send JSON", "curl -s -H 'Content-Type: application/json' -d '{\"name\":\"wolf\",\"legs\":4}' $U/echo",
         "outrider post $U/echo name=wolf legs:=4", "json:body"),
    Task("change by PATCH", "curl -s -X PATCH -H 'Content-Type: application/json' -d '{\"legs\":3}' $U/echo",
         "outrider patch $U/echo legs:=3", "json:body"),
    Task("delete", "curl -s -X DELETE $U/echo", "outrider delete $U/echo", "json:method"),
    Task("upload a photo in a form", "curl -s -F title=Wolf -F photo=@wolf.png $U/echo | grep -c wolf.png",
         "outrider post $U/echo title=Wolf photo@wolf.png | grep -c wolf.png"),
    Task("put a file", "curl -s -T wolf.png $U/echo", "outrider get -T wolf.png $U/echo", "json:body"),
    Task("send standard input", "echo wolf | curl -s --data-binary @- $U/echo",
         "echo wolf | outrider get -d @- $U/echo", "json:body"),
    Task("set a field", "curl -s -H 'X-Trace: 1' $U/echo | grep -o '\"X-Trace\",\"1\"'",
         "outrider get $U/echo X-Trace:1 | grep -o '\"X-Trace\",\"1\"'"),
    Task("log in by Basic", "curl -s -u me:pass $U/basic-auth/me/pass -w '%{http_code}' -o b",
         "outrider get -u me:pass $U/basic-auth/me/pass -w '%{http_code}' -o b"),
    Task("log in by Digest", "curl -s --digest -u me:pass $U/digest-auth/me/pass -w '%{http_code}' -o b",
         "outrider get -u me:pass $U/digest-auth/me/pass -w '%{http_code}' -o b"),
    Task("take a part", "curl -s -r 100-199 $U/file/1000", "outrider get -r 100-199 $U/file/1000"),
    Task("resume a download", "head -c 500 whole > f; curl -s -C - -o f $U/file/1000",
         "outrider download -s -o f $U/file/1000", "f"),
    Task("check a digest", "curl -so f $U/file/1000 && echo \"$(cat sum)  f\" | sha256sum -c --quiet",
         "outrider download -sf -o f --sha256 $(cat sum) $U/file/1000", "f"),
    Task("repeat what failed", "curl -s --retry 2 --retry-all-errors $U/json", "outrider get --retry 2 $U/json"),
    Task("follow an event stream",
         "curl -sN $U/events/2 | sed -n 's/^data: //p'", "outrider sse --no-reconnect $U/events/2 | jq -r .data"),
    Task("talk to a WebSocket", None, "echo wolf | outrider websocket ws${U#http}/websocket"),
]  # fmt: skip


Rows = List[Tuple[Task, Optional[float], float]]


def result(task: Task, done: "subprocess.CompletedProcess[str]", place: Path) -> object:
    """What both lines of a task must agree upon."""
    if task.result == "output":
        return done.stdout
    if task.result.startswith("json:"):
        # a space is + by the one, %20 by the other
        return urllib.parse.unquote_plus(json.loads(done.stdout)[task.result[5:]])
    return (place / task.result).read_bytes()


def measure(task: Task, line: str, environment: "dict[str, str]", runs: int, inputs: Path) -> "tuple[object, float]":
    """The result of a line and its median time in milliseconds."""
    times, found = [], None
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as place:
            shutil.copytree(inputs, place, dirs_exist_ok=True)
            began = time.perf_counter()
            done = subprocess.run(
                ["sh", "-c", line], cwd=place, env=environment, capture_output=True, text=True, errors="replace",
                timeout=SECONDS,
            )
            times.append(time.perf_counter() - began)
            try:
                found = result(task, done, Path(place))
            except (OSError, ValueError, KeyError) as problem:
                found = f"{problem!r}, status {done.returncode}: {done.stderr}"
    return found, statistics.median(times) * 1000


def prepare(inputs: Path, origin: str, environment: "dict[str, str]") -> None:
    (inputs / "wolf.png").write_text("howl")
    (inputs / "urls").write_text("".join(f"{origin}/bytes/{count}\n" for count in (5, 6, 7)))
    subprocess.run(["curl", "-s", "-o", inputs / "whole", f"{origin}/file/1000"], check=True)
    digest = subprocess.run(["sha256sum", inputs / "whole"], capture_output=True, check=True, text=True).stdout
    (inputs / "sum").write_text(digest.split()[0])


def totals(rows: Rows) -> str:
    both = [(task, curl, outrider) for task, curl, outrider in rows if task.curl is not None and curl is not None]
    theirs, ours = sum(len(task.curl or "") for task, *_ in both), sum(len(task.outrider) for task, *_ in both)
    return (
        f"{len(rows)} tasks. Of the {len(both)} that both can do, curl takes {theirs:,} characters and "
        f"{sum(curl for _, curl, _ in both):,.0f} ms, outrider {ours:,} characters and "
        f"{sum(outrider for *_, outrider in both):,.0f} ms."
    )


def figures(task: Task, curl: "float | None", outrider: float) -> "tuple[str, str]":
    """Characters and milliseconds, curl's first."""
    length = f"{len(task.curl) if task.curl else '–'} / {len(task.outrider)}"
    return length, f"{f'{curl:.0f}' if curl is not None else '–'} / {outrider:.0f}"


def markdown(rows: Rows) -> str:
    text = "| task | curl | outrider | characters | ms |\n| --- | --- | --- | ---: | ---: |\n"
    for task, curl, outrider in rows:
        lines = (f"`{line}`".replace("|", "\\|") if line else "not possible" for line in (task.curl, task.outrider))
        text += f"| {task.name} | {' | '.join([*lines, *figures(task, curl, outrider)])} |\n"
    return text


def write(rows: Rows) -> None:
    page = PAGE.read_text()
    head = page[: page.index(MARK) + len(MARK)]
    PAGE.write_text(f"{head}\n{totals(rows)}\n\n{markdown(rows)}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Thirty tasks of a shell, with curl and with Outrider.")
    parser.add_argument("--binary", type=Path, default=ROOT / ".build/release/outrider")
    parser.add_argument("--runs", type=int, default=5, help="of each line; the median counts")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    options = parser.parse_args()
    rows, wrong = [], []
    with tempfile.TemporaryDirectory() as scratch:
        inputs, tools = Path(scratch, "inputs"), Path(scratch, "tools")
        inputs.mkdir()
        tools.mkdir()
        (tools / "outrider").symlink_to(options.binary.resolve())
        command = [sys.executable, ROOT / "scripts/origin.py", "--port", "0", "--quiet"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            origin = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            environment = {
                "PATH": f"{tools}:{os.environ['PATH']}", "HOME": scratch, "U": origin, "LANG": "C.UTF-8",
                "OUTRIDER_SOCKET": f"{scratch}/socket",
            }  # fmt: skip
            prepare(inputs, origin, environment)
            subprocess.run([tools / "outrider", "get-socket"], env=environment, check=True, capture_output=True)
            try:
                for task in TASKS:
                    ours, spent = measure(task, task.outrider, environment, options.runs, inputs)
                    if task.curl is None:
                        rows.append((task, None, spent))
                        continue
                    theirs, curl = measure(task, task.curl, environment, options.runs, inputs)
                    rows.append((task, curl, spent))
                    if ours != theirs:
                        wrong.append(f"{task.name}: {theirs!r} by curl, {ours!r} by outrider")
            finally:
                subprocess.run([tools / "outrider", "stop"], env=environment, capture_output=True)
                server.terminate()
    for task, curl, outrider in rows:
        length, spent = figures(task, curl, outrider)
        print(f"{task.name:32} {length:>10} characters {spent:>10} ms")
    print(totals(rows))
    if options.write and not wrong:
        write(rows)
    for line in wrong:
        print(f"DIFFERENT: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
