# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The exceptions with members of their own, the bases of those, and the exception of each error of the service. To be
imported from :mod:`outrider._protocol.exceptions`, which is generated: it adds the others, and draws the tree.
"""

from __future__ import annotations

from .hints import Any, Mapping

BY_CODE: dict[int, type[OutriderError]] = {}
"""The exceptions by their codes; two digits stand for the codes of their hundred that no other exception has."""


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
        # which pickle and copy have loaded
        from copyreg import __newobj__  # type: ignore[attr-defined]

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


class TokenError(CallError):
    """A credential has no token to give; ``data["failure"]`` says why.

    ``-32018``  noToken: A credential has no token to give, or cannot be read or written.
    """

    @property
    def needs_login(self) -> bool:  # only a person can help
        said: Any = self.data.get("failure") or {}
        return said.get("code") == 1320 or str(said.get("data", {}).get("oauth", {}).get("kind")) == "needsLogin"


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


class TransportError(ExchangeError):
    """The network failed.

    ``1400``  other: Something else went wrong on the network.
    ``1414``  redirectRefused: The redirect has no usable target, or must not be followed.
    ``1419``  protocolNotNegotiated: The request requires HTTP/2 (``httpVersion``), and the server or the proxy does not
              support HTTP/2.
    ``1420``  addressRefused: The host has no address that the request may connect to (``addresses``).
    ``1421``  notCached: No stored response may be used, and the request must not go to the server (``onlyIfCached``).
    ``1422``  tooManyOpenFiles: No file descriptor was free: the process, the system, or this client's share of the
              connections is at its limit.
    """


class RequestTimeout(TransportError, TimeoutError):
    """A timeout; ``data["phase"]`` names the phase, for timeouts of the service.

    ``1405``  timedOut: A phase took longer than its timeout.
    """

    @classmethod
    def late(cls, message: str, **data: Any) -> RequestTimeout:
        """A timeout of this client."""
        return cls(message, code=1405, kind="sessionTaskFailed", reason="timedOut", data=data, retryable=True)


def class_for(code: int) -> type[OutriderError]:
    """The exception that a code of the protocol becomes; a class of the right half of the tree for any code."""
    general = BY_CODE[-32603] if code < 0 else BY_CODE.get(code // 100, ExchangeError)
    return BY_CODE.get(code, general)


def _sentence(error: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    try:
        from .wording import sentence
    except (ImportError, OSError):
        # no file descriptor is free, or the package has been replaced: the words of the protocol
        return str(error.get("message", ""))
    return sentence(error, data)


def from_error(error: Any, in_python: bool = True) -> OutriderError:
    """A JSON-RPC ``error`` object as an exception. Returned, not raised.

    The message names the parameters of this client, or with ``in_python=False`` those of the protocol.
    """
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return ProtocolError("the service sent an error that is not one: " + repr(error)[:200])
    code: int = error["code"]
    data = error["data"] if isinstance(error.get("data"), dict) else {}
    kind, reason = data.get("kind"), data.get("reason")
    return class_for(code)(
        _sentence(error, data) if in_python else str(error.get("message", "")),
        code=code,
        kind=kind if isinstance(kind, str) else None,
        reason=reason if isinstance(reason, str) else None,
        data=data,
        retryable=code in (-32011, -32017),
    )


def from_failure(failure: Mapping[str, Any], response: Any) -> ExchangeError:
    """A Failure inside a Response as an exception that carries the Response. Returned, not raised."""
    code: int = failure["code"] if isinstance(failure.get("code"), int) else 1400
    found = class_for(code)
    chosen = found if issubclass(found, ExchangeError) else ExchangeError
    return chosen(
        _sentence(failure, failure),
        code=code,
        kind=failure.get("kind"),
        reason=failure.get("reason"),
        data=failure,
        retryable=failure.get("retryable") is True,
        response=response,
    )
