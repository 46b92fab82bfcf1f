#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Writes the order in which the linker places the functions of small requests.

    Benchmarks/layout.py [--write Benchmarks/hot-functions.txt] [--requests 256]

The code of a single request is scattered over the binary, so that a request alone finds little of its code in a cache.
Counts the calls of requests (instructions.py) with $OUTRIDER, or the release build, and places each function behind its
most frequent caller, as long as the code stays dense: Ottoni and Maher, "Optimizing Function Placement for Large-Scale
Data-Center Applications" (2017), section 3. The next build from nothing uses the file.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys

import instructions

# what users send most; a function that only other kinds need stays where it is
KINDS = ("plain", "adapter", "events", "validator", "retry", "played", "https64", "http2", "hit")
MOST_BYTES = 1 << 20
"""The longest cluster."""
MOST_DILUTION = 8
"""How much less dense a cluster may become by another behind it."""
FEWEST = 10
"""The caller has at least this part of all calls."""
HEAD = ("SPDX-License-Identifier: Apache-2.0", "SPDX-FileCopyrightText: The Outrider authors",
        "The order of functions in the release. Written by Benchmarks/layout.py.")


def calls(path):
    """Calls, by caller and callee."""
    counts = collections.Counter()
    for caller, callee, number, _ in instructions.lines_of(path):
        if callee is not None:
            counts[caller, callee] += number
    return counts


def sizes(binary):
    """The bytes of each function."""
    rows = subprocess.run(("nm", "-S", "--defined-only", binary), check=True, capture_output=True, text=True).stdout
    found = {}
    for row in rows.splitlines():
        parts = row.split()
        if len(parts) == 4 and parts[2] in "tTwW":
            found[parts[3]] = int(parts[1], 16)
    return found


class Cluster:
    """Functions that stand side by side."""

    def __init__(self, name, size):
        self.names, self.size, self.weight = [name], size, 0

    @property
    def density(self):
        return self.weight / max(self.size, 1)


def ordered(counts, size):
    """The functions of the calls, in their order."""
    clusters = {name: Cluster(name, size[name]) for pair in counts for name in pair}
    callers = {}
    for (caller, callee), count in counts.items():
        clusters[callee].weight += count
        if caller != callee and count > callers.get(callee, ("", 0))[1]:
            callers[callee] = caller, count
    weights = {name: cluster.weight for name, cluster in clusters.items()}
    for name in sorted(callers, key=lambda name: (-weights[name] / max(size[name], 1), name)):
        caller, count = callers[name]
        into, own = clusters[caller], clusters[name]
        if into is own or count * FEWEST <= weights[name] or into.size + own.size > MOST_BYTES:
            continue
        if (into.weight + own.weight) / (into.size + own.size) < into.density / MOST_DILUTION:
            continue
        into.names += own.names
        into.size += own.size
        into.weight += own.weight
        clusters.update(dict.fromkeys(own.names, into))
    distinct = {id(cluster): cluster for cluster in clusters.values()}.values()
    dense = sorted(distinct, key=lambda cluster: (-cluster.density, cluster.names))
    return [name for cluster in dense for name in cluster.names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", metavar="FILE", help="the file for the linker; else only counts are printed")
    parser.add_argument("--requests", type=int, default=256)
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        raise SystemExit("layout: valgrind is not installed, no call can be counted (apt-get install valgrind)")
    binary = os.environ.get("OUTRIDER") or str(instructions.ROOT / ".build/release/outrider")
    size, counts = sizes(binary), collections.Counter()
    with instructions.measuring(KINDS) as measured:
        for kind in KINDS:
            for (caller, callee), number in measured(kind, options.requests, calls).items():
                # at least in every second request; parts of other libraries are not ours to place
                if number >= 0.5 and caller in size and callee in size:
                    counts[caller, callee] += number
    names = [name for name in ordered(counts, size) if re.fullmatch(r"[A-Za-z_$][\w$.]*", name)]
    if options.write:
        with open(options.write, "w") as file:
            file.writelines(f"# {line}\n" for line in HEAD)
            file.writelines(f"{name}\n" for name in names)
    pages = sum(size[name] for name in names) / 4096
    print(f"{len(names)} functions on {pages:,.0f} pages, {len(counts)} callers with their callees")


if __name__ == "__main__":
    sys.exit(main())
