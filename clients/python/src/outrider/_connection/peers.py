# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Which service is trusted: the rule of the ``outrider`` command, before the first byte is sent.

At the default place, the directory of the socket and its parent belong to this user or to root, and other users cannot
write to them. Everywhere, the process that listens runs as this user, or as ``$OUTRIDER_PEER_UID``.
"""

from __future__ import annotations

import os
import stat
import sys
from _socket import AF_UNIX, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET
from _socket import socket as Socket

from .._protocol.exceptions import ServerNotFound


def connect(path: str, is_default: bool) -> Socket:
    """A connection to the service at ``path``.

    Raises :class:`OSError` if nothing listens there, and :class:`~outrider.ServerNotFound` if another user could have
    put the socket there, or runs the process that listens.
    """
    if is_default:
        check_directory(os.path.dirname(path))
    stream = Socket(AF_UNIX, SOCK_STREAM)
    try:
        stream.connect(path)
        check_peer(stream, path)
    except BaseException:
        stream.close()
        raise
    return stream


def check_directory(directory: str) -> None:
    """Refuses a directory in which another user could place a socket. A missing directory passes: nothing listens
    there."""
    try:
        status = os.lstat(directory)
    except OSError:
        return
    parent = os.path.dirname(directory)
    above = os.stat(parent)
    ours = (os.geteuid(), 0)
    fault = ""
    if status.st_uid not in ours:
        fault = f"{directory} belongs to user {status.st_uid}, not to you"
    elif not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o022:
        fault = f"{directory} must be your directory, and not writable by other users"
    elif above.st_uid not in ours:
        fault = f"{parent} belongs to user {above.st_uid}, not to you"
    elif above.st_mode & 0o002 and not above.st_mode & stat.S_ISVTX:
        fault = f"{parent} can be written to by other users"
    if fault:
        raise ServerNotFound(f"{fault}; remove it, or set OUTRIDER_SOCKET to a path of your own")


def check_peer(stream: Socket, path: str) -> None:
    """Refuses a service that another user runs."""
    credentials = stream.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)
    user = int.from_bytes(credentials[4:8], sys.byteorder)
    given = os.environ.get("OUTRIDER_PEER_UID") or str(os.geteuid())
    if str(user) != given:
        raise ServerNotFound(
            f"the service at {path} is run by user {user}, not by user {given};"
            f" if that is intended, set OUTRIDER_PEER_UID={user}"
        )


def is_hung_up(stream: Socket) -> bool:
    """Whether the other end of a connection is closed, though bytes of it may still be unread."""
    from select import POLLHUP, poll

    waiting = poll()
    waiting.register(stream, POLLHUP)
    return bool(waiting.poll(0))
