# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The body of a response as it comes: for the blocking client, and what both clients share.

This file is loaded when the first stream is asked for.
"""

from __future__ import annotations

import os
from binascii import a2b_base64
from io import RawIOBase

from ._calls import EXACT, FOREVER, Built, build, guard_for, seconds_of
from ._exceptions import HandleError, OutriderError, ServerGone, from_error, from_failure
from ._leaving import leave
from ._models import ResponseData
from ._responses import PATIENCE, Response
from ._rpc import call_frame, decode, encode
from ._transports import connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Socket
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType
    from typing import Any

    from ._async_client import AsyncClient
    from ._calls import Defaults
    from ._client import Client
    from ._options import Timeout

    # the methods of the same name hide it
    Bytes = bytes

PIECE = 262_144
"""How many bytes are asked for at a time."""

WAIT = PATIENCE - 30
"""Seconds for which one call waits for the next item, before the next call does."""


def phases(timeout: Timeout | None) -> Timeout | None:
    """A number as the limit of each phase, for nobody knows how long a stream takes.

    None of them counts while a request waits for a connection: this client ends that.
    """
    if isinstance(timeout, (int, float)) and seconds_of(timeout, "timeout") != float("inf"):
        return dict.fromkeys(("resolve", "connect", "tls", "firstByte", "idle"), timeout)
    return timeout


_NOT_OF_STREAMS = ("serialize", "handlers", "body_to", "max_inline", "detach", "start_immediately")


def build_stream(method: str, url: str, options: Mapping[str, Any], defaults: Defaults) -> Built:
    """The parameters of ``stream.open``, which answers when the head is there.

    A timeout that is a number is that of each phase, for nobody knows how long a stream takes.
    """
    for name in _NOT_OF_STREAMS:
        if options.get(name) is not None:
            raise TypeError(f"a stream has no option {name}")
    timeout = options.get("timeout")
    timeout = defaults.timeout if timeout is None else timeout
    built = build(method, url, {**options, "timeout": phases(timeout)}, defaults)
    guard = FOREVER if options.get("retry") else guard_for(timeout)
    return Built(built.params[: -len(EXACT) - 1] + '"wait":"response"}', guard, built.check)


class Reading:
    """What is asked of the service for one stream, and what its answers mean.

    When it is dropped while ``client`` is set, that client wants no more of the stream.
    """

    __slots__ = ("_failure", "_left", "client", "kind", "moved", "name", "over", "request", "wishes")

    def __init__(self, result: dict[str, Any], client: Client | AsyncClient | None = None) -> None:
        self.client = client
        self.request: str = result["request"]
        self.name: str = result["stream"]
        self._left: Iterator[Any] = iter(())
        self._failure: OutriderError | None = None
        self.kind = ""
        self.wishes: dict[str, Any] = {}
        self.over = self.moved = False

    def __del__(self) -> None:
        if self.client is not None:
            try:
                leave(self.client, closing(self))
            except Exception:
                # at the end of the interpreter functions may be gone
                pass

    def begin(self, kind: str, **wishes: Any) -> None:
        """From now on it is read as that. The first to say so decides."""
        wishes = {name: value for name, value in wishes.items() if value is not None}
        if self.kind and (kind, wishes) != (self.kind, self.wishes):
            raise RuntimeError(f"this stream is being read as {self.kind} already")
        self.kind, self.wishes = kind, wishes

    def params(self, size: int = PIECE) -> dict[str, Any]:
        """Of the next ``stream.read``."""
        return {"stream": self.name, "as": self.kind, "bytes": size, "wait": WAIT, **self.wishes}

    def pieces(self) -> Iterator[Any]:
        """What is left of the last answer, one item after the other; then raises what ends them early.

        What an iteration leaves is there for the next one.
        """
        yield from self._left
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def keep(self, answer: dict[str, Any], response: Any) -> None:
        """Takes the items of an answer, and what it says is wrong: with an item, or with all that would follow."""
        self.over, self.moved = answer["end"], True
        if "base64" in answer:
            data = a2b_base64(answer["base64"])
            # text that holds U+0000 comes as its bytes in UTF-8
            found: list[Any] = [data if self.kind == "bytes" else data.decode("utf-8", "replace")]
        elif "text" in answer:
            found = [answer["text"]]
        else:
            found = [_value(one, self.kind) for one in answer["values"]]
        self._left = iter([one for one in found if one or self.kind not in ("bytes", "text")])
        failure = answer.get("error")
        self._failure = None if failure is None else from_failure(failure, response)

    def attach(self) -> bytes:
        """The line that turns a second connection into the bytes."""
        return call_frame(1, "stream.attach", encode({"stream": self.name}))


def _value(value: Any, kind: str) -> Any:
    if kind in ("lines", "frames") and isinstance(value, dict):
        data = a2b_base64(value["base64"])
        return data if kind == "frames" else data.decode("utf-8", "replace")
    return value


def attached(line: bytes) -> None:
    """Raises what the service says instead of the bytes."""
    message = decode(line.decode())
    if "error" in message:
        raise from_error(message["error"])


def cut(problem: OSError | None = None) -> ServerGone:
    """The service that had the body is not there any more."""
    why = "" if problem is None or not problem.strerror else f": {problem.strerror}"
    return ServerGone(f"the service has gone, and with it the rest of the stream{why}")


class Head:
    """What the streams of both clients say of the head."""

    response: ResponseData

    @property
    def status(self) -> int | None:
        """The status code; ``None`` when no head arrived."""
        return self.response.status

    @property
    def headers(self) -> Any:
        """The fields of the head."""
        return self.response.headers

    @property
    def ok(self) -> bool:
        """Whether there is an acceptable head with a status below 400."""
        return self.response.ok

    def raise_for_status(self) -> None:
        """Raises :class:`~outrider.StatusError` for a status of 400 and above, and what else is wrong."""
        self.response.raise_for_status()


class Stream(Head):
    """The body of a response as it comes; made by :meth:`outrider.Client.stream`.

    The head is there: :attr:`status`, :attr:`headers`, :meth:`raise_for_status`. What the body consists of is said
    by the first of :meth:`bytes`, :meth:`text`, :meth:`lines`, :meth:`json` and :meth:`frames`; the service finds
    it. An iteration raises what ends the body early: all that came before has been given then.

    A program that does not read holds the server up, and nobody else. Leaving the ``with`` cancels the request, and so
    does dropping the stream.
    """

    def __init__(self, result: dict[str, Any], client: Client, path: str | None, check: bool) -> None:
        self._reading = Reading(result, client)
        self._invoke = client.invoke
        self.response = Response(result["response"], self._invoke)
        self._path = path
        self._pipe: Pipe | None = None
        self._closed = False
        if check:
            try:
                self.response.raise_for_error()
            except OutriderError:
                self.close()
                raise

    # Reading

    def bytes(self) -> Iterator[Bytes]:
        """The bytes as they come, in pieces of any length; past JSON, where the service is on a socket."""
        if self._pipe is not None or (self._path is not None and not self._reading.kind):
            pipe = self.raw()
            while piece := pipe.read(PIECE):
                yield piece
        else:
            yield from self._items("bytes")

    def text(self, charset: str | None = None) -> Iterator[str]:
        """Text as it comes, never cut within a character; in the charset of the response unless one is given."""
        return self._items("text", charset=charset)

    def lines(self, charset: str | None = None, *, max_item: int | None = None) -> Iterator[str]:
        """Lines without their ends. One of more than ``max_item`` bytes, 1 MiB unless given, raises."""
        return self._items("lines", charset=charset, maxItem=max_item)

    def json(self, *, lines: bool = False, max_item: int | None = None) -> Iterator[Any]:
        """JSON values, one after the other; with ``lines`` each line is one.

        One that is wrong raises :class:`~outrider.SerializationError`; a new iteration goes on behind it.
        """
        return self._items("ndjson" if lines else "json", maxItem=max_item)

    def frames(self, prefix: str | None = None, *, max_item: int | None = None) -> Iterator[Bytes]:
        """Bytes that have their length before them, as ``prefix`` says: see StreamOptions in the protocol."""
        return self._items("frames", prefix=prefix, maxItem=max_item)

    def __iter__(self) -> Iterator[str]:
        return self.lines()

    def _items(self, kind: str, **wishes: Any) -> Iterator[Any]:
        reading = self._reading
        reading.begin(kind, **wishes)
        yield from reading.pieces()
        while not reading.over:
            reading.keep(self._invoke("stream.read", reading.params(), timeout=PATIENCE), self.response)
            yield from reading.pieces()

    def read(self) -> Bytes:
        """All that is left, as bytes."""
        return b"".join(self.bytes())

    def raw(self) -> Pipe:
        """The bytes as an open file, on a connection of their own: for whoever wants files, such as ``tarfile``.

        Needs a service on a socket. Reading past the end raises if the body was cut short.
        """
        if self._pipe is None:
            if self._path is None:
                raise RuntimeError("raw bytes need a service on a socket, not on stdio")
            reading, invoke = self._reading, self._invoke

            def ended() -> None:
                """Raises why the body ended early, if it did."""
                # knows no Stream, or that and the file would keep each other
                reading.over = True
                try:
                    result = invoke("request.wait", {"request": reading.request})
                except HandleError:
                    raise cut() from None
                Response(result, invoke).raise_for_error()

            reading.begin("raw")
            self._pipe = Pipe(self._path, reading.attach(), ended)
        return self._pipe

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> str:
        """Writes all that is left to a file, which must not exist unless ``replace``. Gives its absolute path."""
        target = os.path.abspath(os.fspath(path))
        with open(target, "wb" if replace else "xb") as file:
            for piece in self.bytes():
                file.write(piece)
        return target

    # Ends

    def close(self) -> None:
        """Wants no more: the request is cancelled unless it has ended. Harmless when done twice."""
        if self._closed:
            return
        self._closed = True
        if self._pipe is not None:
            self._pipe.close()
        for method, params in closing(self._reading):
            try:
                self._invoke(method, params)
            except (HandleError, ServerGone):
                pass
        self._reading.client = None

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Stream [{self.status}] {self.response.method} {self.response.url}>"


def flowing(response: ResponseData, client: Client | AsyncClient) -> None:
    """The body of a response is a stream, if one came: of which the client wants no more when it is dropped."""
    reading = response._flow()
    if reading is not None:
        reading.client = client


def closing(reading: Reading) -> list[tuple[str, dict[str, Any]]]:
    """The calls that leave nothing of a stream behind."""
    calls: list[tuple[str, dict[str, Any]]] = [("request.forget", {"request": reading.request})]
    if not reading.over:
        calls.insert(0, ("stream.close", {"stream": reading.name}))
    return calls


class Pipe(RawIOBase):
    """A body as a file that can be read, from a connection that carries nothing else."""

    def __init__(self, path: str, frame: bytes, ended: Callable[[], None]) -> None:
        self._ended: Callable[[], None] | None = ended
        self._rest = b""
        try:
            self._socket: Socket = connect(path)
        except OSError as problem:
            raise cut(problem) from None
        try:
            self._socket.sendall(frame)
            while b"\n" not in self._rest:
                piece = self._socket.recv(PIECE)
                if not piece:
                    raise cut()
                self._rest += piece
            line, self._rest = self._rest.split(b"\n", 1)
            attached(line)
        except OSError as problem:
            self._socket.close()
            raise problem if isinstance(problem, OutriderError) else cut(problem) from None
        except BaseException:
            self._socket.close()
            raise

    def readable(self) -> bool:
        """It can be read."""
        return True

    def fileno(self) -> int:
        """The socket's, for ``select``; some bytes may have been read from it already."""
        return self._socket.fileno()

    def readinto(self, buffer: Any) -> int:
        """As of any file: how many bytes were there; none at the end. Raises if the body was cut short."""
        view = memoryview(buffer).cast("B")
        if self._rest:
            size = min(len(view), len(self._rest))
            view[:size], self._rest = self._rest[:size], self._rest[size:]
            return size
        if self._ended is None:
            return 0
        try:
            size = self._socket.recv_into(view)
        except ConnectionError as problem:
            raise cut(problem) from None
        if size == 0 and len(view):
            ended, self._ended = self._ended, None
            ended()
        return size

    def close(self) -> None:
        """Ends the connection, and with it the request unless all was read."""
        if not self.closed:
            self._socket.close()
        super().close()
