# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The blocking half of the drop-ins."""

from __future__ import annotations

from _thread import get_ident
from contextlib import contextmanager
from time import monotonic, sleep

from .._connection.waiters import Turns, atomic_acquire, refuse_nested
from .._protocol.hints import Any, Iterator
from .._protocol.openings import Dropped
from .._resources.feeding import PIECE
from .._sync.client import Client
from .exchanges import Full, Settings
from .calls import Reader, Sender

BODIES = 240
"""The most streams of a drop-in at a time: of a response with a body to come, and of a body that is sent in pieces. The
service allows 256."""


class Lease(Dropped, Sender):
    """A client that is in use by a drop-in, by its requests and by the bodies that are being read.

    The last of them closes the client, unless that was given to the drop-in.
    """

    def __init__(self, client: Client, is_given: bool, settings: Settings) -> None:
        self.client = client
        self.settings = settings
        self._is_given = is_given
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
                    raise Full(patience)
                sleep(0.02)
            yield place
        except BaseException:
            places.pop(place, None)
            raise
        finally:
            places.pop(sent, None)

    def _drop(self) -> None:
        if not self._is_given:
            self.client.close()


class Body(Reader):
    """The body of a response for code that blocks."""

    def __init__(self, lease: Lease, result: dict[str, Any], read: float | None, place: object = None) -> None:
        self._place = place
        self._places = lease.places
        self._client = lease.client
        self._turns = Turns()
        super().__init__(lease.client, lease.client.invoke, result, read)
        self._invoke_raw = lease.client._invoke_raw
        self._lease: Lease | None = lease

    def next(self, size: int = PIECE) -> bytes:
        """As :meth:`Reader.next`. Threads take turns: what is more than one of them asks for is there for the next."""
        mine, turn = False, self._turns.lock()
        try:
            [mine] = atomic_acquire(turn)
            if not mine:
                refuse_nested(self._client._here())
                [mine] = atomic_acquire(turn, -1)
            return super().next(size)
        finally:
            if mine:
                turn.release()

    def call(self) -> tuple[str, dict[str, Any]] | None:
        found = super().call()
        if found is None:
            self._lease = None
        return found

    def close(self) -> None:
        """Ends the body, and its request unless that has ended. Harmless when repeated."""
        self.leave()
        self._lease = None

    def _drop(self) -> None:
        super()._drop()
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
            lease = self._leases.setdefault("", Lease(client, self.given is not None, self.settings))
        return lease

    def close(self) -> None:
        """Lets go of the client: requests and bodies that are under way still end well."""
        self._leases.pop("", None)
