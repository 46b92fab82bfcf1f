# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Everything that can go wrong, as one tree.

::

    OutriderError
    ├── CallError                 the service refused the call, or could not finish it
    │   ├── InvalidCall           a parameter is wrong (also a ValueError); ``.pointer`` names it
    │   │   └── UnknownMethod     this service has no such method
    │   ├── HandleError           no such handle, or it is in the wrong state
    │   ├── LimitError            message too long, too many calls, client too slow
    │   ├── NotPermitted          the handle belongs to another user (also a PermissionError)
    │   ├── FeatureMissing        the service is too old for a required feature
    │   ├── CallCancelled         ended by ``$/cancelRequest``
    │   ├── TokenError            a credential has no token; ``.needs_login`` says whether a person must help
    │   ├── CallbackError         a callback was late, failed, or its program has gone
    │   ├── ServerStopping        the service is shutting down
    │   └── ServerError           a bug in the service, or an error this client does not know
    ├── ExchangeError             the HTTP exchange failed; ``.response`` holds all that arrived
    │   ├── RequestError          the request could not be built (also a ValueError)
    │   ├── InterceptionError     an adapter, a retrier or a credential failed
    │   ├── TransportError        the network failed
    │   │   ├── ConnectError      refused, unreachable, offline
    │   │   │   └── NameNotFound  the host has no address
    │   │   ├── ConnectionLost    the connection ended before the response
    │   │   ├── RequestTimeout    too late, in the service or here (also a TimeoutError)
    │   │   ├── TLSError          no secure connection could be made
    │   │   │   └── TrustError    the server's certificate was refused
    │   │   ├── TooManyRedirects
    │   │   ├── MalformedResponse the peer does not speak HTTP properly
    │   │   ├── ProxyError
    │   │   └── ResponseTooLarge
    │   ├── ValidationError       the response fails ``validate``
    │   │   └── StatusError       the status does
    │   ├── SerializationError    the body does not have the form of ``serialize``
    │   │   └── SchemaError       the body does not fit its schema; ``.instance_pointer`` says where
    │   ├── FileError             a downloaded file could not be moved or written
    │   ├── Cancelled             the request was cancelled, or its session closed
    │   ├── StreamError           a WebSocket, event stream or TCP stream failed
    │   ├── RouterError           an endpoint or a path parameter is missing
    │   └── ReplayError           a cassette or the stubs have nothing for the request, or cannot be used
    ├── ProtocolError             the two sides disagree about the protocol itself
    └── ServerGone                the connection to the service ended (also a ConnectionError)
        └── ServerNotFound        no service listens, and none could be started

