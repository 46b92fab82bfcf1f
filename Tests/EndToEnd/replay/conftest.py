# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What the tests of cassettes share."""

import pytest
from tape_server import TapeServer


@pytest.fixture
def server():
    with TapeServer() as server:
        yield server


@pytest.fixture
def tape(tmp_path):
    return str(tmp_path / "a.har")
