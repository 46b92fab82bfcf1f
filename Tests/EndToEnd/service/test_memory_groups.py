# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The budget for large payloads under the memory limit of a control group."""

import contextlib
import os
import pathlib

import contract
import pytest
from budget import MIB

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def hierarchies():
    """The group of this process and its root, and the name of the file with a limit, for both versions."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield pathlib.Path("/sys/fs/cgroup/memory"), path, "memory.limit_in_bytes"
        elif number == "0":
            yield pathlib.Path("/sys/fs/cgroup"), path, "memory.max"


@contextlib.contextmanager
def limited(folder, name, limit):
    folder.mkdir()
    try:
        (folder / name).write_text(str(limit))
        yield folder
    finally:
        folder.rmdir()


@pytest.fixture
def groups():
    """Makes a group and one within it, with limits; gives the inner one."""
    with contextlib.ExitStack() as stack:

        def make(outer, inner):
            for root, path, name in hierarchies():
                for parent in (root / path[1:], root):
                    with contextlib.suppress(OSError):
                        folder = stack.enter_context(limited(parent / f"outrider-{os.getpid()}", name, outer))
                        return stack.enter_context(limited(folder / "inner", name, inner))
            pytest.skip("no control group with a limit of memory can be made here")

        yield make


@pytest.mark.parametrize(("outer", "inner", "budget"), [(256, 1024, 32), (1024, 160, 20), (1024, 120, 16)])
def test_the_least_limit_of_the_groups_counts(groups, outer, inner, budget):
    group = groups(outer * MIB, inner * MIB)
    into = ("sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh")
    with contract.Wire(under=into) as wire:
        assert wire.call("server.info")["result"]["limits"]["memoryBytes"] == budget * MIB
    with contract.Wire(under=into, arguments=("--memory", str(48 * MIB))) as wire:
        assert wire.call("server.info")["result"]["limits"]["memoryBytes"] == 48 * MIB
