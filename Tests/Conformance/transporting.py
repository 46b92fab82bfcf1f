# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A plugin of pytest: clients of httpx without a transport of their own go through the service."""

import httpx
import outrider.httpx


class _Transport(outrider.httpx.Transport):
    def __init__(self, verify=True, cert=None, proxy=None, **_):
        super().__init__(proxy=None if proxy is None else str(proxy.url))


class _AsyncTransport(outrider.httpx.AsyncTransport):
    def __init__(self, verify=True, cert=None, proxy=None, **_):
        super().__init__(proxy=None if proxy is None else str(proxy.url))


httpx._client.HTTPTransport = _Transport
httpx._client.AsyncHTTPTransport = _AsyncTransport
