# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""TCP connections and Unix sockets through the service, and whether a way leads out. Loaded with the first of them."""

from __future__ import annotations

from time import monotonic

# sync: from .._connection.waiters import Turns, atomic_acquire, refuse_nested
from .._protocol.arguments import present
from .._protocol.exceptions import StreamError, from_failure
from .._protocol.hints import Any, AsyncIterator, Awaitable, Callable
from .._protocol.openings import Dropped
from .._resources.feeding import Patience, pieces, written
from .._resources.reading import PATIENCE, PIECE, WAIT, data_of
from .._resources.sockets import Reachability, late, opened
from .calls import AsyncCalls
from .ends import AsyncClosing, end_by
from .variant import AsyncTurns  # async
from .variant import iteration

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .events import AsyncEventStream


class AsyncTCPConnection(Dropped, AsyncClosing):
    """Bytes both ways; made by :meth:`outrider.AsyncClient.tcp`::

        async with client.tcp("mail.example.org", 25) as connection:
            print(await connection.read_line())
            await connection.write(b"EHLO me\\r\\n")

    ``remote`` is the address of the peer, ``tls`` the secure connection. Proxies, name lookups and trust work as for
    requests. Several tasks may read: each gets its bytes in its turn.
    """

    def __init__(self, client: AsyncCalls, given: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        self._client = client
        self._stream: str | None = None
        self._rest = bytearray()
        self._turns = AsyncTurns()  # async
        # sync: self._turns = Turns()
        self._ended = self._is_told = False
        self._failure: dict[str, Any] | None = None
        self.remote: str | None = None
        self.tls: dict[str, Any] | None = None
        self._given = given  # async
        # sync: self._open(given)

    def _drop(self) -> None:
        if self._stream is not None:
            self._client._leave([("stream.close", {"stream": self._stream})])

    async def _open(self, given: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        result = opened(await self._client.invoke("tcp.open", await given()))
        self._stream, self.remote, self.tls = str(result["stream"]), result.get("remote"), result.get("tls")

    def _name(self) -> str:
        if self._stream is None:
            raise ValueError("the connection is not open")
        return self._stream

    async def read(self, max: int = PIECE, *, min: int = 1, timeout: float | None = None) -> bytes:
        """At least ``min`` bytes and at most ``max``; fewer only at the end, none after that.

        Raises :class:`~outrider.RequestTimeout` if they do not come within ``timeout`` seconds, and takes nothing then.
        """
        if not 1 <= min <= max:
            raise ValueError("read takes 1 <= min <= max")
        return await self._take(lambda: len(self._rest) if len(self._rest) >= min else 0, min, max, timeout)

    async def read_line(self, *, timeout: float | None = None) -> bytes:
        """A line with its end, LF or CR LF; without an end only as the last line.

        Raises :class:`~outrider.RequestTimeout` if the line is not complete within ``timeout`` seconds, and takes
        nothing then.
        """
        end = seen = 0

        def size() -> int:
            nonlocal end, seen
            if not end:
                end, seen = self._rest.find(b"\n", seen) + 1, len(self._rest)
            return end

        return await self._take(size, 0, None, timeout)

    def lines(self) -> AsyncIterator[bytes]:
        """The lines until the peer ends, without their ends."""

        async def more() -> tuple[bytes] | None:
            line = await self.read_line()
            return (line.rstrip(b"\r\n"),) if line else None

        return iteration(more)

    async def _take(self, size: Callable[[], int], least: int, most: int | None, timeout: float | None) -> bytes:
        """Waits until ``size`` finds enough bytes, or the peer has ended, and takes so many, at most ``most``. If the
        peer ended too early, raises why, once."""
        deadline = None if timeout is None else monotonic() + timeout
        # a failure is for each of those that wait for bytes
        mine, learns = False, not self._ended
        # sync: turns = self._turns.lock()
        try:
            mine = await self._turns.take(timeout)  # async
            # sync: [mine] = atomic_acquire(turns)
            # sync: if not mine:
            # sync:     refuse_nested(self._client._here())
            # sync:     [mine] = atomic_acquire(turns, -1 if timeout is None else max(0.0, timeout))
            if not mine and timeout is not None:
                raise late("the connection", timeout)
            found = size()
            while not found and not self._ended:
                await self._read(least, deadline)
                found = size()
                if not found and not self._ended and timeout is not None and monotonic() >= (deadline or 0):
                    raise late("the connection", timeout)
            if not found and self._failure is not None and (learns or not self._is_told):
                self._is_told = True
                raise from_failure(self._failure, None)
            with memoryview(self._rest) as rest:
                taken = rest[: found or len(rest)][:most].tobytes()
            del self._rest[: len(taken)]
            return taken
        finally:
            if mine:
                self._turns.release()  # async
                # sync: turns.release()

    async def _read(self, least: int, deadline: float | None) -> None:
        # a single call waits for ten minutes at most
        wait = WAIT if deadline is None else min(WAIT, max(0.0, deadline - monotonic()))
        wanted = min(max(1, least - len(self._rest)), PIECE)
        params = {"stream": self._name(), "bytes": PIECE, "min": wanted, "wait": wait}
        piece = await self._client._invoke_raw("stream.read", params, timeout=PATIENCE)
        self._rest += data_of(piece)
        self._failure = piece.get("error")
        self._ended = piece["end"] or self._failure is not None

    async def write(self, data: bytes | bytearray | memoryview | str) -> None:
        """Sends bytes, or text as UTF-8; waits while the peer takes nothing."""
        patience = Patience(None)
        for piece in pieces(data):
            room = 0
            while room == 0:
                taken = await self._client.invoke("stream.write", written(self._name(), piece, 30), timeout=60)
                room, piece = taken["room"], b""
                patience.note(room)

    async def finish(self) -> None:
        """Ends the writing half: the peer sees the end, and may go on sending."""
        await self._client.invoke("stream.finish", {"stream": self._name()}, timeout=60)

    async def start_tls(self, server_name: str | None = None, *, alpn: list[str] | None = None) -> None:
        """Starts TLS (STARTTLS), once the peer has agreed in clear text.

        Raises :class:`~outrider.StreamError` if bytes of the peer are unread: an attacker could have inserted them.
        """
        if self._rest:
            raise StreamError("bytes came before TLS began: read them first, or do not trust the peer", code=2022)
        params = present(stream=self._name(), serverName=server_name, alpn=alpn)
        result = opened(await self._client.invoke("tcp.startTls", params))
        self.tls = result.get("tls")

    # sync: def detach(self) -> Any:
    # sync:     """The connection as a ``socket.socket``, for libraries; this object is of no more use then.
    # sync:
    # sync:     Needs a service on a socket.
    # sync:     """
    # sync:     from .pipe import open_socket
    # sync:
    # sync:     path = self._client._socket_path()
    # sync:     if path is None or self._rest:
    # sync:         raise RuntimeError("a socket needs a service on a socket, and no bytes that were read ahead")
    # sync:     made = open_socket(path, self._name())
    # sync:     self._stream = None
    # sync:     return made
    # sync:
    # sync: def makefile(self, mode: str = "rwb", **options: Any) -> Any:
    # sync:     """The connection as a file, as of :meth:`socket.socket.makefile`."""
    # sync:     with self.detach() as made:
    # sync:         return made.makefile(mode, **options)
    # sync:
    async def close(self) -> None:
        """Ends the connection in both directions. Harmless when done twice."""
        stream, self._stream = self._stream, None
        if stream is not None:
            await end_by(self._client.invoke, "stream.close", {"stream": stream})

    async def __aenter__(self) -> AsyncTCPConnection:  # async
        if self._stream is None:  # async
            await self._open(self._given)  # async
        return self  # async

    def __repr__(self) -> str:
        return f"<AsyncTCPConnection {self.remote if self._stream else 'not open'}>"


class AsyncReachabilities:
    """``await client.reachability(host="example.org")`` returns the present state, ``client.reachability.watch()`` each
    change.

    Nothing is sent, unless ``probe="connect"`` opens and closes a connection to ``url``. Do not ask before each
    request: send the request, and look at its failure.
    """

    def __init__(self, client: AsyncCalls) -> None:
        self._client = client

    async def __call__(
        self, url: str | None = None, *, host: str | None = None, probe: str | None = None
    ) -> Reachability:
        """The present state."""
        return Reachability(await self._client.invoke("reachability.status", present(url=url, host=host, probe=probe)))

    def watch(
        self, url: str | None = None, *, host: str | None = None, probe: str | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[Reachability]:
        """The present state, then each change; ends when there is none for ``timeout`` seconds."""
        client, params = self._client, present(url=url, host=host, probe=probe)
        events: AsyncEventStream | None = None
        name = ""

        async def more() -> tuple[Reachability] | None:
            nonlocal events, name
            if events is None:
                events = client.events("event.reachability", timeout=timeout)
            if not name:
                first = await client.invoke("reachability.watch", params)
                name = first["subscription"]
                return (Reachability(first),)
            async for event in events:
                if event.params.get("subscription") == name:
                    return (Reachability(event.params),)
            return None

        def end() -> None:
            if events is not None:
                events.close()
            if name:
                client._leave([("events.unsubscribe", {"subscription": name})])  # async
                # sync: end_by(client.invoke, "events.unsubscribe", {"subscription": name})

        return iteration(more, end)
