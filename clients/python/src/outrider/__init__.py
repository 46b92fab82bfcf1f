# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""HTTP for scripts and programs through the outrider service.

::

    import outrider

    print(outrider.get("https://example.org").text)             # a script

    with outrider.Client(timeout=10) as client:                 # a program
        pages = client.many(["https://example.org/a", "https://example.org/b"])

The service keeps connections open for every program of the user, so even a script's first request finds one.
``Client`` blocks, ``AsyncClient`` awaits; both have the same methods. Every error is an ``OutriderError``, and
their tree is drawn in ``outrider._exceptions``. Nothing here is loaded before it is used.
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
    from ._api import sse as sse
    from ._api import upload as upload
    from ._async_client import AsyncClient as AsyncClient
    from ._async_event_source import AsyncEventSource as AsyncEventSource
    from ._async_events import AsyncEventStream as AsyncEventStream
    from ._async_oauth import AsyncCredential as AsyncCredential
    from ._async_sessions import AsyncSession as AsyncSession
    from ._async_streams import AsyncStream as AsyncStream
    from ._async_watching import AsyncWatch as AsyncWatch
    from ._client import Client as Client
    from ._event_source import EventSource as EventSource
    from ._event_source import ServerSentEvent as ServerSentEvent
    from ._events import EventStream as EventStream
    from ._exceptions import CallbackError as CallbackError
    from ._exceptions import CallCancelled as CallCancelled
    from ._exceptions import CallError as CallError
    from ._exceptions import Cancelled as Cancelled
    from ._exceptions import ConnectError as ConnectError
    from ._exceptions import ConnectionLost as ConnectionLost
    from ._exceptions import ExchangeError as ExchangeError
    from ._exceptions import FeatureMissing as FeatureMissing
    from ._exceptions import FileError as FileError
    from ._exceptions import HandleError as HandleError
    from ._exceptions import InterceptionError as InterceptionError
    from ._exceptions import InvalidCall as InvalidCall
    from ._exceptions import LimitError as LimitError
    from ._exceptions import MalformedResponse as MalformedResponse
    from ._exceptions import NameNotFound as NameNotFound
    from ._exceptions import NotPermitted as NotPermitted
    from ._exceptions import OutriderError as OutriderError
    from ._exceptions import ProtocolError as ProtocolError
    from ._exceptions import ProxyError as ProxyError
    from ._exceptions import RequestError as RequestError
    from ._exceptions import RequestTimeout as RequestTimeout
    from ._exceptions import ResponseTooLarge as ResponseTooLarge
    from ._exceptions import RouterError as RouterError
    from ._exceptions import SchemaError as SchemaError
    from ._exceptions import SerializationError as SerializationError
    from ._exceptions import ServerError as ServerError
    from ._exceptions import ServerGone as ServerGone
    from ._exceptions import ServerNotFound as ServerNotFound
    from ._exceptions import ServerStopping as ServerStopping
    from ._exceptions import StatusError as StatusError
    from ._exceptions import StreamError as StreamError
    from ._exceptions import TLSError as TLSError
    from ._exceptions import TokenError as TokenError
    from ._exceptions import TooManyRedirects as TooManyRedirects
    from ._exceptions import TransportError as TransportError
    from ._exceptions import TrustError as TrustError
    from ._exceptions import UnknownMethod as UnknownMethod
    from ._exceptions import ValidationError as ValidationError
    from ._models import Event as Event
    from ._models import Headers as Headers
    from ._login import DeviceLogin as DeviceLogin
    from ._login import Login as Login
    from ._login import LoginFailed as LoginFailed
    from ._oauth import AccessToken as AccessToken
    from ._oauth import Credential as Credential
    from ._oauth import LoggedOut as LoggedOut
    from ._progress import Progress as Progress
    from ._progress import bar as bar
    from ._responses import AsyncResponse as AsyncResponse
    from ._responses import Response as Response
    from ._router import Router as Router
    from ._router import router as router
    from ._sessions import Session as Session
    from ._streams import Stream as Stream
    from ._watching import Watch as Watch

_WHERE = {
    "_api": "delete download get head many options patch post put request sse upload",
    "_async_client": "AsyncClient",
    "_client": "Client",
    "_sessions": "Session",
    "_async_sessions": "AsyncSession",
    "_login": "DeviceLogin Login LoginFailed",
    "_oauth": "AccessToken Credential LoggedOut",
    "_async_oauth": "AsyncCredential",
    "_event_source": "EventSource ServerSentEvent",
    "_async_event_source": "AsyncEventSource",
    "_async_streams": "AsyncStream",
    "_streams": "Stream",
    "_events": "EventStream",
    "_watching": "Watch",
    "_async_watching": "AsyncWatch",
    "_models": "Event Headers",
    "_progress": "Progress bar",
    "_responses": "AsyncResponse Response",
    "_router": "Router router",
    "_async_events": "AsyncEventStream",
    "_exceptions": "CallCancelled CallError CallbackError Cancelled ConnectError ConnectionLost ExchangeError"
    " FeatureMissing FileError HandleError InterceptionError InvalidCall LimitError MalformedResponse NameNotFound"
    " NotPermitted OutriderError ProtocolError ProxyError RequestError RequestTimeout ResponseTooLarge RouterError"
    " SchemaError SerializationError ServerError ServerGone ServerNotFound ServerStopping StatusError StreamError"
    " TLSError TokenError TooManyRedirects TransportError TrustError UnknownMethod ValidationError",
}

__all__ = ["__version__"]
__all__ += sorted(name for names in _WHERE.values() for name in names.split())


if not TYPE_CHECKING:

    def __getattr__(name):
        """Loads the module of a public name when the name is first used (PEP 562)."""
        for module, names in _WHERE.items():
            if name in names.split():
                found = getattr(__import__(f"{__name__}.{module}", fromlist=[name]), name)
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
