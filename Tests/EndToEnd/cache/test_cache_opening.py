# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Stores on disk are opened by a thread that carries no event loop: a disk that hangs keeps no other client waiting."""

import contract
import pytest
from cache_server import Reply
from request_client import result
from syscall_faults import needs_strace

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

# the waits of an event loop, and the first files of a store
TRACED = "trace=openat,epoll_wait,epoll_pwait,epoll_pwait2"


def calls(url):
    """Calls that are the first to need the store `docs`."""
    return {
        "data.send": [("data.send", {"url": url, "cache": "docs"})],
        "data.start": [("data.start", {"url": url, "cache": "docs"})],
        "of a session": [
            ("session.create", {"name": "one", "cache": {"name": "docs"}}),
            ("data.send", {"url": url, "session": "one"}),
        ],
        "cache.stats": [("cache.stats", {"cache": "docs"})],
        "cache.list": [("cache.list", {"cache": "docs"})],
        "cache.delete": [("cache.delete", {"cache": "docs", "all": True})],
        "cache.verify": [("cache.verify", {"cache": "docs"})],
    }  # fmt: skip


@needs_strace
@pytest.mark.parametrize("use", calls(""))
def test_a_store_is_opened_away_from_the_event_loop(server, folder, tmp_path, use):
    notes = tmp_path / "notes"
    if use.startswith("cache."):
        # calls that read open no cache that does not exist
        (folder / "docs").mkdir(mode=0o700, parents=True)
    under = ("strace", "-f", "-qq", "-o", str(notes), "-e", TRACED, "-e", "signal=none")
    with contract.Wire(under=under) as wire:
        for method, params in calls(server.script(Reply(b"x"))[0])[use]:
            result(wire.call(method, params, 30))
    lines = [line.split(None, 1) for line in notes.read_text().splitlines()]
    loops = {thread for thread, call in lines if call.startswith("epoll_")}
    opening = {thread for thread, call in lines if call.startswith("openat(") and f"{folder}/docs/secret" in call}
    assert loops and opening and not loops & opening
