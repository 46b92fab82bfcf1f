# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The blocking half of the drop-ins."""

from __future__ import annotations

from _thread import get_ident
from contextlib import contextmanager
from time import monotonic, sleep

from .._protocol.exceptions import CallError, OutriderError
from .._resources.feeding import LONGEST, PIECE, Patience
from .._sync.client import Client
from .._sync.feeding import feed
from .bodies import WAIT, BodyState, abandoned, arrived, ending, headed, is_of_session
from .parameters import fed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from .parameters import Settings

BODIES = 240
"""The most streams of a drop-in at a time: of a response with a body to come, and of a body that is sent in pieces. The
service allows 256."""


class Full(Exception):
    """All places for bodies are taken, and none has ended in time."""


class Lease:
    """A client that is in use by a drop-in, by its requests and by the bodies that are being read.

    The last of them closes the client, unless that was given to the drop-in.
    """

    def __init__(self, client: Client, is_given: bool) -> None:
        self.client = client
        self._is_given = is_given
        self.session: str | None = None
        self._successors: dict[str | None, str] = {}
        self.places: dict[object, None] = {}

    @contextmanager
    def place(self, stream: bool, patience: float, upload: bool = False) -> Iterator[object]:
        """Waits for a place for the body of a stream; the body gives it back, or a failure before the body. An
        ``upload`` has a stream for its own body, too, until the head of the response.

        That needs no lock, which a finalizer of a body might find held.
        """
        places, deadline, me = self.places, monotonic() + patience, get_ident()
        place, sent = object(), (me, object())
        try:
            # both at once: threads with one place each could wait for each other
            places.update(dict.fromkeys((sent, place) if upload else (place,) if stream else ()))
            while (stream or upload) and list(places).index(place) >= BODIES:
                if [one for one in list(places) if one is not sent and isinstance(one, tuple) and one[0] == me]:
                    # made by the body of another upload, which keeps its places meanwhile
                    break
                if monotonic() > deadline:
                    raise Full(f"too many responses are open, and none ended for {patience:g} seconds")
                sleep(0.02)
            yield place
        except BaseException:
            places.pop(place, None)
            raise
        finally:
            places.pop(sent, None)

    def begin(self, connections: int, last: str | None) -> str:
        """Makes the session of the drop-in, which opens as many connections to a host as the library would.

        Threads that do so at the same time, after the same ``last`` session, agree on the first one. That needs no
        lock, which a fork or a call within a call would find held.
        """
        made = str(self.client.invoke("session.create", {"connectionsPerHost": connections})["session"])
        self.session = session = self._successors.setdefault(last, made)
        if session != made:
            self.client._leave(ending([made]))
        return session

    def __del__(self) -> None:
        try:
            if not self._is_given:
                self.client.close()
            elif self.session is not None:
                self.client._leave(ending([self.session]))
        except Exception:
            # at the end of the interpreter functions may be gone
            pass


class Body(BodyState):
    """The body of a response for code that blocks."""

    def __init__(self, lease: Lease, result: dict[str, Any], read: float | None, place: object = None) -> None:
        self._place = place
        self._places = lease.places
        super().__init__(lease.client, lease.client.invoke, result, read)
        self._invoke = lease.client.invoke
        self._invoke_raw = lease.client._invoke_raw
        self._lease: Lease | None = lease

    def next(self, size: int = PIECE) -> bytes:
        """The next bytes, at most ``size``; none at the end. Raises the failure of a body that ended early."""
        data = self.inline(size)
        while not data:
            call = self.call(size)
            if call is None:
                self._lease = None
                return b""
            method, params = call
            data = self.take(self._invoke_raw(method, params, timeout=LONGEST))
        return data

    def close(self) -> None:
        """Ends the body, and its request unless that has ended. Harmless when repeated."""
        stream, self._stream = self._stream, None
        if stream is not None:
            _end(self._invoke, "stream.close", {"stream": stream})
        self.leave()
        self._lease = None

    def _forget(self) -> None:
        super()._forget()
        self._places.pop(self._place, None)


class Link:
    """A blocking client of the service with the settings of a drop-in."""

    def __init__(self, settings: Settings, client: Client | None) -> None:
        self.settings = settings
        self.given = client
        self._leases: dict[str, Lease] = {}

    def lease(self) -> Lease:
        """The given client, or this drop-in's own client, made on first use; the same for all threads."""
        lease = self._leases.get("")
        if lease is None:
            client = Client(socket=self.settings.socket) if self.given is None else self.given
            lease = self._leases.setdefault("", Lease(client, self.given is not None))
        return lease

    def send(self, lease: Lease, params: dict[str, Any]) -> dict[str, Any]:
        """The result of ``data.send``; raises when no head arrived."""
        return headed(self._call(lease, "data.send", params), lease.client)

    def _call(self, lease: Lease, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Calls in the session of this drop-in, unless the caller named another session."""
        invoke = lease.client.invoke
        if "session" in self.settings.members:
            return invoke(method, params, timeout=LONGEST)
        session = params["session"] = lease.session or lease.begin(self.settings.connections, None)
        try:
            return invoke(method, params, timeout=LONGEST)
        except CallError as refused:
            if not is_of_session(refused):
                raise
        params["session"] = lease.begin(self.settings.connections, session)
        return invoke(method, params, timeout=LONGEST)

    def upload(
        self, lease: Lease, params: dict[str, Any], body: Iterable[bytes], length: int | None, write: float | None
    ) -> dict[str, Any]:
        """As :meth:`send`, with a body that is written during the upload."""
        invoke = lease.client.invoke
        stream = str(invoke("upload.open")["stream"])
        fed(params, stream, length)
        started = None
        try:
            started = self._call(lease, "data.start", params)
            request = started
            result = feed(invoke, stream, body, Patience(write), lambda: _next_head(invoke, request, 0))
            while result is None:
                result = _next_head(invoke, started, WAIT)
            return headed(result, lease.client)
        except BaseException:
            for method, given in abandoned(stream, started):
                _end(invoke, method, given)
            raise

    def close(self) -> None:
        """Lets go of the client: requests and bodies that are under way still end well."""
        self._leases.pop("", None)


def _end(invoke: Callable[..., Any], method: str, params: dict[str, Any]) -> None:
    """A call that ends something; harmless if that has ended."""
    try:
        invoke(method, params, timeout=60)
    except OutriderError:
        pass


def _next_head(invoke: Callable[..., Any], started: dict[str, Any], wait: float) -> dict[str, Any] | None:
    return arrived(started, invoke("events.next", {"request": started["request"], "wait": wait}, timeout=LONGEST))
