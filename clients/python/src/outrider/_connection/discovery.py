# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""How to find, reach and start the service, and which service is trusted.

The path of the socket follows the same rules as in the service itself:

1. ``$OUTRIDER_SOCKET``
2. ``$XDG_RUNTIME_DIR/outrider/outrider.sock``, unless that directory is another user's (``su`` keeps the variable)
3. ``/run/user/UID/outrider/outrider.sock``, when ``/run/user/UID`` is ours (launchers strip the variable)
4. ``/tmp/outrider-UID/outrider.sock``

If no service listens there, ``outrider get-socket`` runs: the command starts the service under a lock, waits until the
service listens, and prints the path. A service that is merely slow is never killed and never started twice.

Every transport is a connected stream socket. A service on stdio gets an end of a socket pair as its stdin and stdout,
so that everything above this file knows a single kind of connection.

The service is trusted by the rule of the ``outrider`` command, before the first byte is sent. At the default place, the
directory of the socket and its parent belong to this user or to root, and other users cannot write to them. Everywhere,
the process that listens runs as this user, or as ``$OUTRIDER_PEER_UID``.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from _socket import AF_UNIX, SO_PEERCRED, SOCK_STREAM, SOL_SOCKET
from _socket import socket as Socket

from .._protocol.exceptions import ProtocolError, ServerNotFound
from .._protocol.frames import PROTOCOL, decode
from .._protocol.hints import IO, Popen, Sequence
from .waiters import ON_GREENLETS

START_SECONDS = 30.0
"""How long ``outrider get-socket`` may take. The command waits for the service's own sign, so this limit is a last
resort."""

PAUSES = (0.0, 0.0, 0.008, 0.027, 0.064, 0.125)
"""Seconds before further connections for an unsent call: a service that ends or is killed accepts connections for some
milliseconds more."""

_PATH_BYTES = 107


class Address:
    """Where a client finds the service."""

    def __init__(
        self, socket: str | os.PathLike[str] | None, stdio: bool, command: Sequence[str] | None, spawn: bool
    ) -> None:
        self._socket = None if socket is None else os.fspath(socket)
        self._command = None if command is None else list(command)
        self._stdio = stdio
        self._spawn = spawn
        self._child: Popen[bytes] | None = None
        self._pid = os.getpid()
        self._closed = False
        # the started requests that were dropped while they ran
        self._dropped: list[str] = []


def socket_path() -> tuple[str, bool]:
    """The path of the service's socket, and whether its directory must belong to this user."""
    given = os.environ.get("OUTRIDER_SOCKET")
    if given:
        return given, False
    user = os.getuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and not _is_foreign(runtime, user):
        return runtime + "/outrider/outrider.sock", True
    runtime = f"/run/user/{user}"
    try:
        status = os.lstat(runtime)
        if stat.S_ISDIR(status.st_mode) and status.st_uid == user:
            return runtime + "/outrider/outrider.sock", True
    except OSError:
        pass
    return f"/tmp/outrider-{user}/outrider.sock", True


def _is_foreign(directory: str, user: int) -> bool:
    """Whether another user has the directory, or this user may not enter it."""
    try:
        return os.stat(directory).st_uid not in (user, 0) or not os.access(directory, os.X_OK)
    except OSError as problem:
        return problem.errno != errno.ENOENT


def check_path(path: str) -> None:
    """Refuses a path that the kernel would cut off."""
    length = len(os.fsencode(path))
    if length > _PATH_BYTES:
        raise ServerNotFound(
            f"the socket path {path} has {length} bytes, more than the {_PATH_BYTES} that a Unix socket can have;"
            " set OUTRIDER_SOCKET to a shorter one"
        )


def discover(spawn: bool = True) -> tuple[Socket, str]:
    """A connection to the user's service, started if need be, and the path of its socket."""
    path, ours = socket_path()
    check_path(path)
    stream, why = _tried(path, ours)
    if not spawn and stream is None:
        raise ServerNotFound(f"no service answers at {path}: {why}")
    # a service that the command finds may end before this client has connected
    for _ in range(2):
        if stream is None:
            path = start(path)
            stream, why = _tried(path, ours)
    if stream is None:
        raise ServerNotFound(f"the service at {path} was started but does not answer: {why}")
    return stream, path


def _tried(path: str, is_default: bool) -> tuple[Socket | None, str | None]:
    """A connection, or why nothing listens there."""
    try:
        return connect(path, is_default), None
    except ServerNotFound:
        raise
    except OSError as problem:
        return None, problem.strerror


def binary() -> str | None:
    """The executable: ``$OUTRIDER_BIN``, else that of the virtual environment, else the first on ``PATH``, else
    ``~/.local/bin/outrider``, else that beside the interpreter."""
    given = os.environ.get("OUTRIDER_BIN")
    if given:
        return given
    directories = [*os.environ.get("PATH", os.defpath).split(os.pathsep), os.path.expanduser("~/.local/bin")]
    # a wheel may have brought one, of the same version as this client; PATH need not name an interpreter's directory
    own = os.path.join(sys.prefix, "bin")
    directories.insert(0 if sys.prefix != sys.base_prefix else len(directories), own)
    for directory in directories:
        candidate = os.path.join(directory, "outrider")
        if directory and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def _required_binary(what: str) -> str:
    found = binary()
    if found is None:
        raise ServerNotFound(
            f"{what}, and there is no outrider executable to start one;"
            " put it on PATH or into ~/.local/bin, or set OUTRIDER_BIN to its path"
        )
    return found


