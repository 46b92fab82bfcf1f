# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Events and callbacks of the awaiting client: iterated over, or given to functions and coroutines."""

from __future__ import annotations

import asyncio

from .._connection.awaiting import INSIDE, AsyncConnection
from .._connection.inbox import CALLBACK_FAILED, Inbox, refusal_frame, reply_frame
from .._protocol.exceptions import OutriderError
from .._protocol.hints import Any, AsyncIterator, Callable, Coroutine
from .._protocol.models import Event
from .._resources.events import CANCEL, EventQueue, Listeners, Told, refused
from .variant import settled


class AsyncClientInbox(Listeners, Inbox):
    """Events and callbacks of an awaiting client. Functions run in the event loop, coroutines as tasks."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: set[asyncio.Task[None]] = set()
        self.connections: set[AsyncConnection] = set()
        # the functions that run for callbacks, by their connections and numbers
        self._replying: dict[tuple[AsyncConnection, Any], asyncio.Task[None]] = {}

    def event(self, name: str, params: Any, connection: Any = None) -> None:
        """An event arrived."""
        if name == CANCEL:
            task = self._replying.get((connection, params.get("id")))
            if task is not None:
                task.cancel()
            return
        event = self._spread(name, params)
        for function in self._functions(name):
            self.start(self._handle(function, event))

    def callback(self, connection: AsyncConnection, number: Any, name: str, params: Any) -> bool:
        """Takes a callback; returns whether a reply will follow."""
        if self.replier(name, params) is None:
            return False
        key = (connection, number)
        self._replying[key] = task = self.start(self._reply(connection, number, name, params))
        task.add_done_callback(lambda ended: self._replying.get(key) is ended and self._replying.pop(key))
        return True

    def closed(self, problem: OutriderError | None = None, connection: Any = None) -> None:
        """No more will arrive on that connection."""
        self.connections.discard(connection)
        for queue in self._open() if connection is None or connection.queues is None else connection.queues:
            if connection is not None and isinstance(queue, AsyncEventStream):
                queue.lost(connection, problem)

    def is_connected(self) -> bool:
        """Whether a connection of any event loop may bring more events."""
        return any(one.dead is None and not one.loop.is_closed() for one in list(self.connections))

    async def renew(self, connection: AsyncConnection) -> None:
        """Lets the watches with a function go on with this connection."""
        self.connections.add(connection)
        for watch in self.watches:
            await watch.renew(connection)

    def replying(self, loop: asyncio.AbstractEventLoop) -> int:
        """How many functions run for callbacks in an event loop."""
        return len([1 for one, _ in self._replying if one.loop is loop])

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs the coroutine as a task."""
        task = asyncio.get_running_loop().create_task(work)
        self.kept.add(task)
        task.add_done_callback(self.kept.discard)
        return task

    async def _handle(self, function: Callable[[Event], object], event: Event) -> None:
        try:
            outcome = function(event)
            if asyncio.iscoroutine(outcome):
                await outcome
        except Exception as problem:
            complain(f"the function for {event.name} failed", problem)

    async def _reply(self, connection: AsyncConnection, number: Any, name: str, params: Any) -> None:
        INSIDE.set(True)
        try:
            replier = self.replier(name, params) or self.callbacks[name]
            given = await settled(replier(params if isinstance(params, dict) else {}))
            frame = reply_frame(number, {} if given is None else given)
        except BaseException as problem:
            connection.write(refusal_frame(number, CALLBACK_FAILED, refused(problem)))
            if not isinstance(problem, Exception):
                raise
            if not isinstance(problem, Told):
                complain(f"the function for {name} failed", problem)
        else:
            connection.write(frame)


class AsyncEventStream(EventQueue):
    """The events of a client, in order: ``async for event in client.events("event.progress"):``.

    At most ``limit`` events are kept; when more arrive the oldest is dropped and counted in ``dropped``. The
    iteration ends when nothing arrived for ``timeout`` seconds, and with :class:`~outrider.ServerGone` when the
    connection of its event loop ends, or the last connection of all event loops.
    """

    def __init__(self, inbox: AsyncClientInbox, names: tuple[str, ...], timeout: float | None, limit: int) -> None:
        super().__init__(inbox, names, limit)
        self._timeout = timeout
        self._arrived: asyncio.Future[None] | None = None
        self._problem: OutriderError | None = None
        self._inbox = inbox
        self._loop: asyncio.AbstractEventLoop | None = asyncio._get_running_loop()
        inbox.add(self)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        self._loop = asyncio.get_running_loop()
        while not self._events:
            if not self._open:
                if self._problem is not None:
                    # to each of several tasks
                    raise self._problem.with_traceback(None)
                raise StopAsyncIteration
            arrived = self._arrived
            if arrived is None or arrived.done() or arrived.get_loop() is not self._loop:
                self._arrived = arrived = self._loop.create_future()
                # an event of another event loop could not wake it before
                if self._events or not self._open:
                    continue
            try:
                # several tasks may wait for the same
                await asyncio.wait_for(asyncio.shield(arrived), self._timeout)
            except asyncio.TimeoutError:
                raise StopAsyncIteration from None
        return self._events.popleft()

    def lost(self, connection: AsyncConnection, problem: OutriderError | None) -> None:
        """A connection has ended. The connections of other event loops bring events, too."""
        if connection.loop is self._loop or not self._inbox.is_connected():
            self.end(problem)

    def end(self, problem: OutriderError | None) -> None:
        """No more will come, and this is why."""
        self._problem = problem
        self.close()

    def wake(self) -> None:
        arrived = self._arrived
        if arrived is None:
            return
        loop = arrived.get_loop()
        if loop is asyncio._get_running_loop():
            _arrive(arrived)
        elif not loop.is_closed():
            # the event came by the connection of another event loop
            loop.call_soon_threadsafe(_arrive, arrived)

    async def __aenter__(self) -> AsyncEventStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def _arrive(arrived: asyncio.Future[None]) -> None:
    if not arrived.done():
        arrived.set_result(None)


def complain(what: str, problem: Exception) -> None:
    """Warns of the failure of a function whose exception no caller can catch."""
    import warnings

    warnings.warn(f"{what}: {type(problem).__name__}: {problem}", RuntimeWarning, stacklevel=2)
