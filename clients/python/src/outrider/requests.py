# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A transport adapter for requests: a program keeps its ``requests.Session``, and the service does the networking.

::

    import outrider.requests, requests

    session = requests.Session()
    session.mount("https://", outrider.requests.Adapter())

Needs ``pip install outrider[requests]``.
"""

from __future__ import annotations

import os
import pickle
from typing import Any

import certifi
import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.utils import select_proxy
from urllib3.exceptions import (
    ConnectTimeoutError,
    MaxRetryError,
    NewConnectionError,
    ProtocolError,
    ProxyError,
    ReadTimeoutError,
    SSLError,
)
from urllib3.util import Timeout

from ._dropins.blocking import Body, Link
from ._dropins.exchanges import INLINE, Full, Head, Settings, Unsupported, limits
from ._dropins.raw import SERVICE, Raw
from ._dropins.retrying import retried
from ._protocol import exceptions as errors
from ._protocol.frames import in_base64
from ._protocol.access import identity, roots
from ._protocol.hints import Iterator, Mapping, NoReturn
from ._resources.feeding import LONGEST, PIECE, octets
from ._sync.client import Client as _Client

__all__ = ["Adapter", "UnsupportedOption", "install"]

_PATIENCE = 60.0
"""Seconds that a request with ``stream=True`` waits while too many others have unread bodies."""


_POOL = ": the service keeps the connections; connections= limits those to one host"
_INSTEAD = {
    "max_retries": ": write retry={'limit': 3, 'statuses': [503], 'scale': 0.5}, with the members of Retry",
    **dict.fromkeys(("pool_connections", "pool_maxsize", "pool_block"), _POOL),
}
"""What takes the place of the options of ``requests.adapters.HTTPAdapter``."""


class UnsupportedOption(requests.exceptions.RequestException, ValueError):
    """An option of requests that the service cannot follow; the message names a remedy. Nothing was sent."""


class Adapter(BaseAdapter):
    """Sends the requests of a ``requests.Session`` through the outrider service.

    ``client`` is an :class:`outrider.Client` that other code uses, too; by default the adapter connects by itself, to
    the user's service or to ``socket``. ``session`` names a session of the service with settings of its own.
    ``credential`` names an OAuth 2 credential, whose token goes to the origins of that credential with every request
    that has no Authorization of its own. ``retry``, ``priority`` and ``tag`` are the same as for
    :meth:`outrider.Client.get`. ``connections`` is the most connections to a host at once; a ``session`` has its own
    limit.

    Redirects, cookies, hooks, ``auth=`` and the decoding of bodies stay with requests. An adapter serves any number of
    threads, also after a fork, and can be pickled unless created with a client.
    """

    def __init__(
        self, client: _Client | None = None, *, socket: str | os.PathLike[str] | None = None,
        session: str | None = None, credential: str | None = None, retry: bool | Mapping[str, Any] | None = None,
        priority: str | None = None, tag: str | None = None, connections: int = 100, **unknown: NoReturn,
    ) -> None:
        for name in unknown:
            raise TypeError(f"Adapter has no option {name}{_INSTEAD.get(name, '')}")
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        if client is not None and socket is not None:
            raise TypeError("give only one of client and socket")
        self._settings = Settings(socket, session, credential, retry, priority, tag, connections)
        self._link = Link(self._settings, client)

    def send(
        self, request: requests.PreparedRequest, stream: bool = False, timeout: Any = None, verify: bool | str = True,
        cert: Any = None, proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Sends a prepared request: called by ``requests.Session``."""
        times = _timeout(timeout)
        lease = self._link.lease()
        sent, length = _body(request)
        pieces: Any = sent
        if isinstance(sent, bytes):
            pieces = None if length is not None and len(sent) == length <= INLINE else (sent,)
        try:
            # without stream=True the bodies of other threads end by themselves
            with lease.place(stream, _PATIENCE if stream else LONGEST, pieces is not None) as place:
                params = self._params(request, stream, times, verify, cert, proxies)
                if pieces is None and sent is not None:
                    params["body"] = {"base64": in_base64(sent)}
                result = lease.exchange(params, pieces, length, times[1])
        except Unsupported as problem:
            raise UnsupportedOption(str(problem), request=request) from None
        except Full as problem:
            raise requests.ConnectionError(f"{problem} (read or close them)", request=request) from None
        except errors.OutriderError as problem:
            raise _raised(problem, request) from problem
        body = Body(lease, result, times[1], place)
        raw = Raw(Head(result), body, request.method or "GET", request.url or "")
        response: requests.Response = self.build_response(request, raw)
        return response

    def _params(
        self, request: requests.PreparedRequest, stream: bool, times: tuple[float | None, float | None],
        verify: bool | str, cert: Any, proxies: Mapping[str, str] | None,
    ) -> dict[str, Any]:
        url, method = request.url or "", request.method or "GET"
        trust = _trust(verify, cert) if url.lower().startswith("https:") else {}
        proxy = select_proxy(url, dict(proxies) if proxies else None)
        fields = list(_fields(request.headers, proxied=proxy is not None))
        return {**self._settings.params(method, url, fields, limits(*times), proxy, stream), **trust}

    # requests itself makes its response of one of urllib3
    build_response: Any = HTTPAdapter.build_response

    def close(self) -> None:
        """Ends the adapter's own connection to the service; a later request opens a new connection."""
        self._link.close()

    def __getstate__(self) -> dict[str, Any]:
        if self._link.given is not None:
            raise pickle.PicklingError(
                "an Adapter with a client cannot be pickled (make it with socket= in place of client)"
            )
        return {"settings": self._settings}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._settings = state["settings"]
        self._link = Link(self._settings, None)

    def __repr__(self) -> str:
        return f"<outrider.requests.Adapter of {self._link.given or self._settings.socket or 'the service'}>"


