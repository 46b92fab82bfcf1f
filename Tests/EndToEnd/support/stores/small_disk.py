# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Disks for a command, in a mount namespace: a small one, and one that is read-only."""

import os
import shlex
import subprocess

import pytest


def on_small_disk(place, size):
    """The words before a command, for which that directory is a disk of so many KiB."""
    return _mounting(f"mount -t tmpfs -o size={size}k tmpfs {shlex.quote(str(place))}")


def on_read_only_disk(place):
    """The words before a command that may only read that directory and what is in it."""
    place = shlex.quote(str(place))
    return _mounting(f"mount --bind {place} {place} && mount -o remount,bind,ro {place}")


def make_writable(process, place):
    """The process of a command behind `on_read_only_disk` may write from now on."""
    _inside(process, "mount", "-o", "remount,bind,rw", str(place))


def unmount(process, place):
    """The disk of a command behind `on_small_disk` goes away under its open files, as at a logout."""
    _inside(process, "umount", "--lazy", str(place))


def _inside(process, *words):
    user = [] if os.getuid() == 0 else ["--user", "--preserve-credentials"]
    subprocess.run(["nsenter", f"--target={process.pid}", *user, "--mount", *words], check=True)


def _mounting(mount):
    user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    under = ["unshare", *user, "--mount", "--", "sh", "-c", f'{mount} && exec "$@"', "sh"]
    if subprocess.run([*under, "true"], capture_output=True).returncode:
        pytest.skip("no disk can be made here: namespaces are not permitted")
    return under