Every exception has ``code``, ``kind``, ``reason``, ``data`` and ``retryable``; programs branch on the
class or the code, never on the message.
"""

from __future__ import annotations

from copyreg import __newobj__  # type: ignore[attr-defined]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class OutriderError(Exception):
    """The root of the tree.

    ``code`` is the number in the protocol (``None`` for errors of this client), ``kind`` and ``reason`` its names,
    ``data`` further details, and ``retryable`` whether the same call could succeed later.
    """

    code: int | None = None
    kind: str | None = None
    reason: str | None = None
    retryable: bool = False
    data: Mapping[str, Any]

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        kind: str | None = None,
        reason: str | None = None,
        data: Mapping[str, Any] | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind
        self.reason = reason
        self.data = {} if data is None else data
        self.retryable = retryable

    def __reduce__(self) -> Any:
        # without the constructor, whose parameters need not be the arguments of the exception
        return __newobj__, (type(self), *self.args), {**self.__dict__, "args": self.args}

    @property
    def message(self) -> str:
        """The sentence for people."""
        return str(self)

    @property
    def pointer(self) -> str | None:
        """Which parameter is meant, as an RFC 6901 pointer (``/body/file``), when the service said so."""
        pointer = self.data.get("pointer")
        return pointer if isinstance(pointer, str) else None


class CallError(OutriderError):
    """The service refused the call, or could not finish it. The error says nothing about an HTTP exchange."""


class InvalidCall(CallError, ValueError):
    """A parameter is missing, unknown or of the wrong kind, or the call is unreadable. The message names the parameter
    of this client; ``pointer`` the member of the protocol."""


class UnknownMethod(InvalidCall):
    """The service has no method of that name; ``data["near"]`` may hold similar names."""


class HandleError(CallError):
    """The handle is not known any more, or is in the wrong state for this."""


class LimitError(CallError):
    """A limit was met: message length, calls in flight, or a client that reads too slowly."""


class NotPermitted(CallError, PermissionError):
    """The handle belongs to another connection."""


class FeatureMissing(CallError):
    """``require`` named a feature that this service does not have."""


class CallCancelled(CallError):
    """The call was ended by ``$/cancelRequest``."""


class TokenError(CallError):
    """A credential has no token to give; ``data["failure"]`` says why."""

    @property
    def needs_login(self) -> bool:  # only a person can help
        said: Any = self.data.get("failure") or {}
        return said.get("code") == 1320 or str(said.get("data", {}).get("oauth", {}).get("kind")) == "needsLogin"


class CallbackError(CallError):
    """A callback got no reply in time, failed, or its program has gone."""


class ServerStopping(CallError):
    """The service is shutting down and takes no new calls."""


class ServerError(CallError):
    """A bug in the service (``data["report"]`` tells more), or a code that this client does not know."""


class ProtocolError(OutriderError):
    """The two sides disagree about JSON-RPC itself; the connection is not usable any more."""


class ServerGone(OutriderError, ConnectionError):
    """The connection to the service ended.

    ``in_flight`` names the methods that had been sent and had no reply: they may or may not have had an
    effect, which is why they are never repeated by themselves. The next call connects again.
    """

    def __init__(self, message: str, *, in_flight: tuple[str, ...] = ()) -> None:
        super().__init__(message, retryable=True)
        self.in_flight = in_flight


class ServerNotFound(ServerGone):
    """No service listens, and none could be started. The message lists the attempts."""


class ExchangeError(OutriderError):
    """The HTTP exchange failed. Everything that arrived is in ``response``.

    ``failure`` is the protocol's Failure object, ``response`` the
    :class:`~outrider.Response` (``None`` only when this client gave up by itself).
    """

    def __init__(self, message: str, *, response: Any = None, **given: Any) -> None:
        super().__init__(message, **given)
        self.response = response

    @property
    def failure(self) -> Mapping[str, Any]:
        """The Failure object of the service."""
        return self.data

    @property
    def underlying(self) -> Mapping[str, Any]:
        """The error of the operating system, TLS or DNS: ``domain``, ``code``, ``message``; may be empty."""
        underlying = self.data.get("underlying")
        return underlying if isinstance(underlying, dict) else {}

    @property
    def resume_data(self) -> str | None:
        """The data for ``client.download.resume``; ``None`` if nothing was kept, or this was no download."""
        return self._detail("resumeData")

    @property
    def instance_pointer(self) -> str | None:
        """The place of the fault in the body, as a JSON pointer; ``None`` if the fault is not in the body."""
        return self._detail("instancePointer")

    def _detail(self, name: str) -> str | None:
        found = data.get(name) if isinstance(data := self.data.get("data"), dict) else None
        return found if isinstance(found, str) else None


class RequestError(ExchangeError, ValueError):
    """The request could not be built: bad URL, unusable body, parameters that cannot be encoded."""


class InterceptionError(ExchangeError):
    """An adapter, a retrier, or the renewal of a credential failed."""


class TransportError(ExchangeError):
    """The network failed."""


class ConnectError(TransportError):
    """No connection could be made: refused, unreachable, or offline."""


class NameNotFound(ConnectError):
    """The host's name has no address."""


class ConnectionLost(TransportError):
    """The connection ended before the response; ``response.content`` holds what had arrived."""


class RequestTimeout(TransportError, TimeoutError):
    """A timeout; ``data["phase"]`` names the phase, for timeouts of the service."""

    @classmethod
    def late(cls, message: str) -> RequestTimeout:
        """A timeout of this client."""
        return cls(message, code=1405, kind="sessionTaskFailed", reason="timedOut", retryable=True)


class TLSError(TransportError):
    """No secure connection could be made: the handshake failed, or the client certificate is missing or unusable."""


class TrustError(TLSError):
    """The server's certificate was refused."""


class TooManyRedirects(TransportError):
    """More redirects than allowed, or a circle of them."""


class MalformedResponse(TransportError):
    """The server sent invalid HTTP."""


class ProxyError(TransportError):
    """The proxy refused or failed; ``data["data"]["proxy"]`` says which."""


