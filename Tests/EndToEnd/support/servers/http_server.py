# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What servers on loopback that speak HTTP by hand have in common: a thread per connection, and notes of what arrived.

class Slow(Listening):
    def serve(self, connection, number):      # closed by the caller
        ...
        self.note(self.arrived, path)

with Slow() as server:
    server.url("/x")
    server.wait_for("/x")
"""

import contextlib
import socket
import threading

from listeners import shut


class Listening:
    """Listens while it is entered; at the end every connection is cut."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.changed = threading.Condition()
        self.arrived, self.connections, self.sockets = [], 0, set()
        self.ended = threading.Event()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        shut(self.listener)
        for one in list(self.sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def url(self, path, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def note(self, where, path):
        with self.changed:
            where.append(path)
            self.changed.notify_all()

    def wait_for(self, path, count=1, seconds=30.0):
        """Until so many requests for the path have arrived."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.arrived.count(path) >= count, seconds), f"{path} never arrived"

    def accept(self):
        while not self.ended.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                # one client that went away again, or no descriptor for now, is not the end of the server
                self.ended.wait(0.01)
                continue
            self.connections += 1
            self.sockets.add(connection)
            self.begin(connection, self.connections)

    def begin(self, connection, number):
        while not self.ended.is_set():
            # hundreds of processes may leave no thread for a moment
            with contextlib.suppress(RuntimeError):
                return threading.Thread(target=self.hold, args=(connection, number), daemon=True).start()
            self.ended.wait(0.05)

    def hold(self, connection, number):
        with connection, contextlib.suppress(OSError, EOFError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.serve(connection, number)
        self.sockets.discard(connection)
