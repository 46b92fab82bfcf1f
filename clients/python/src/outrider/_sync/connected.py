# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The connection of a blocking client: opened when first needed, and again after its end or in a forked child."""

from __future__ import annotations

import os
from _thread import allocate_lock, get_ident

from .._connection.blocking import Connection
from .._connection.discovery import Address, end, reach
from .._connection.inbox import Inbox
from .._connection.waiters import StartTurn, Turn
from .._connection.wire import UPLOADED
from .._protocol.exceptions import ServerGone
from .._protocol.hints import Any, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .events import ClientInbox


class Connected(Address):
    """The address of the service, and the open connection.

    Many threads may use the same client, also after a fork: a child opens a connection of its own. After the end of
    the service, calls in flight raise :class:`~outrider.ServerGone`, and the next call connects again.
    """

    def __init__(
        self, socket: str | os.PathLike[str] | None, stdio: bool, command: Sequence[str] | None, spawn: bool
    ) -> None:
        super().__init__(socket, stdio, command, spawn)
        self._connection: Connection | None = None
        # the last one to a service that is stopping
        self._retired: Connection | None = None
        self._subscriptions: ClientInbox | None = None
        self._opening = allocate_lock()
        self._opener = 0

    def _retire(self, connection: Connection) -> None:
        """The service takes no more calls, so the next call goes to the next service. Calls that run still end."""
        if self._connection is connection and self._child is None:
            self._connection, last = None, self._retired
            self._retired = connection
            if last is not None and last is not connection:
                last.close()

    def _here(self) -> Connection | None:
        """The connection of this process, if it has not ended as far as is known."""
        connection = self._connection
        return connection if connection and connection.dead is None and connection.pid == os.getpid() else None

    def _live(self) -> Connection:
        # what belongs to a connection, such as a session, must not be named on the next one
        connection = self._here()
        return self._open() if connection is None or connection.has_ended() else connection

    def _turn(self, most: int = 1) -> Turn:
        """A place for a request with functions, or several; functions themselves wait for none."""
        return Turn(self._live(), most)

    def _start_turn(self) -> Turn:
        """A place for the start of a request with functions; functions themselves wait for none."""
        return StartTurn(self._live())

    def _feed(self) -> Turn:
        """A place for a request whose body is written piece by piece. Functions, and requests that such a body makes,
        wait for none."""
        connection = self._live()
        return Turn(connection, 1, connection.feeds, UPLOADED)

    def _open(self) -> Connection:
        pid = os.getpid()
        if self._pid != pid:
            # Another thread of the parent may have held the lock when it forked.
            self._opening = allocate_lock()
            self._opener = 0
            self._pid = pid
        me = get_ident()
        if self._opener == me:
            raise RuntimeError("this client is connecting: in a signal handler or a finalizer, use a client of its own")
        with self._opening:
            self._opener = me
            try:
                connection = self._reach(pid)
            finally:
                self._opener = 0
        if self._subscriptions is not None:
            self._subscriptions.renew(connection)
        return connection

    def _reach(self, pid: int) -> Connection:
        if self._closed:
            raise ServerGone("this client is closed")
        old = self._connection
        if old is not None:
            if old.pid != pid:
                old.abandon()
                self._child = None
            elif old.dead is None:
                return old
            else:
                old.close()
                if self._child is not None:
                    raise ServerGone(f"the service that this client started has ended: {old.dead}")
        stream, name, self._child = reach(self._socket, self._stdio, self._command, self._spawn)
        inbox = Inbox() if self._subscriptions is None else self._subscriptions
        self._connection = connection = Connection(stream, inbox, name)
        if self._subscriptions is not None:
            self._subscriptions.serve(connection)
        return connection

    def _socket_path(self) -> str | None:
        """The path of the service's socket, for another connection; None on stdio."""
        return None if self._stdio or self._command or self._connection is None else self._connection.name

    def _inbox(self) -> ClientInbox:
        if self._subscriptions is None:
            from .events import ClientInbox

            with self._opening:
                if self._subscriptions is None:
                    self._subscriptions = ClientInbox()
            if self._connection is not None:
                self._connection.inbox = self._subscriptions
        return self._subscriptions

    def _leave(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        """Makes calls for a resource that was dropped, without waiting for their results."""
        if self._connection is not None:
            self._connection.post(calls)

    def close(self) -> None:
        """Ends the connection, and the service if this client started the service. Harmless when done twice."""
        self._closed = True
        connections, child = (self._retired, self._connection), self._child
        self._retired = self._connection = self._child = None
        for connection in connections:
            if connection is not None:
                if connection.pid == os.getpid():
                    connection.close()
                else:
                    connection.abandon()
                    child = None
        if child is not None:
            end(child)
