# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""WebSockets (RFC 6455). Loaded with the first WebSocket."""

from __future__ import annotations

from collections import deque
from time import monotonic

# sync: from .._connection.waiters import Turns, atomic_acquire, refuse_nested
from .._protocol.arguments import present
from .._protocol.exceptions import HandleError, ServerGone, from_failure
from .._protocol.frames import encode
from .._protocol.hints import Any, AsyncIterator, Awaitable, Callable, NoReturn
from .._protocol.openings import Dropped
from .._protocol.parameters import Opened
from .._resources.reading import PATIENCE, WAIT
from .._resources.records import control, record
from .._resources.sockets import ORDERLY, WebSocketClosed, checked_close, late, message_of, sent_message
from .calls import AsyncCalls
from .ends import AsyncClosing, end_by
from .pipe import AsyncChannel, open_channel
from .responses import AsyncResponse
from .variant import AsyncTurns  # async

_LEAVING = 10
"""Seconds for the end of a WebSocket; the service waits for 5 seconds for the server."""


class AsyncWebSocket(Dropped, AsyncClosing):
    """A WebSocket; made by :meth:`outrider.AsyncClient.websocket`::

        async with client.websocket("wss://example.org/live", protocols=["chat"]) as ws:
            await ws.send("hello")
            async for message in ws:            # str for text, bytes for binary messages
                print(message)

    An iteration ends when the WebSocket is closed with 1000, 1001 or without a code; other codes raise
    :class:`~outrider.WebSocketClosed`.

    The service replies to pings, sends its own, and reads ahead of the program up to its ``backlog``. Messages travel
    on a connection of their own if the service has a socket. Several tasks may receive: each message goes to one of
    them. Leaving the ``async with`` closes the WebSocket.
    ``response`` is the response to the handshake.
    """

    response: AsyncResponse

    def __init__(self, client: AsyncCalls, opening: Callable[[], Awaitable[Opened]]) -> None:
        self._client = client
        self._stream: str | None = None
        self._ready: deque[Any] = deque()
        self._turns = AsyncTurns()  # async
        # sync: self._turns = Turns()
        self._channel: AsyncChannel | None = None
        self._sends_records = False
        self._over = self._is_told = False
        self._failure: dict[str, Any] | None = None
        self._close: dict[str, Any] = {}
        self.protocol: str | None = None
        """The subprotocol that the server chose."""
        self._opening = opening  # async
        # sync: self._open(opening)

    def _drop(self) -> None:
        if self._stream is not None:
            self._client._leave([("stream.close", {"stream": self._stream})])
            if self._channel is not None:
                self._channel.close()

    async def _open(self, opening: Callable[[], Awaitable[Opened]]) -> None:
        built, result = await opening()
        self.response = AsyncResponse(result["response"], self._client._invoke_raw)
        self.protocol = result.get("protocol")
        if "stream" not in result:
            self._over = True
            self.response.raise_for_error()
        self._stream = result.get("stream")
        path = self._client._socket_path()
        if path is not None and self._stream is not None:
            try:
                self._channel = await open_channel(path, self._stream)
            except BaseException:
                self._over, stream, self._stream = True, self._stream, None
                await end_by(self._client.invoke, "stream.close", {"stream": stream})
                raise
            # a record that meets a lost connection is dropped, where a call tells that it is to be sent again
            self._sends_records = '"reconnect":' not in built.params

    @property
    def close_code(self) -> int | None:
        """The code with which the WebSocket was closed (RFC 6455 section 7.4); ``None`` while open."""
        return self._close.get("code") if self._over else None

    @property
    def close_reason(self) -> str | None:
        """The reason that the server gave for closing."""
        return self._close.get("reason") if self._over else None

    async def send(self, message: str | bytes | bytearray | memoryview) -> None:
        """Sends a text message for ``str``, a binary message for bytes; waits while the server takes nothing."""
        if self._channel is None or not self._sends_records:
            await self._sent(sent_message(message))
        else:
            await self._send_record(record(message))

    async def send_json(self, value: Any) -> None:
        """Sends a value as JSON, in a text message."""
        text = encode(value, "the message")
        if self._channel is None or not self._sends_records:
            # not as `json`, where null would be no message
            await self._sent({"text": text})
        else:
            await self._send_record(record(text))

    async def _send_record(self, found: bytes) -> None:
        if self._channel is None or self._stream is None:
            raise self._closed()
        try:
            await self._channel.send(found)
        except OSError:
            # it has ended, and the end of the messages says how
            raise WebSocketClosed(self._close) from None

    async def _sent(self, message: dict[str, Any]) -> None:
        if self._stream is None:
            raise self._closed()
        try:
            await self._client.invoke("websocket.send", {"stream": self._stream, **message}, timeout=60)
        except HandleError as error:
            # while it is opened again the message can be sent later
            if error.data.get("state") == "reconnecting":
                raise
            # it has ended, and the end of the messages says how
            raise WebSocketClosed(self._close) from None

    async def recv(self, timeout: float | None = None) -> Any:
        """The next message: ``str`` or ``bytes``.

        Raises :class:`~outrider.WebSocketClosed` after the last message, :class:`~outrider.RequestTimeout` if there is
        none within ``timeout`` seconds, and the failure of a lost connection.
        """
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            try:
                return self._ready.popleft()
            except IndexError:
                pass
            await self._more(timeout, deadline)

    async def _more(self, timeout: float | None = None, deadline: float | None = None) -> None:
        """Waits for messages, or for the end, which raises."""
        left = None if deadline is None else max(0.0, deadline - monotonic())
        # a failure is for each of those that wait for messages
        mine, learns = False, not self._over
        # sync: turns = self._turns.lock()
        try:
            mine = await self._turns.take(left)  # async
            # sync: [mine] = atomic_acquire(turns)
            # sync: if not mine:
            # sync:     refuse_nested(None if self._channel else self._client._here())
            # sync:     [mine] = atomic_acquire(turns, -1 if left is None else left)
            if not mine and timeout is not None:
                raise late("the WebSocket", timeout)
            # those that the turn before has brought
            if not self._ready:
                await self._read(timeout, deadline, learns)
        finally:
            if mine:
                self._turns.release()  # async
                # sync: turns.release()

    async def _read(self, timeout: float | None, deadline: float | None, learns: bool) -> None:
        left = None if deadline is None else max(0.0, deadline - monotonic())
        if self._over or self._stream is None:
            self._raise_end(learns)
        elif self._channel is not None:
            found = await self._channel.read(left)
            end = None if found else self._channel.end
        else:
            # a single call waits for ten minutes at most
            read = {"stream": self._stream, "wait": WAIT if left is None else min(WAIT, left)}
            end = await self._client.invoke("stream.read", read, timeout=PATIENCE)
            # with reconnect=, how the connection stands is told among the messages
            values = end.get("values") or ()
            found = [message_of(one) for one in values if isinstance(one, str) or "socket" not in one]
            if not end.get("end"):
                end = None
        self._ready.extend(found)
        if end is not None:
            self._over, self._close, self._failure = True, end.get("close") or {}, end.get("error")
            self._stream = None
            if self._channel is not None:
                self._channel.close()
        elif not found and timeout is not None and deadline is not None and monotonic() >= deadline:
            raise late("the WebSocket", timeout)

    def _raise_end(self, learns: bool) -> NoReturn:
        if self._failure is not None and (learns or not self._is_told):
            self._is_told = True
            raise from_failure(self._failure, self.response)
        raise self._closed()

    def _closed(self) -> Exception:
        if self._stream is None and not self._over:  # async
            return ValueError("the WebSocket is not open: begin with async with")  # async
        return WebSocketClosed(self._close)

    def __aiter__(self) -> AsyncIterator[Any]:
        return self  # async
        # sync: ready = self._ready
        # sync: try:
        # sync:     while True:
        # sync:         try:
        # sync:             while True:
        # sync:                 yield ready.popleft()
        # sync:         except IndexError:
        # sync:             pass
        # sync:         self._more()
        # sync: except WebSocketClosed as closed:
        # sync:     if closed.close_code not in ORDERLY:
        # sync:         raise

    async def __anext__(self) -> Any:
        try:
            return self._ready.popleft() if self._ready else await self.recv()  # async
            # sync: return self.recv()
        except WebSocketClosed as closed:
            if closed.close_code not in ORDERLY:
                raise
            raise StopAsyncIteration from None

    async def ping(self, timeout: float | None = None) -> float:
        """Sends a ping, and returns the seconds until its pong."""
        if self._stream is None:
            raise self._closed()
        params = present(stream=self._stream, timeout=timeout)
        return float((await self._client.invoke("websocket.ping", params))["rtt"])

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Closes the WebSocket, and waits a little for the server's Close frame. Harmless when done twice.

        Raises :class:`ValueError` for a code or a reason that no Close frame can carry; the WebSocket stays open then.
        """
        told = checked_close(code, reason)
        stream, self._stream = self._stream, None
        if stream is None:
            return
        self._over = True
        self._ready.clear()
        try:
            if self._channel is not None:
                await self._leave(self._channel, told)
            else:
                await self._leave_by_calls(stream, told)
        except (HandleError, ServerGone):
            pass

    async def _leave(self, channel: AsyncChannel, close: dict[str, Any]) -> None:
        """Closes the WebSocket after all sent messages; later messages are dropped."""
        try:
            # a server that takes nothing leaves no room for the Close frame
            await channel.send(control({"close": close}), _LEAVING)
            while await channel.read(_LEAVING):
                pass
            self._close = (channel.end or {}).get("close") or self._close
        except OSError:
            pass
        finally:
            channel.close()

    async def _leave_by_calls(self, stream: str, close: dict[str, Any]) -> None:
        """The same without a channel. The server's Close frame is behind its messages, so these are read meanwhile."""
        self._client._leave([("websocket.close", {"stream": stream, **close})])
        deadline = monotonic() + _LEAVING
        while monotonic() < deadline:
            read = {"stream": stream, "wait": max(0.0, deadline - monotonic())}
            found = await self._client.invoke("stream.read", read, timeout=2 * _LEAVING)
            if found.get("end"):
                self._close = found.get("close") or self._close
                return
        await self._client.invoke("stream.close", {"stream": stream})

    async def __aenter__(self) -> AsyncWebSocket:  # async
        if self._stream is None and not self._over:  # async
            await self._open(self._opening)  # async
        return self  # async

    def __repr__(self) -> str:
        return f"<AsyncWebSocket {'closed' if self._over else 'open' if self._stream else 'not open'}>"
