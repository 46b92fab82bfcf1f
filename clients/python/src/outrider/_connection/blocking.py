# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A connection of the blocking client, shared by any number of threads.

There is no reader thread. A thread that waits for a reply while no other thread reads becomes the *leader*: the leader
reads, keeps its own reply, and hands every other reply to the waiting thread. When the leader leaves, it wakes a
*follower* to lead. So a program with a single thread pays for a ``send`` and a ``recv`` per call, and no thread is
switched::

    call ──no reader──▶ lead ──own reply──▶ done, wake a follower
      └────a reader───▶ follow ──reply handed over──▶ done
                           └─────woken, no reader──▶ lead

Two promises make that safe. A follower registers, then tries to lead, then sleeps; a leader stops reading, then looks
for followers: so at least one of them notices the other. And a leaving leader wakes the next; an exception from a
signal handler may prevent the waking, so a follower also looks by itself, if not often.
"""

from __future__ import annotations

import os
from _socket import socket as Socket
from _thread import get_ident
from itertools import count
from time import monotonic, sleep

from .._protocol.exceptions import LimitError, OutriderError, ProtocolError, RequestTimeout, ServerGone
from .._protocol.frames import call_frame, cancel_frame, decode, encode
from .._protocol.hints import Any, Sequence
from .._protocol.openings import endings, opens
from .inbox import Inbox
from .waiters import Batch, Waiter, atomic_acquire, batch_frames, late
from .wire import IN_FLIGHT, NESTED, Unsent, Wire


class Connection(Wire):
    """A connection to the service: calls out, replies in, and everything else to the inbox."""

    def __init__(self, stream: Socket, inbox: Inbox, name: str) -> None:
        super().__init__(stream, name)
        self.inbox = inbox
        self._next = count(1).__next__
        self._handed = 0
        # the reads of streams that an exception interrupted, by their streams
        self._left: dict[str, tuple[int, Waiter]] = {}
        # the methods of interrupted calls that open something, by their numbers
        self._forsaken: dict[int, str] = {}

    # Calls

    def call(self, method: str, params: str, seconds: float) -> Any:
        """Makes a call with its parameters as JSON text; returns the reply in the form of :meth:`Incoming.take`, also
        for errors."""
        if self._left and method in ("stream.read", "stream.close"):
            found = self._left_read(method, params, seconds)
            if found is not None:
                return found
        number = self._next()
        frame = call_frame(number, method, params)
        me = get_ident()
        mine = False
        try:
            [mine] = atomic_acquire(self._reading)
            if not mine or self._writer == me:
                return self._follow(number, method, params, frame, seconds)
            self._leader = me
            write = self._send(frame, True, seconds)
            try:
                return self._lead(number, method, monotonic() + seconds)
            except (ServerGone, ProtocolError) as problem:
                raise self._unless_unread(problem, write) from None
            except BaseException:
                self._leave_call(number, method, params, Waiter(""))
                self.cancel(number)
                raise
        finally:
            if mine:
                self._leader = 0
                self._reading.release()
                if self._waiting:
                    self._appoint()

    def _follow(self, number: int, method: str, params: str, frame: bytes, seconds: float) -> Any:
        if self._is_nested():
            return self._nested(method, frame)
        waiter = Waiter(method)
        deadline = monotonic() + seconds
        write = 0
        while len(self._waiting) >= (IN_FLIGHT + NESTED if self.inbox.is_inside() else IN_FLIGHT):
            self._expect_life(method, deadline)
            sleep(0.002)
        self._waiting[number] = waiter
        try:
            write = self._send(frame, False, seconds)
            return self._await(number, method, waiter, deadline)
        except (ServerGone, ProtocolError) as problem:
            raise self._unless_unread(problem, write) from None
        except BaseException:
            if write:
                self._leave_call(number, method, params, waiter)
            self.cancel(number)
            raise
        finally:
            self._waiting.pop(number, None)
            self._appoint()

    def _await(self, number: int, method: str, waiter: Waiter, deadline: float) -> Any:
        """The reply to a call that is registered as waiting; reads by itself while no other thread does."""
        me = get_ident()
        while waiter.message is None:
            mine = False
            try:
                [mine] = atomic_acquire(self._reading)
                if mine and waiter.message is None:
                    self._leader = me
                    waiter.message = self._lead(number, method, deadline)
            finally:
                if mine:
                    self._leader = 0
                    self._reading.release()
            if mine:
                break
            self._expect_life(method, deadline)
            waiter.sleep(deadline)
        return waiter.message

    def _leave_call(self, number: int, method: str, params: str, waiter: Waiter) -> None:
        """Keeps the reply to a read, on its way or here: the service gives the bytes in it only once. Ends what another
        call has opened."""
        if method == "stream.read":
            self._left[decode(params)["stream"]] = (number, waiter)
        elif not opens(method, params):
            pass
        elif waiter.message is None:
            self._forsaken[number] = method
        else:
            self._end(method, waiter.message)

    def _end(self, method: str, message: Any) -> None:
        calls = endings(method, message)
        if calls:
            self.post(calls)

    def _left_read(self, method: str, params: str, seconds: float) -> Any:
        """The reply to an interrupted read of the same stream, if that read took something."""
        stream = decode(params)["stream"]
        left = self._left.get(stream)
        if left is None or method == "stream.close":
            self._left.pop(stream, None)
            return None
        if self._is_nested():
            self._nested(method, b"")
        number, waiter = left
        self._waiting[number] = waiter
        try:
            message = self._await(number, method, waiter, monotonic() + seconds)
        finally:
            self._waiting.pop(number, None)
            self._appoint()
        self._left.pop(stream, None)
        return None if type(message) is dict and "error" in message else message

    def batch(self, method: str, params: Sequence[str], window: int, seconds: float) -> list[Any]:
        """Many calls, at most ``window`` at a time without a reply; their messages in the order of ``params``.

        A call without a reply has an exception in its place. ``seconds`` is how long nothing may arrive.
        """
        if self._is_nested():
            self._nested(method, b"")
        me = get_ident()
        batch = Batch(method, len(params))
        leading = False
        sent = 0
        deadline = monotonic() + seconds
        try:
            [leading] = atomic_acquire(self._reading)
            while batch.left:
                if leading:
                    self._leader = me
                free = window - (sent - len(params) + batch.left)
                free = min(free, IN_FLIGHT - len(self._waiting))
                if sent < len(params) and (free * 4 >= window or free >= len(params) - sent):
                    sent = self._send_some(batch, params, sent, free, leading)
                left = batch.left
                if leading:
                    self._read(method, deadline, -1)
                else:
                    [leading] = atomic_acquire(self._reading)
                    if not leading:
                        batch.sleep(deadline if batch.places else min(deadline, monotonic() + 0.002))
                        self._expect_life(method, deadline)
                if batch.left != left:
                    deadline = monotonic() + seconds
        except ServerGone as gone:
            if sent == 0 and isinstance(gone, Unsent):
                raise
            self._fill(batch, gone)
        except (ProtocolError, LimitError) as problem:
            self._fill(batch, problem)
        except RequestTimeout as problem:
            self._cancel_all(batch)
            self._fill(batch, problem)
        except BaseException:
            self._cancel_all(batch)
            raise
        finally:
            try:
                for number in list(batch.places):
                    self._waiting.pop(number, None)
            finally:
                if leading:
                    self._leader = 0
                    self._reading.release()
                self._appoint()
        return batch.replies

    def _send_some(self, batch: Batch, params: Sequence[str], sent: int, free: int, leading: bool) -> int:
        upto = min(len(params), sent + free)
        self._send(batch_frames(batch, params, sent, upto, self._waiting, self._next), leading)
        return upto

    @staticmethod
    def _fill(batch: Batch, problem: OutriderError) -> None:
        for place, reply in enumerate(batch.replies):
            if reply is None:
                batch.replies[place] = problem

    def _cancel_all(self, batch: Batch) -> None:
        self._try_send(b"".join([cancel_frame(number) for number in list(batch.places)]))

    def _expect_life(self, method: str, deadline: float) -> None:
        if self.dead is not None:
            raise self._gone(method)
        if monotonic() >= deadline:
            raise late(method)

    def cancel(self, number: int) -> None:
        """Asks the service to end call ``number``; a late reply is ignored."""
        self._try_send(cancel_frame(number))

    def tell(self, frame: bytes) -> None:
        """Sends a notification, or a reply to a callback."""
        self._send(frame)

    def post(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        """Makes calls whose results are ignored, for finalizers.

        A finalizer may run in any thread at any moment, also in a thread that holds the locks of this connection: so
        this method never waits. The calls are written at once if the writing lock is free, else by the thread that
        reads next.
        """
        if self.dead is not None or self.pid != os.getpid():
            return
        for method, params in calls:
            if method == "stream.close":
                self._left.pop(params["stream"], None)
        frame = b"".join([call_frame(self._next(), method, encode(params)) for method, params in calls])
        self._post(frame)

    # Events

    def listen(self, number: int, waiter: Waiter, deadline: float) -> bool:
        """Reads, or waits while another thread reads, until ``waiter`` has been woken or the deadline has passed.

        Returns whether other threads have calls here: a thread that only listens leaves the reading to them.
        """
        if self.pid != os.getpid():
            self.abandon()
            return False
        if self._is_nested():
            self._nested(waiter.method, b"")
        me = get_ident()
        before = self._handed
        self._waiting[number] = waiter
        try:
            mine = False
            try:
                [mine] = atomic_acquire(self._reading)
                if mine and waiter.lock.locked() and self.dead is None:
                    self._leader = me
                    self._read(waiter.method, deadline, -1)
            except (RequestTimeout, ServerGone, ProtocolError, LimitError):
                pass
            finally:
                if mine:
                    self._leader = 0
                    self._reading.release()
            if mine:
                return self._handed != before
            if self.dead is None:
                waiter.sleep(deadline)
            return True
        finally:
            self._waiting.pop(number, None)
            self._appoint()

    # Reading: only with the reading lock

    def _lead(self, number: int, method: str, deadline: float) -> Any:
        while True:
            message = self._read(method, deadline, number)
            if message is not None:
                return message

    def _read(self, method: str, deadline: float, own: int) -> Any:
        """Reads bytes and hands out their messages. An interruption in between leaves other threads without replies."""
        if self._fresh is not None:
            raise self._torn("read")
        try:
            message = self._dispatch(self._receive(method, deadline), own)
            self._fresh = None
            return message
        except ProtocolError as problem:
            self._fail("", str(problem))
            raise
        except BaseException:
            if self._fresh is not None and self.dead is None:
                self._torn("read")
            raise

    def _dispatch(self, arrived: list[tuple[Any, Any]], own: int) -> Any:
        """Hands every message to its thread. Returns the reply with the number ``own``, if present."""
        found = None
        for number, message in arrived:
            if type(message) is dict and "method" in message:
                if refusal := self.inbox.unasked(self, message):
                    self._owed.append(refusal)
            elif number == own:
                found = message
            else:
                waiter = self._waiting.pop(number, None) or self._waiter_that_left(number)
                if waiter is not None:
                    self._handed += 1
                    waiter.deliver(number, message)
                elif number in self._forsaken:
                    self._end(self._forsaken.pop(number), message)
                elif number is None and isinstance(message, dict):
                    self._refused(message.get("error"))
        if self._owed:
            owed, self._owed = self._owed, []
            self._send(b"".join(owed), True)
        return found

    def _waiter_that_left(self, number: Any) -> Waiter | None:
        return next((waiter for one, waiter in list(self._left.values()) if one == number), None)

    # Ends

    def _appoint(self) -> None:
        """Wakes a waiting thread to lead, if no thread reads."""
        if self._waiting and not self._reading.locked():
            for waiter in list(self._waiting.values()):
                waiter.wake()
                return

    def _ended(self) -> None:
        super()._ended()
        self.inbox.closed()