class ResponseTooLarge(TransportError):
    """The response, or its header, is over a limit."""


class ValidationError(ExchangeError):
    """The response fails ``validate``."""


class StatusError(ValidationError):
    """The status says that the request failed. ``response.status`` is the number."""


class SerializationError(ExchangeError):
    """The body does not have the form of ``serialize``."""


class SchemaError(SerializationError):
    """The body does not fit the ``schema`` of ``serialize``. ``instance_pointer`` says where in the body."""


class FileError(ExchangeError):
    """A downloaded file could not be moved or written, or has a wrong digest."""


class Cancelled(ExchangeError):
    """The request was cancelled, or its session was closed."""


class StreamError(ExchangeError):
    """A WebSocket, event stream or TCP stream failed."""


class RouterError(ExchangeError):
    """An endpoint or a path parameter is missing."""


class ReplayError(ExchangeError):
    """A cassette or the stubs of a test have nothing for the request, or the cassette cannot be used."""


_CALL_ERRORS: dict[int, type[OutriderError]] = {
    **dict.fromkeys((-32700, -32600, -32602), InvalidCall),
    -32601: UnknownMethod,
    -32603: ServerError,
    -32800: CallCancelled,
    **dict.fromkeys((-32010, -32011, -32016), LimitError),
    **dict.fromkeys((-32012, -32013), HandleError),
    -32014: NotPermitted,
    -32015: FeatureMissing,
    -32017: ServerStopping,
    -32018: TokenError,
    **dict.fromkeys((-32020, -32021, -32022), CallbackError),
}

_EXCHANGE_ERRORS: dict[int, type[ExchangeError]] = {
    1401: NameNotFound,
    **dict.fromkeys((1402, 1403, 1412), ConnectError),
    1404: ConnectionLost,
    1405: RequestTimeout,
    **dict.fromkeys((1406, 1417, 1418), TLSError),
    1407: TooManyRedirects,
    1408: MalformedResponse,
    **dict.fromkeys((1409, 1415, 1416), ProxyError),
    **dict.fromkeys((1410, 1413), RequestError),
    1411: ResponseTooLarge,
    1600: StatusError,
    1705: SchemaError,
}

_EXCHANGE_FAMILIES: dict[int, type[ExchangeError]] = {
    11: RequestError,
    12: RequestError,
    13: InterceptionError,
    14: TransportError,
    15: TrustError,
    16: ValidationError,
    17: SerializationError,
    18: FileError,
    19: Cancelled,
    20: StreamError,
    21: RouterError,
    22: ReplayError,
}


def class_for(code: int) -> type[OutriderError]:
    """The exception that a code of the protocol becomes; a class of the right half of the tree for any code."""
    if code < 0:
        return _CALL_ERRORS.get(code, ServerError)
    return _EXCHANGE_ERRORS.get(code) or _EXCHANGE_FAMILIES.get(code // 100, ExchangeError)


def from_error(error: Any, in_python: bool = True) -> OutriderError:
    """A JSON-RPC ``error`` object as an exception. Returned, not raised.

    The message names the parameters of this client, or with ``in_python=False`` those of the protocol.
    """
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return ProtocolError("the service sent an error that is not one: " + repr(error)[:200])
    code: int = error["code"]
    data = error["data"] if isinstance(error.get("data"), dict) else {}
    from .wording import sentence

    kind, reason = data.get("kind"), data.get("reason")
    return class_for(code)(
        sentence(error, data) if in_python else str(error.get("message", "")),
        code=code,
        kind=kind if isinstance(kind, str) else None,
        reason=reason if isinstance(reason, str) else None,
        data=data,
        retryable=code in (-32011, -32017),
    )


def from_failure(failure: Mapping[str, Any], response: Any) -> ExchangeError:
    """A Failure inside a Response as an exception that carries the Response. Returned, not raised."""
    from .wording import sentence

    code: int = failure["code"] if isinstance(failure.get("code"), int) else 1400
    found = class_for(code)
    chosen = found if issubclass(found, ExchangeError) else ExchangeError
    return chosen(
        sentence(failure, failure),
        code=code,
        kind=failure.get("kind"),
        reason=failure.get("reason"),
        data=failure,
        retryable=failure.get("retryable") is True,
        response=response,
    )
