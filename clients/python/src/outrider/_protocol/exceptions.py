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

from .hints import Any, Mapping

_CLASSES: dict[int, type[OutriderError]] = {}
"""The exceptions by their codes in the protocol; two digits stand for a hundred codes without a class of their own."""


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

    def __init_subclass__(cls, codes: tuple[int, ...] = (), **given: Any) -> None:
        super().__init_subclass__(**given)
        _CLASSES.update(dict.fromkeys(codes, cls))

    def __init__(
        self, message: str, *, code: int | None = None, kind: str | None = None, reason: str | None = None,
        data: Mapping[str, Any] | None = None, retryable: bool = False,
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


class InvalidCall(CallError, ValueError, codes=(-32700, -32600, -32602)):
    """A parameter is missing, unknown or of the wrong kind, or the call is unreadable. The message names the parameter
    of this client; ``pointer`` the member of the protocol."""


class UnknownMethod(InvalidCall, codes=(-32601,)):
    """The service has no method of that name; ``data["near"]`` may hold similar names."""


class HandleError(CallError, codes=(-32012, -32013)):
    """The handle is not known any more, or is in the wrong state for this."""


class LimitError(CallError, codes=(-32010, -32011, -32016)):
    """A limit was met: message length, calls in flight, or a client that reads too slowly."""


class NotPermitted(CallError, PermissionError, codes=(-32014,)):
    """The handle belongs to another connection."""


class FeatureMissing(CallError, codes=(-32015,)):
    """``require`` named a feature that this service does not have."""


class CallCancelled(CallError, codes=(-32800,)):
    """The call was ended by ``$/cancelRequest``."""


class TokenError(CallError, codes=(-32018,)):
    """A credential has no token to give; ``data["failure"]`` says why."""

    @property
    def needs_login(self) -> bool:  # only a person can help
        said: Any = self.data.get("failure") or {}
        return said.get("code") == 1320 or str(said.get("data", {}).get("oauth", {}).get("kind")) == "needsLogin"


class CallbackError(CallError, codes=(-32020, -32021, -32022)):
    """A callback got no reply in time, failed, or its program has gone."""


class ServerStopping(CallError, codes=(-32017,)):
    """The service is shutting down and takes no new calls."""


class ServerError(CallError, codes=(-32603,)):
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


class RequestError(ExchangeError, ValueError, codes=(11, 12, 1410, 1413)):
    """The request could not be built: bad URL, unusable body, parameters that cannot be encoded."""


class InterceptionError(ExchangeError, codes=(13,)):
    """An adapter, a retrier, or the renewal of a credential failed."""


class TransportError(ExchangeError, codes=(14,)):
    """The network failed."""


class ConnectError(TransportError, codes=(1402, 1403, 1412)):
    """No connection could be made: refused, unreachable, or offline."""


class NameNotFound(ConnectError, codes=(1401,)):
    """The host's name has no address."""


class ConnectionLost(TransportError, codes=(1404,)):
    """The connection ended before the response; ``response.content`` holds what had arrived."""


class RequestTimeout(TransportError, TimeoutError, codes=(1405,)):
    """A timeout; ``data["phase"]`` names the phase, for timeouts of the service."""

    @classmethod
    def late(cls, message: str, **data: Any) -> RequestTimeout:
        """A timeout of this client."""
        return cls(message, code=1405, kind="sessionTaskFailed", reason="timedOut", data=data, retryable=True)


class TLSError(TransportError, codes=(1406, 1417, 1418)):
    """No secure connection could be made: the handshake failed, or the client certificate is missing or unusable."""


class TrustError(TLSError, codes=(15,)):
    """The server's certificate was refused."""


class TooManyRedirects(TransportError, codes=(1407,)):
    """More redirects than allowed, or a circle of them."""


class MalformedResponse(TransportError, codes=(1408,)):
    """The server sent invalid HTTP."""


class ProxyError(TransportError, codes=(1409, 1415, 1416)):
    """The proxy refused or failed; ``data["data"]["proxy"]`` says which."""


class ResponseTooLarge(TransportError, codes=(1411,)):
    """The response, or its header, is over a limit."""


class ValidationError(ExchangeError, codes=(16,)):
    """The response fails ``validate``."""


class StatusError(ValidationError, codes=(1600,)):
    """The status says that the request failed. ``response.status`` is the number."""


class SerializationError(ExchangeError, codes=(17,)):
    """The body does not have the form of ``serialize``."""


class SchemaError(SerializationError, codes=(1705,)):
    """The body does not fit the ``schema`` of ``serialize``. ``instance_pointer`` says where in the body."""


class FileError(ExchangeError, codes=(18,)):
    """A downloaded file could not be moved or written, or has a wrong digest."""


class Cancelled(ExchangeError, codes=(19,)):
    """The request was cancelled, or its session was closed."""


class StreamError(ExchangeError, codes=(20,)):
    """A WebSocket, event stream or TCP stream failed."""


class RouterError(ExchangeError, codes=(21,)):
    """An endpoint or a path parameter is missing."""


class ReplayError(ExchangeError, codes=(22,)):
    """A cassette or the stubs of a test have nothing for the request, or the cassette cannot be used."""


def class_for(code: int) -> type[OutriderError]:
    """The exception that a code of the protocol becomes; a class of the right half of the tree for any code."""
    general = ServerError if code < 0 else _CLASSES.get(code // 100, ExchangeError)
    return _CLASSES.get(code, general)


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
