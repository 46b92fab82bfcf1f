# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The short form of `hpack 10000000` in Tests/Differential: our HPACK decodes as that of nghttp2, or both refuse."""

import os
import subprocess

import contract
import pytest

HEADER = "/usr/include/nghttp2/nghttp2.h"
REASON = "libnghttp2-dev is not here; scripts/setup --test installs it"
pytestmark = pytest.mark.skipif(not os.path.exists(HEADER), reason=REASON)


def test_blocks_are_decoded_as_nghttp2_decodes_them():
    command = [
        "swift", "run", "-c", "release", "--package-path", "Tests/Differential/hpack", "--scratch-path", ".build/hpack",
        "hpack", "100000",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=contract.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0 and " equal; " in done.stdout, done.stdout[-2000:]
