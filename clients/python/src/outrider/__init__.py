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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._api import delete as delete
    from ._api import download as download
    from ._api import get as get
    from ._api import head as head
    from ._api import many as many
    from ._api import options as options
    from ._api import patch as patch
    from ._api import post as post
    from ._api import put as put
    from ._api import request as request
    from ._api import router as router
    from ._api import session as session
    from ._api import sse as sse
    from ._api import stream as stream
    from ._api import upload as upload
    from ._api import websocket as websocket
    from ._async.client import AsyncClient as AsyncClient
    from ._async.cookies import AsyncCookies as AsyncCookies
    from ._async.credentials import AsyncCredential as AsyncCredential
    from ._async.event_source import AsyncEventSource as AsyncEventSource
    from ._async.events import AsyncEventStream as AsyncEventStream
    from ._async.responses import AsyncResponse as AsyncResponse
    from ._async.router import AsyncRouter as AsyncRouter
    from ._async.sessions import AsyncSession as AsyncSession
    from ._async.started import AsyncRequest as AsyncRequest
    from ._async.streams import AsyncStream as AsyncStream
    from ._async.tcp import AsyncTCPConnection as AsyncTCPConnection
    from ._async.watching import AsyncWatch as AsyncWatch
    from ._async.websockets import AsyncWebSocket as AsyncWebSocket
    from ._protocol.exceptions import CallbackError as CallbackError
    from ._protocol.exceptions import CallCancelled as CallCancelled
    from ._protocol.exceptions import CallError as CallError
    from ._protocol.exceptions import Cancelled as Cancelled
    from ._protocol.exceptions import ConnectError as ConnectError
    from ._protocol.exceptions import ConnectionLost as ConnectionLost
    from ._protocol.exceptions import ExchangeError as ExchangeError
    from ._protocol.exceptions import FeatureMissing as FeatureMissing
    from ._protocol.exceptions import FileError as FileError
    from ._protocol.exceptions import HandleError as HandleError
    from ._protocol.exceptions import InterceptionError as InterceptionError
    from ._protocol.exceptions import InvalidCall as InvalidCall
    from ._protocol.exceptions import LimitError as LimitError
    from ._protocol.exceptions import MalformedResponse as MalformedResponse
    from ._protocol.exceptions import NameNotFound as NameNotFound
    from ._protocol.exceptions import NotPermitted as NotPermitted
    from ._protocol.exceptions import OutriderError as OutriderError
    from ._protocol.exceptions import ProtocolError as ProtocolError
    from ._protocol.exceptions import ProxyError as ProxyError
    from ._protocol.exceptions import ReplayError as ReplayError
    from ._protocol.exceptions import RequestError as RequestError
    from ._protocol.exceptions import RequestTimeout as RequestTimeout
    from ._protocol.exceptions import ResponseTooLarge as ResponseTooLarge
    from ._protocol.exceptions import RouterError as RouterError
    from ._protocol.exceptions import SchemaError as SchemaError
    from ._protocol.exceptions import SerializationError as SerializationError
    from ._protocol.exceptions import ServerError as ServerError
    from ._protocol.exceptions import ServerGone as ServerGone
    from ._protocol.exceptions import ServerNotFound as ServerNotFound
    from ._protocol.exceptions import ServerStopping as ServerStopping
    from ._protocol.exceptions import StatusError as StatusError
    from ._protocol.exceptions import StreamError as StreamError
    from ._protocol.exceptions import TLSError as TLSError
    from ._protocol.exceptions import TokenError as TokenError
    from ._protocol.exceptions import TooManyRedirects as TooManyRedirects
    from ._protocol.exceptions import TransportError as TransportError
    from ._protocol.exceptions import TrustError as TrustError
    from ._protocol.exceptions import UnknownMethod as UnknownMethod
    from ._protocol.exceptions import ValidationError as ValidationError
    from ._protocol.models import Event as Event
    from ._protocol.models import Headers as Headers
    from ._protocol.progress import Progress as Progress
    from ._protocol.trust import UnverifiedWarning as UnverifiedWarning
    from ._resources.bars import bar as bar
    from ._resources.event_source import ServerSentEvent as ServerSentEvent
    from ._resources.login import DeviceLogin as DeviceLogin
    from ._resources.login import Login as Login
    from ._resources.login import LoginFailed as LoginFailed
    from ._resources.oauth import AccessToken as AccessToken
    from ._resources.oauth import LoggedOut as LoggedOut
    from ._resources.sessions import Answered as Answered
    from ._resources.sessions import Arrived as Arrived
    from ._resources.sessions import Attempt as Attempt
    from ._resources.sessions import Challenge as Challenge
    from ._resources.sessions import Encoded as Encoded
    from ._resources.sessions import PresentedServer as PresentedServer
    from ._resources.sessions import Redirect as Redirect
    from ._resources.sockets import Reachability as Reachability
    from ._resources.sockets import WebSocketClosed as WebSocketClosed
    from ._sync.client import Client as Client
    from ._sync.cookies import Cookies as Cookies
    from ._sync.credentials import Credential as Credential
    from ._sync.event_source import EventSource as EventSource
    from ._sync.events import EventStream as EventStream
    from ._sync.responses import Response as Response
    from ._sync.router import Router as Router
    from ._sync.sessions import Session as Session
    from ._sync.started import Request as Request
    from ._sync.streams import Stream as Stream
    from ._sync.tcp import TCPConnection as TCPConnection
    from ._sync.watching import Watch as Watch
    from ._sync.websockets import WebSocket as WebSocket