def start(path: str) -> str:
    """Runs ``outrider get-socket``, which starts the service if need be. Gives the path of its socket."""
    import subprocess

    command = [_required_binary(f"no service answers at {path}"), "get-socket"]
    # Files in memory and not pipes: the service may hold them open for as long as it lives.
    with open(os.memfd_create("stdout"), "w+b") as out, open(os.memfd_create("stderr"), "w+b") as err:
        try:
            ended = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=START_SECONDS, check=False
            )
        except OSError as problem:
            raise ServerNotFound(f"{command[0]} cannot be run: {problem.strerror}") from None
        except subprocess.TimeoutExpired:
            raise ServerNotFound(
                f"{' '.join(command)} did not end within {START_SECONDS:g} seconds; run it by hand to see why"
            ) from None
        printed, said = _text_of(out), _text_of(err)
    if ended.returncode != 0 or not printed:
        raise ServerNotFound(f"{' '.join(command)} failed: {said or f'exit status {ended.returncode}'}")
    return _announced(printed.splitlines()[-1])


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(65536).decode(errors="replace").strip()


def _announced(line: str) -> str:
    """The path in the output of ``get-socket``, if that service speaks our protocol."""
    try:
        told = decode(line)
    except ValueError:
        told = None
    if not isinstance(told, dict) or not isinstance(told.get("socket"), str):
        raise ProtocolError(f"outrider get-socket printed {line[:200]!r} instead of one JSON object with socket")
    if told.get("protocol", PROTOCOL) != PROTOCOL:
        raise ProtocolError(
            f"the service speaks protocol {told['protocol']} and this client protocol {PROTOCOL};"
            " install the client that came with the service"
        )
    return told["socket"]  # type: ignore[no-any-return]


def spawn(command: Sequence[str]) -> tuple[Socket, Popen[bytes]]:
    """Starts ``command`` with an end of a socket pair as stdin and stdout; gives the other end."""
    import subprocess
    from _socket import socketpair

    ours, theirs = socketpair(AF_UNIX, SOCK_STREAM)
    try:
        child = subprocess.Popen(list(command), stdin=theirs.fileno(), stdout=theirs.fileno())
    except OSError as problem:
        ours.close()
        raise ServerNotFound(f"{command[0]} cannot be run: {problem.strerror}") from None
    finally:
        theirs.close()
    return _kind()(fileno=ours.detach()), child


def end(child: Popen[bytes]) -> None:
    """Waits for a client's own service after the end of its input; kills the service only after a timeout."""
    import subprocess

    for last_resort in (child.terminate, child.kill, child.kill):
        try:
            child.wait(2.0)
            return
        except subprocess.TimeoutExpired:
            last_resort()


def reach(
    socket: str | None, stdio: bool, command: Sequence[str] | None, spawn_service: bool
) -> tuple[Socket, str, Popen[bytes] | None]:
    """The connection that a client's arguments ask for, its name for messages, and the child process, if any."""
    if stdio or command is not None:
        needed = "stdio=True needs the service's executable"
        words = [_required_binary(needed), "serve", "--stdio"] if command is None else list(command)
        stream, child = spawn(words)
        return stream, " ".join(words), child
    if socket is None:
        return (*discover(spawn_service), None)
    check_path(socket)
    found, why = _tried(socket, False)
    if found is None:
        raise ServerNotFound(f"no service answers at {socket}: {why}")
    return found, socket, None


def connect(path: str, is_default: bool) -> Socket:
    """A connection to the service at ``path``.

    Raises :class:`OSError` if nothing listens there, and :class:`~outrider.ServerNotFound` if another user could have
    put the socket there, or runs the process that listens.
    """
    if is_default:
        check_directory(os.path.dirname(path))
    stream = _kind()(AF_UNIX, SOCK_STREAM)
    try:
        stream.connect(path)
        check_peer(stream, path)
    except BaseException:
        stream.close()
        raise
    return stream


def _kind() -> type[Socket]:
    """The class of sockets: gevent replaces ``socket.socket``, which costs too much to import, and not this one.

    A read that lets other greenlets run needs locks that do so, too."""
    if not ON_GREENLETS:
        return Socket
    from .greenlets import Yielding

    return Yielding


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
    import select

    monkey = sys.modules.get("gevent.monkey")
    # the poll of gevent finds nothing but bytes, and lets other greenlets run
    poll = select.poll if monkey is None else monkey.get_original("select", "poll")
    waiting = poll()
    waiting.register(stream, select.POLLHUP)
    return bool(waiting.poll(0))
