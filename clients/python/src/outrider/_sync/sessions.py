# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Sessions of the blocking client. Loaded when the first session is made."""

from __future__ import annotations

from .._resources.sessions import KINDS, Plan
from .verbs import Verbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .._resources.sessions import Codes
    from .caller import Caller
    from .responses import Response


class Session(Verbs):
    """Requests that share settings, and functions that are asked about them::

        session = client.session(headers={"X-Api": "1"}, timeout=10)

        @session.adapter
        def sign(attempt):
            attempt.headers["Authorization"] = "Bearer " + token()

        @session.retrier
        def again(answered):
            return answered.status == 503 and answered.retries < 3

        session.get("https://example.org/things", validate=True)

    The settings are those of ``session.create``: ``headers``, ``timeout``, ``connections_per_host``, ``interceptors``,
    ``redirect``, ``proxy``, ``limits``, ``name``, ``shared``, ``start_immediately`` and ``credentials``, a list or a
    mapping of URLs to user names and passwords.

    The functions run in a thread of the client; an exception becomes the service's "no answer": the attempt of an
    adapter fails, a retrier wants no retry. ``timeout`` in a decorator is how long the service waits for it.
    """

    def __init__(self, client: Caller, codes: Codes, settings: Mapping[str, Any]) -> None:
        self._client = client
        self._plan = Plan(codes, settings)
        self._made: tuple[Any, str, int] | None = None

    def adapter(self, function: Any = None, *, timeout: float | None = None, once: bool = False) -> Any:
        """Asks the function before each attempt; it changes the :class:`Attempt` that it is given. With ``once``, what
        it said the first time holds for all attempts of a request."""
        return self._added("adapt", function, timeout=timeout, once=once)

    def retrier(self, function: Any = None, *, timeout: float | None = None, once: bool = False) -> Any:
        """Asks the function after each failure, with an :class:`Answered` whose ``error`` says what failed. It returns
        whether to send again, or after how many seconds; a text refuses for good."""
        return self._added("retry", function, timeout=timeout, once=once)

    def validator(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Asks the function about each response; it returns ``False`` or a text where it is not acceptable."""
        return self._added("validate", function, timeout=timeout)

    def serializer(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Asks the function what each body says; ``response.json()`` is what it returned."""
        return self._added("serialize", function, timeout=timeout)

    def redirector(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Asks the function about each :class:`Redirect`; it returns whether to follow, or the URL to follow to."""
        return self._added("redirect", function, timeout=timeout)

    def challenge(self, function: Any = None, *, timeout: float | None = None) -> Any:
        """Asks the function about each :class:`Challenge` that no known credential answers; it returns a user name and
        a password, or nothing."""
        return self._added("challenge", function, timeout=timeout)

    def _added(self, kind: str, function: Any, **options: Any) -> Any:
        if function is None:
            return lambda given: self._added(kind, given, **options)
        shape, say = KINDS[kind]

        def answer(params: dict[str, Any]) -> dict[str, Any]:
            asked = shape(params)
            return say(asked, self._plan.codes.find(params)(asked))

        self._client.on_callback(f"callback.{kind}", answer)
        return self._plan.add(kind, function, options)

    @property
    def handle(self) -> str:
        """The service's handle for it; made when first needed, and again when the connection is another one."""
        connection = self._client._live()
        made, wanted = self._made, len(self._plan.interceptors)
        if made is None or made[0] is not connection:
            handle = str(self._client.invoke("session.create", self._plan.params())["session"])
            self._made = made = (connection, handle, wanted)
        elif made[2] != wanted:
            self._client.invoke("session.update", {"session": made[1], "interceptors": self._plan.interceptors})
            self._made = made = (connection, made[1], wanted)
        return made[1]

    def _send(self, method: str, url: str, options: Mapping[str, Any]) -> Response:
        return self._client._send(method, url, self._plan.options(self.handle, options, self._client._defaults))

    def cancel_all(self) -> int:
        """Cancels all its requests, and waits until they are over; how many there were."""
        return int(self._client.invoke("session.cancelAll", {"session": self.handle})["cancelled"])

    def close(self) -> None:
        """Ends it in the service; requests that run end with :class:`~outrider.Cancelled`."""
        if self._made is not None:
            made, self._made = self._made, None
            self._client.invoke("session.close", {"session": made[1]})

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
