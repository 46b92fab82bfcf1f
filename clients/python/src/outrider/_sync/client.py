# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The blocking client."""

from __future__ import annotations

import os
from _thread import allocate_lock

from .._connection.blocking import Connection
from .._connection.discovery import end, reach
from .._connection.inbox import Inbox
from .._connection.wire import Unsent
from .._protocol.exceptions import ExchangeError, OutriderError, ServerGone
from .._protocol.frames import encode, result_of, unpack
from .._protocol.parameters import FOREVER, UNTIMED_GUARD, Defaults, build, build_item, guard_for, own_timeout
from .responses import Response
from .verbs import Verbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from subprocess import Popen
    from types import TracebackType
    from typing import Any, TypeVar, overload

    from typing_extensions import Unpack

    from .._protocol.models import Event
    from .._protocol.options import Auth, HeadersIn, Item, Options, SSEOptions, Timeout
    from .._protocol.parameters import Built
    from .._resources.sessions import Codes
    from .._resources.watching import Wishes
    from .downloads import Downloads
    from .event_source import EventSource
    from .events import EventStream, Subscriptions
    from .oauth import Credentials
    from .sessions import Session
    from .streams import Stream
    from .watching import Watch

    Handler = TypeVar("Handler", bound=Callable[[Event], object])
    Answerer = TypeVar("Answerer", bound=Callable[[dict[str, Any]], "Mapping[str, Any] | None"])
else:

    def overload(function: Any) -> None:
        """Only type checkers read overloads; the module of the real one costs too much to load."""


