# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Subscriptions of the blocking client: the events of requests, in order."""

from __future__ import annotations

import os
from _thread import allocate_lock, start_new_thread

from .._connection.blocking import Connection
from .._protocol.exceptions import HandleError, OutriderError, ServerGone
from .._protocol.frames import encode, unpack
from .._protocol.hints import Any, Callable
from .._protocol.models import Event
from .._resources.events import SUBSCRIBING, Sieve, Subscribed, ended, interrupted, wish
from .calls import Calls
from .events import EventStream, complain


class Watch(Subscribed, EventStream):
    """The events of the client's requests, in order::

        with client.watch("request.finished", "request.retrying", timeout=5) as events:
            client.many(urls)
            for event in events:
                print(event.topic, event.request, event.detail)

        client.watch("attempt.*", function=print)       # in a thread of its own, until it is closed

    ``events.topics`` lists the topics; ``*`` stands for any run of characters, ``session=`` or ``request=``
    narrows them. ``event.detail`` holds the details. At most ``queue=1000`` events wait in the service, and as
    many here; ``dropped`` counts the events that were dropped, the oldest ones unless ``drop="newest"``. The iteration
    ends when nothing came for ``timeout`` seconds, and with :class:`~outrider.ServerGone` when the connection ends.

    With a function, the end of the connection is a ``RuntimeWarning``, and the next call of the client subscribes
    again. A forked child watches nothing.
    """

    def __init__(
        self, client: Calls, topics: tuple[str, ...], function: Callable[[Event], object] | None = None, *,
        timeout: float | None = None, **wishes: Any,
    ) -> None:
        self._params = wish(topics, **wishes)
        self._client = client
        self._sieve = Sieve()
        self._function = function
        self._lock = allocate_lock()
        self._runs = False
        connection = client._live()
        super().__init__(connection, client._inbox(), (), timeout, self._params["queue"])
        try:
            self._subscribe(connection)
        except BaseException:
            super().close()
            raise
        if function is not None:
            self._listeners.watches.append(self)
            self._start()

    def _subscribe(self, connection: Connection) -> None:
        message = connection.call("events.subscribe", encode(self._params), SUBSCRIBING)
        self._sieve.learn(unpack(message)["subscription"], self._accept)

    def renew(self, connection: Connection) -> None:
        """Subscribes on another connection, after the end of the last one."""
        if self._connection.pid != os.getpid():
            return
        with self._lock:
            if not self._open or self._connection is connection:
                return
            self._connection, self._sieve = connection, Sieve()
        try:
            self._subscribe(connection)
        except ServerGone:
            return  # the next connection is the next try
        except OutriderError as problem:
            super().close()
            self._listeners.unwatch(self)
            complain(ended(self._params), problem)
            return
        self._start()

    def _start(self) -> None:
        with self._lock:
            if self._runs:
                return
            self._runs = True
        start_new_thread(self._run, ())

    def _run(self) -> None:
        function = self._function
        assert function is not None
        while True:
            try:
                for event in self:
                    try:
                        function(event)
                    except Exception as problem:
                        complain(f"the function for {event.topic} failed", problem)
                self.close()
                return
            except OutriderError as gone:
                if not self._client._closed:
                    complain(interrupted(self._params), gone)
            with self._lock:
                if self._connection.dead is not None:
                    self._runs = False
                    return

    def _lost(self) -> None:
        if self._function is None:
            super()._lost()

    def close(self) -> None:
        """Ends the subscription; an iteration ends after the kept events."""
        if not self._open:
            return
        super().close()
        self._listeners.unwatch(self)
        connection = self._connection
        if connection.dead is not None or connection.pid != os.getpid():
            # the subscription ended with its connection; a call would open another one
            return
        try:
            unpack(connection.call("events.unsubscribe", encode({"subscription": self._sieve.name}), SUBSCRIBING))
        except (HandleError, ServerGone):
            pass  # the connection that it belonged to has ended, and it with that
