# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What a service holds before and after a soak, and how much of that is too much."""

import os
import re

MOST_MIB, MOST_DESCRIPTORS, MOST_MIB_OF_A_MILLION = 16, 8, 8


class State:
    """What a service holds: MiB, descriptors, threads, and requests so far."""

    def __init__(self, process, one):
        with open(f"/proc/{process.pid}/status") as status:
            said = status.read()
        self.memory = int(re.search(r"VmRSS:\s+(\d+)", said).group(1)) / 1024
        self.threads = int(re.search(r"Threads:\s+(\d+)", said).group(1))
        self.descriptors = len(os.listdir(f"/proc/{process.pid}/fd"))
        stats = one.stats()
        self.requests = stats["requests"]["total"]
        # the client that asks is connected
        self.left = {"requests": stats["requests"]["running"], "clients": stats["connections"] - 1,
                     "calls": stats["calls"]["running"] - 1, "subscriptions": stats["events"]["subscriptions"],
                     "bytes": stats["memory"]["held"]}

    def __str__(self):
        held = f"{self.memory:.1f} MiB, {self.descriptors} descriptors, {self.threads} threads"
        return f"{held}, {self.requests:,} requests"


def judged(before, middle, after):
    """The lines that compare, and whether all is well."""
    grown, more = after.memory - before.memory, after.descriptors - before.descriptors
    requests = max(1, after.requests - middle.requests)
    slope = (after.memory - middle.memory) / requests * 1e6
    left = ", ".join(f"{count} {name}" for name, count in after.left.items() if count) or "nothing"
    lines = [f"before: {before}", f"middle: {middle}", f"after:  {after}",
             f"grown by {grown:+.1f} MiB, {more:+} descriptors; {left} left; "
             f"{slope:+.2f} MiB for a million requests, by the last {requests:,}"]
    # so few requests say nothing of a million
    is_flat = requests < 200_000 or slope <= MOST_MIB_OF_A_MILLION
    return lines, (grown <= MOST_MIB and more <= MOST_DESCRIPTORS and is_flat and left == "nothing"
                   and after.threads <= before.threads + 2)
