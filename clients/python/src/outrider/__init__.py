# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""HTTP for scripts and programs through the outrider service.

::

    import outrider

    print(outrider.get("https://example.org").text)             # a script

    with outrider.Client(timeout=10) as client:                 # a program
        pages = client.many(["https://example.org/a", "https://example.org/b"])

The service keeps connections open for every program of the user, so even a script's first request finds an open
connection. ``Client`` blocks, ``AsyncClient`` awaits; both have the same methods. Every error is an ``OutriderError``,
and their tree is drawn in ``outrider._protocol.exceptions``. Modules load on first use.
"""

from __future__ import annotations

__version__ = "0.1.0"

# for type checkers, unasync.py makes __init__.pyi of this; each class of _sync has a twin in _async
_WHERE = {
    "_api": "delete download get head many options patch post put request router session sse stream upload"
    " websocket",
    "_protocol.access": "UnverifiedWarning",
    "_protocol.models": "Event Headers Progress",
    "_resources.bars": "bar",
    "_resources.oauth": "AccessToken DeviceLogin LoggedOut Login LoginFailed",
    "_resources.sessions": "Answered Arrived Attempt Challenge Encoded PresentedServer Redirect",
    "_resources.sockets": "Reachability ServerSentEvent WebSocketClosed",
    "_sync.client": "Client",
    "_sync.cookies": "Cookies",
    "_sync.event_source": "EventSource",
    "_sync.events": "EventStream",
    "_sync.oauth": "Credential",
    "_sync.responses": "Response",
    "_sync.router": "Router",
    "_sync.sessions": "Session",
    "_sync.streams": "Stream",
    "_sync.tcp": "TCPConnection",
    "_sync.transfers": "Request",
    "_sync.watching": "Watch",
    "_sync.websockets": "WebSocket",
    "_protocol.exceptions": "CallCancelled CallError CallbackError Cancelled ConnectError ConnectionLost ExchangeError"
    " FeatureMissing FileError HandleError InterceptionError InvalidCall LimitError MalformedResponse NameNotFound"
    " NotPermitted OutriderError ProtocolError ProxyError ReplayError RequestError RequestTimeout ResponseTooLarge"
    " RouterError SchemaError SerializationError ServerError ServerGone ServerNotFound ServerStopping StatusError"
    " StreamError TLSError TokenError TooManyRedirects TransportError TrustError UnknownMethod ValidationError",
}
_WHERE.update({f"_async{module[5:]}": f"Async{name}" for module, name in _WHERE.items() if "_sync" in module})

__all__ = ["__version__", *sorted(" ".join(_WHERE.values()).split())]  # pyright: ignore


def __getattr__(name: str) -> object:
    """Loads the module of a public name when the name is first used (PEP 562)."""
    for module, names in _WHERE.items():
        if name in names.split():
            # importlib, which is not loaded otherwise, takes as long as a third of this package
            found: object = getattr(__import__(f"{__name__}.{module}", fromlist=(name,)), name)
            globals()[name] = found
            return found
    from ._protocol.habits import NAMES

    hint = f"; use {NAMES[name]}" if name in NAMES else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return list(__all__)