class Client(Verbs):
    """Makes HTTP requests through the outrider service, one at a time or many at once.

    ::

        with outrider.Client() as client:
            r = client.get("https://example.org", params={"q": "wolf"})
            r.raise_for_status()
            print(r.json())

    Without arguments it finds the user's service, and starts it if there is none. ``socket`` is the path of
    another one; ``stdio=True`` starts a service that belongs to this client alone, ``command`` one by a command
    of your own. ``headers``, ``auth`` and ``timeout`` are for every request that does not give its own.

    A request that fails on the network raises the matching :class:`~outrider.ExchangeError`; ``check=False``,
    here or in a request, returns the response instead, with the exception in ``r.error``. A status such as 404
    is not a failure: see :meth:`Response.raise_for_status`.

    Many threads may use one client, also after a fork: a child opens a connection of its own. When the service
    has gone, calls in flight raise :class:`~outrider.ServerGone`, and the next one connects again.
    """

    download: Downloads
    oauth: Credentials

    def __init__(
        self,
        *,
        socket: str | os.PathLike[str] | None = None,
        stdio: bool = False,
        command: Sequence[str] | None = None,
        spawn: bool = True,
        headers: HeadersIn | None = None,
        auth: Auth | None = None,
        timeout: Timeout | None = None,
        check: bool = True,
    ) -> None:
        if (socket is not None) + bool(stdio) + (command is not None) > 1:
            raise TypeError("give only one of socket, stdio and command")
        if isinstance(command, str):
            raise TypeError("command must be a list of words, not one string")
        if command is not None and not command:
            raise ValueError("command must name a program")
        self._defaults = Defaults(headers, auth, timeout, check)
        self._socket = None if socket is None else os.fspath(socket)
        self._command = None if command is None else list(command)
        self._stdio = stdio
        self._spawn = spawn
        self._connection: Connection | None = None
        self._child: Popen[bytes] | None = None
        self._subscriptions: Subscriptions | None = None
        self._codes: Codes | None = None
        self._opening = allocate_lock()
        self._pid = os.getpid()
        self._closed = False

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Loads ``download`` and ``oauth`` when they are first used."""
            if name == "download":
                from .downloads import Downloads as kind
            elif name == "oauth":
                from .oauth import Credentials as kind
            else:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            made = kind(self)
            setattr(self, name, made)
            return made

    # Requests

    def _send(self, method: str, url: str, options: Mapping[str, Any]) -> Response:
        if options.get("progress"):
            from .transfers import send

            return send(self, method, url, options)
        built = build(method, url, options, self._defaults)
        message = self._message("data.send", built.params, built.guard)
        response = Response(message if type(message) is bytes else result_of(message), self.invoke)
        if built.body_to == "stream":
            response._follow(self)
        if built.check and type(message) is not bytes:
            response.raise_for_error()
        return response

    def many(
        self, requests: Iterable[Item], *, window: int = 64, **options: Unpack[Options]
    ) -> list[Response | OutriderError]:
        """Sends many requests over one connection, ``window`` of them at a time, and waits for all.

        A request is a URL, a pair of method and URL, or a mapping with ``url``, perhaps ``method``, and options;
        ``options`` are for all of them. The list has their responses in the same order. A failed request does not
        disturb the others: in its place is the exception, which is returned and not raised::

            for url, r in zip(urls, client.many(urls)):
                print(url, r if isinstance(r, Exception) else r.status)
        """
        if not 1 <= window <= 256:
            raise ValueError("window must be between 1 and 256")
        built = [build_item(item, options, self._defaults) for item in requests]
        if not built:
            return []
        params, guard = [one.params for one in built], max([one.guard for one in built])
        try:
            answers = self._live().batch("data.send", params, window, guard)
        except Unsent:
            answers = self._open().batch("data.send", params, window, guard)
        return [self._outcome(answer, one) for answer, one in zip(answers, built)]

    def _outcome(self, answer: Any, built: Built) -> Response | OutriderError:
        if isinstance(answer, OutriderError):
            return answer
        try:
            response = Response(answer if type(answer) is bytes else result_of(answer), self.invoke)
        except OutriderError as problem:
            return problem
        if built.body_to == "stream":
            response._follow(self)
        error: ExchangeError | None = response.error if built.check else None
        return response if error is None else error

    def start(self, method: str, url: str, **options: Unpack[Options]) -> str:
        """Starts a request and returns its handle at once; options as for :meth:`get`. See :meth:`wait`."""
        built = build(method, url, options, self._defaults)
        return str(self._result("data.start", built.params, UNTIMED_GUARD)["request"])

    def wait(self, request: str, *, timeout: float | None = None, check: bool | None = None) -> Response | None:
        """The response to a started request; ``None`` if it has none after ``timeout`` seconds."""
        params: dict[str, Any] = {"request": request, **({} if timeout is None else {"timeout": timeout})}
        result = self.invoke("request.wait", params, timeout=FOREVER if timeout is None else timeout)
        if result.get("pending"):
            return None
        response = Response(result, self.invoke)
        if self._defaults.check if check is None else check:
            response.raise_for_error()
        return response

    def cancel(self, request: str) -> str:
        """Cancels a started request; its state afterwards. Who waits for it gets :class:`~outrider.Cancelled`."""
        return str(self.invoke("request.cancel", {"request": request})["state"])

    def stream(self, url: str, *, method: str = "GET", **options: Unpack[Options]) -> Stream:
        """Sends a request, waits for its head, and gives the body as it comes; options as for :meth:`get`.

        ::

            with client.stream("https://example.org/log") as s:
                for line in s.lines():
                    print(line)

        There are ``s.bytes()``, ``s.text()``, ``s.lines()``, ``s.json()`` and ``s.frames()``, and ``s.raw()`` for
        those who want a file. A ``timeout`` in seconds is for the head, and for each silence in the body.
        """
        from .._resources.streams import build_stream
        from .streams import Stream

        built = build_stream(method, url, options, self._defaults)
        result = self._result("stream.open", built.params, built.guard)
        connection = self._connection
        path = None if self._stdio or self._command or connection is None else connection.name
        return Stream(result, self, path, built.check)

    # Any method

    def call(self, name: str, /, **params: Any) -> dict[str, Any]:
        """Calls any method of the service by its name: ``client.call("server.info")``.

        The parameters are those of the protocol, by their names there; the result is what the service gave. A
        refusal raises a :class:`~outrider.CallError`. A failed exchange does not: it is in the result."""
        return self.invoke(name, params, timeout=own_timeout(params))

    def invoke(
        self, name: str, params: Mapping[str, Any] | None = None, *, timeout: Timeout | None = None
    ) -> dict[str, Any]:
        """As :meth:`call`, with the parameters in a mapping and a time limit that is this client's only."""
        return self._result(name, encode({} if params is None else params), guard_for(timeout))

    def _result(self, method: str, params: str, seconds: float) -> dict[str, Any]:
        return unpack(self._message(method, params, seconds))

    def _message(self, method: str, params: str, seconds: float) -> Any:
        if self._subscriptions is not None:
            return self._subscriptions.beside(self._say, method, params, seconds)
        return self._say(method, params, seconds)

    def _say(self, method: str, params: str, seconds: float) -> Any:
        connection = self._connection
        if connection is None or connection.dead is not None or connection.pid != os.getpid():
            connection = self._open()
        try:
            return connection.call(method, params, seconds)
        except Unsent:
            return self._open().call(method, params, seconds)

    def info(self) -> dict[str, Any]:
        """What the service tells about itself: ``server.info``."""
        return self.invoke("server.info")

    def stats(self) -> dict[str, Any]:
        """What the service has done so far: ``server.stats``."""
        return self.invoke("server.stats")

    # Events and callbacks

    def sse(self, url: str, **options: Unpack[SSEOptions]) -> EventSource:
        """Opens an event stream: the events of a server, as they come; see :class:`outrider.EventSource`."""
        from .event_source import EventSource

        return EventSource(self, url, options)

    def session(self, **settings: Any) -> Session:
        """Requests that share settings, and functions that are asked about them; see :class:`outrider.Session`."""
        from .._resources.sessions import Codes
        from .sessions import Session

        self._codes = self._codes or Codes()
        return Session(self, self._codes, settings)

    def events(self, *names: str, timeout: float | None = None, limit: int = 1000) -> EventStream:
        """Events as they come, to iterate over: all of them, or those with the given names.

        Ask for it before the request that makes them, so that none is missed: ``with client.events() as events: …``
        """
        return self._inbox().stream(self._live(), names, float("inf") if timeout is None else timeout, limit)

    def watch(self, *topics: str, function: Callable[[Event], object] | None = None, **wishes: Unpack[Wishes]) -> Watch:
        """What happens to this client's requests, to iterate over or for a function: see :class:`outrider.Watch`."""
        from .watching import watch

        return watch(self, topics, function, **wishes)

    @overload
    def on(self, name: str) -> Callable[[Handler], Handler]: ...
    @overload
    def on(self, name: str, function: Handler) -> Handler: ...  # noqa: F811
    def on(self, name: str, function: Callable[[Event], object] | None = None) -> Any:  # noqa: F811
        """Calls ``function`` with every event of that name (``"*"`` for all), in a thread of this client's own.

        Also as a decorator: ``@client.on("event.progress")``. Functions are called one at a time, in the order of
        the events, and may use the client. When they are too slow, the oldest events are dropped."""
        if function is None:
            return lambda given: self.on(name, given)
        inbox = self._inbox()
        inbox.handlers[name] = [*inbox.handlers.get(name, ()), function]
        inbox.serve(self._live())
        return function

    def off(self, name: str, function: Callable[[Event], object] | None = None) -> None:
        """Ends what :meth:`on` began, for one function or for all of that name."""
        inbox = self._inbox()
        kept = [] if function is None else [other for other in inbox.handlers.get(name, ()) if other != function]
        if kept:
            inbox.handlers[name] = kept
        else:
            inbox.handlers.pop(name, None)

    @overload
    def on_callback(self, name: str) -> Callable[[Answerer], Answerer]: ...
    @overload
    def on_callback(self, name: str, function: Answerer) -> Answerer: ...  # noqa: F811
    def on_callback(  # noqa: F811
        self, name: str, function: Callable[[dict[str, Any]], Mapping[str, Any] | None] | None = None
    ) -> Any:
        """Answers the service's questions of that name (``callback.ask``) with what ``function`` returns.

        It gets the parameters and returns a mapping or ``None``; the service sees its exceptions as errors. Also as a
        decorator. Questions without a function are refused."""
        if function is None:
            return lambda given: self.on_callback(name, given)
        inbox = self._inbox()
        inbox.callbacks[name] = function
        inbox.serve(self._live())
        return function

    def _inbox(self) -> Subscriptions:
        if self._subscriptions is None:
            from .events import Subscriptions

            with self._opening:
                if self._subscriptions is None:
                    self._subscriptions = Subscriptions()
            if self._connection is not None:
                self._connection.inbox = self._subscriptions
        return self._subscriptions

    # The connection

    def _live(self) -> Connection:
        connection = self._connection
        if connection is None or connection.dead is not None or connection.pid != os.getpid():
            return self._open()
        return connection

    def _open(self) -> Connection:
        pid = os.getpid()
        if self._pid != pid:
            # Another thread of the parent may have held the lock when it forked.
            self._opening = allocate_lock()
            self._pid = pid
        with self._opening:
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

    def _leave(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        """Makes calls for a resource that was dropped, without waiting for their results."""
        if self._connection is not None:
            self._connection.post(calls)

    def close(self) -> None:
        """Ends the connection, and the service if this client started one of its own. Harmless when done twice."""
        self._closed = True
        connection, child = self._connection, self._child
        self._connection = self._child = None
        if connection is not None:
            if connection.pid == os.getpid():
                connection.close()
            else:
                connection.abandon()
                return
        if child is not None:
            end(child)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "stdio" if self._stdio or self._command else self._socket or "the user's service"
        return f"<outrider.Client of {where}>"
