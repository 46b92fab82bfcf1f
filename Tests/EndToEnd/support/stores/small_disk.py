# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A disk of a given size, for a command: a file system in memory in a mount namespace."""

import os
import shlex
import subprocess

import pytest


def on_small_disk(place, size):
    """The words before a command, for which that directory is a disk of so many KiB."""
    mount = f'mount -t tmpfs -o size={size}k tmpfs {shlex.quote(str(place))} && exec "$@"'
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    under = ["unshare", *user, "--mount", "--", "sh", "-c", mount, "sh"]
    if subprocess.run([*under, "true"], capture_output=True).returncode:
        pytest.skip("no small disk can be made here: namespaces are not permitted")
    return under