_WHERE = {
    "_api": "delete download get head many options patch post put request router session sse stream upload"
    " websocket",
    "_async.client": "AsyncClient",
    "_async.cookies": "AsyncCookies",
    "_async.event_source": "AsyncEventSource",
    "_async.events": "AsyncEventStream",
    "_async.credentials": "AsyncCredential",
    "_async.responses": "AsyncResponse",
    "_async.router": "AsyncRouter",
    "_async.sessions": "AsyncSession",
    "_async.started": "AsyncRequest",
    "_async.streams": "AsyncStream",
    "_async.tcp": "AsyncTCPConnection",
    "_async.watching": "AsyncWatch",
    "_async.websockets": "AsyncWebSocket",
    "_protocol.models": "Event Headers",
    "_protocol.progress": "Progress",
    "_protocol.trust": "UnverifiedWarning",
    "_resources.bars": "bar",
    "_resources.event_source": "ServerSentEvent",
    "_resources.login": "DeviceLogin Login LoginFailed",
    "_resources.oauth": "AccessToken LoggedOut",
    "_resources.sessions": "Answered Arrived Attempt Challenge Encoded PresentedServer Redirect",
    "_resources.sockets": "Reachability WebSocketClosed",
    "_sync.client": "Client",
    "_sync.cookies": "Cookies",
    "_sync.event_source": "EventSource",
    "_sync.events": "EventStream",
    "_sync.credentials": "Credential",
    "_sync.responses": "Response",
    "_sync.router": "Router",
    "_sync.sessions": "Session",
    "_sync.started": "Request",
    "_sync.streams": "Stream",
    "_sync.tcp": "TCPConnection",
    "_sync.watching": "Watch",
    "_sync.websockets": "WebSocket",
    "_protocol.exceptions": "CallCancelled CallError CallbackError Cancelled ConnectError ConnectionLost ExchangeError"
    " FeatureMissing FileError HandleError InterceptionError InvalidCall LimitError MalformedResponse NameNotFound"
    " NotPermitted OutriderError ProtocolError ProxyError ReplayError RequestError RequestTimeout ResponseTooLarge"
    " RouterError SchemaError SerializationError ServerError ServerGone ServerNotFound ServerStopping StatusError"
    " StreamError TLSError TokenError TooManyRedirects TransportError TrustError UnknownMethod ValidationError",
}

__all__ = ["__version__"]
__all__ += sorted(name for names in _WHERE.values() for name in names.split())  # pyright: ignore


if not TYPE_CHECKING:

    def __getattr__(name):
        """Loads the module of a public name when the name is first used (PEP 562)."""
        for module, names in _WHERE.items():
            if name in names.split():
                # importlib, which is not loaded otherwise, takes as long as a third of this package
                found = getattr(__import__(f"{__name__}.{module}", fromlist=(name,)), name)
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
