#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Suspends, resumes and cancels requests in random orders, very many, on a running service, and holds it to its word.

    Benchmarks/schedules.py [--schedules N] [--minutes N] [--seed N] [--first N] [--together N] [--kinds KIND,…]

A schedule is one request (plain, streamed, of an event stream, to a file, with a body, with a password, in a session
with limits), and up to eight things that are done to it. Each must end exactly once, tell nothing after its end, be
what it should be if it ended well, and leave nothing behind: descriptors and memory of the service are compared at the
end with what they were after the first thousand.

Seed and number make a schedule: what was interrupted goes on with `--first`, and one that failed is tried alone with
`--first NUMBER --schedules 1`. $OUTRIDER is the binary; without it the release build, or the debug build. Prints a line
at the start, every 10,000 schedules and at the end; fails with status 1 when a promise was broken.
"""

import argparse
import asyncio
import os
import pathlib
import random
import sys
import tempfile
import time

import schedule_server
from schedule_kinds import KINDS, SESSIONS
from schedule_service import Service

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Run:
    """The schedules of one run, so many at a time."""

    def __init__(self, service, url, options, directory):
        self.service, self.url, self.options, self.directory = service, url, options, directory
        self.began, self.early = time.monotonic(), None
        self.next, self.end = options.first, options.first + options.schedules
        self.kinds = [KINDS[name] for name in options.kinds.split(",")]

    def goes_on(self):
        in_time = time.monotonic() - self.began < self.options.minutes * 60
        return self.next < self.end and in_time and not self.service.broken

    async def work(self):
        while self.goes_on():
            number, self.next = self.next, self.next + 1
            chance = random.Random(f"{self.options.seed}/{number}")
            kind = chance.choice(self.kinds)
            where = f"schedule {number} ({kind.__name__})"
            try:
                await kind(self.service, self.url, chance, self.directory / str(number), where)
            except Exception as problem:
                self.service.broken.append(f"{where}: {problem!r}")
            done = self.next - self.options.first
            if self.early is None and done >= min(1000, self.options.schedules // 10):
                self.early = self.service.use()
            if done % 10_000 == 0:
                self.say(f"{done} of {self.options.schedules}")

    def say(self, what):
        memory, descriptors = self.service.use()
        seconds = time.monotonic() - self.began
        print(f"{what}: {seconds:.0f} s, memory {memory >> 10} KiB, descriptors {descriptors}", flush=True)


def binary():
    builds = [ROOT / f".build/{kind}/outrider" for kind in ("release", "debug")]
    return os.environ.get("OUTRIDER") or next(str(one) for one in builds if one.exists())


async def check(run, together):
    """What must be so when all is over."""
    service = run.service
    await asyncio.sleep(0.2)
    running = (await service.call("server.stats", {}))["result"]["requests"]["running"]
    if running:
        service.broken.append(f"{running} requests are still running")
    for name in SESSIONS:
        counts = (await service.call("session.get", {"session": name}))["result"]["requests"]
        if any(counts.values()):
            service.broken.append(f"session {name} still has {counts}")
    left = list(run.directory.iterdir())
    if left:
        service.broken.append(f"{len(left)} files are left: {left[:5]}")
    late, early = service.use(), run.early or service.use()
    if late[1] > early[1] + together or late[0] > early[0] + (16 << 20):
        service.broken.append(f"grew from {early} to {late}")
    done, seconds = run.next - run.options.first, time.monotonic() - run.began
    print(f"{done} schedules, {len(service.broken)} broken promises, {seconds:.0f} s; "
          f"memory {early[0] >> 10} to {late[0] >> 10} KiB, descriptors {early[1]} to {late[1]}; "
          f"seed {run.options.seed}, next {run.next}")
    for one in service.broken[:10]:
        print("  ", one)


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--together", type=int, default=32)
    parser.add_argument("--kinds", default=",".join(KINDS), help="of " + ", ".join(KINDS))
    options = parser.parse_args()
    random.seed(options.seed)
    server = await asyncio.start_server(schedule_server.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    service = Service(binary())
    await service.open()
    for name, settings in SESSIONS.items():
        await service.done("session.create", {"name": name, **settings(url)})
    with tempfile.TemporaryDirectory() as directory:
        run = Run(service, url, options, pathlib.Path(directory))
        run.say("start")
        await asyncio.gather(*(run.work() for _ in range(options.together)))
        await check(run, options.together)
    service.close()
    return 1 if service.broken else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
