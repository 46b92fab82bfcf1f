# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What the tests of caches share."""

import pytest
from cache_server import CacheServer


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Where named caches go."""
    monkeypatch.setenv("OUTRIDER_CACHES", str(tmp_path / "caches"))
    return tmp_path / "caches"


@pytest.fixture(scope="module")
def server():
    server = CacheServer()
    yield server
    server.close()
