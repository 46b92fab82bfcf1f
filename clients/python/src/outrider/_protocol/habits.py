# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: names of requests and httpx, and what takes their place. Loaded with the first unknown name."""

from __future__ import annotations

_FUNCTIONS = "use the functions of a session, such as session.validator, or client.watch"
_CONNECTIONS = "the service makes the connections; outrider.testing replays and stubs responses"
OPTIONS = {
    "stream": 'use stream(url), or body_to="stream"',
    "content": "use data",
    "body": "use data",
    "retries": "use retry",
    "max_retries": "use retry",
    "max_redirects": 'use redirect={"max": …}',
    "proxies": "use proxy",
    "hooks": _FUNCTIONS,
    "event_hooks": _FUNCTIONS,
    "limits": 'use session(limits={"concurrent": …})',
    "transport": _CONNECTIONS,
    "mounts": _CONNECTIONS,
    "trust_env": 'proxy="environment" takes the proxies of this program',
}
"""For options of a request, a client or a session."""

NAMES = {
    "ConnectionError": "ConnectError",
    "ConnectTimeout": "RequestTimeout",
    "HTTPError": "StatusError, or ExchangeError for all failures",
    "HTTPStatusError": "StatusError",
    "ReadTimeout": "RequestTimeout",
    "RequestException": "OutriderError",
    "SSLError": "TLSError",
    "Timeout": "RequestTimeout",
    "TimeoutException": "RequestTimeout",
    "exceptions": "the exceptions of outrider itself",
}
"""For names of the package."""