_WAYS = (
    "build_connection_pool_key_attributes", "build_response", "cert_verify", "get_connection",
    "get_connection_with_tls_context", "init_poolmanager", "proxy_manager_for", "request_url",
)
"""The methods of ``HTTPAdapter`` that a class overrides to connect in another way, as to a Unix socket."""


def install(**options: Any) -> None:
    """Sends the requests of every session of this process through the service, with the options of :class:`Adapter`.

    For libraries that make their sessions themselves, also with an ``HTTPAdapter`` of their own: its ``max_retries``
    apply. Adapters of classes that connect in another way keep that way.
    """
    ours, native = Adapter(**options), HTTPAdapter.send

    def send(
        adapter: HTTPAdapter, request: requests.PreparedRequest, *values: Any, **named: Any
    ) -> requests.Response:
        if any(getattr(type(adapter), way, None) is not getattr(HTTPAdapter, way, None) for way in _WAYS):
            return native(adapter, request, *values, **named)
        adapter.add_headers(request, **named)
        return retried(adapter.max_retries, request, lambda: ours.send(request, *values, **named))

    HTTPAdapter.send = send  # type: ignore[assignment, method-assign, unused-ignore]


# What goes to the service


_SYSTEM_ROOTS = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
)


def _trust(verify: bool | str, cert: Any) -> dict[str, Any]:
    """The settings of certificates, for the service. The bundle of certifi stands for the roots of the service."""
    spec: dict[str, Any] = {}
    if verify is False:
        spec["trust"] = "none"
    elif verify is not True:
        path = os.fspath(verify)
        if not os.path.exists(path):
            raise OSError(f"Could not find a suitable TLS CA certificate bundle, invalid path: {path}")
        if path != certifi.where() and path not in _SYSTEM_ROOTS:
            spec["tls"] = {"roots": roots(path)}
    if cert is not None:
        files = cert if isinstance(cert, (tuple, list)) else (cert,)
        for name, file in zip(("certificate", "key"), files):
            if not os.path.exists(file):
                raise OSError(f"Could not find the TLS {name} file, invalid path: {file}")
        spec["tls"] = {**spec.get("tls", {}), "identity": identity(cert)}
    return spec


def _timeout(timeout: Any) -> tuple[float | None, float | None]:
    """Seconds to connect and to read, checked as requests does."""
    if isinstance(timeout, tuple):
        try:
            connect, read = timeout
        except ValueError:
            raise ValueError(
                f"Invalid timeout {timeout}. Pass a (connect, read) timeout tuple, or a single float to set both"
                " timeouts to the same value."
            ) from None
        timeout = Timeout(connect=connect, read=read)
    elif not isinstance(timeout, Timeout):
        timeout = Timeout(connect=timeout, read=timeout)
    total = _number(timeout.total)
    return _least(_number(timeout.connect_timeout), total), _least(_number(timeout._read), total)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None


def _least(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else min(one, other)


def _fields(headers: Mapping[str, Any], proxied: bool) -> Iterator[tuple[str, bytes]]:
    """The header fields as bytes, as :mod:`http.client` would send them."""
    named = False
    for key, value in headers.items():
        name = key.decode("ascii") if isinstance(key, bytes) else str(key)
        if name.lower() == "proxy-authorization" and proxied:
            # made by requests of the URL of the proxy, of which the service makes it, too
            continue
        named = named or name.lower() == "accept-encoding"
        try:
            yield name, value if isinstance(value, bytes) else str(value).encode("latin-1")
        except UnicodeEncodeError:
            raise Unsupported(
                f"header {name}: the value is not text of ISO-8859-1 (give bytes, encoded as UTF-8)"
            ) from None
    if not named:
        yield "Accept-Encoding", b"identity"


def _body(request: requests.PreparedRequest) -> tuple[Any, int | None]:
    """The body as bytes, as an iterable of them, or ``None``; and its length, if requests knows the length."""
    said = request.headers.get("Content-Length")
    length = int(said) if said is not None and str(said).isdecimal() else None
    body: Any = request.body
    if isinstance(body, str):
        return body.encode("utf-8"), length
    if isinstance(body, (bytearray, memoryview)):
        return bytes(body), length
    if body is None or isinstance(body, bytes):
        # requests gives TRACE a length, too, and the service no body
        return b"" if body is None and length == 0 and request.method != "TRACE" else body, length
    if hasattr(body, "read"):
        return _read(body), length
    return map(octets, body), length


def _read(file: Any) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        yield octets(piece)


# What comes from the service

_CONNECTING = frozenset(("queue", "resolve", "connect", "proxy", "tls"))


def _raised(problem: errors.OutriderError, request: requests.PreparedRequest) -> requests.RequestException:
    """The exception of requests for a failure before the head; its argument is urllib3's exception."""
    url, text, pointer = request.url or "", str(problem), problem.pointer or ""
    if isinstance(problem, errors.RequestTimeout):
        if problem.data.get("phase") in _CONNECTING:
            return requests.ConnectTimeout(_retried(url, ConnectTimeoutError(SERVICE, text)), request=request)
        return requests.ReadTimeout(ReadTimeoutError(SERVICE, url, f"Read timed out. {text}"), request=request)
    if isinstance(problem, errors.TLSError):
        return requests.exceptions.SSLError(_retried(url, SSLError(text)), request=request)
    if isinstance(problem, errors.ProxyError):
        return requests.exceptions.ProxyError(_retried(url, ProxyError(text, problem)), request=request)
    if isinstance(problem, errors.ConnectError):
        return requests.ConnectionError(_retried(url, NewConnectionError(SERVICE, text)), request=request)
    if problem.code == 1100:
        return requests.exceptions.InvalidURL(text, request=request)
    if problem.code == 1413:
        return requests.exceptions.InvalidSchema(text, request=request)
    if pointer.startswith("/headers") or (problem.code == 1408 and "Content-Length" in str(problem)):
        return requests.exceptions.InvalidHeader(text, request=request)
    if pointer.startswith("/proxy"):
        return requests.exceptions.InvalidProxyURL(text, request=request)
    if isinstance(problem, (errors.TransportError, errors.ServerGone, errors.Cancelled)):
        return requests.ConnectionError(ProtocolError("Connection aborted.", problem), request=request)
    if isinstance(problem, (errors.LimitError, errors.ServerStopping)):
        return requests.ConnectionError(text, request=request)
    return requests.RequestException(text, request=request)


def _retried(url: str, reason: Exception) -> MaxRetryError:
    return MaxRetryError(SERVICE, url, reason)
