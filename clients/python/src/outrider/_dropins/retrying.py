# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The ``max_retries`` of an ``HTTPAdapter``, for requests that do not pass through urllib3."""

from __future__ import annotations

from typing import Any

import requests
from urllib3.exceptions import HTTPError, MaxRetryError
from urllib3.util import Retry
from urllib3.util.request import set_file_position

from .._protocol.hints import Callable
from .raw import SERVICE

_REPEATABLE = (type(None), str, bytes, bytearray, memoryview)
"""The bodies without a position to go back to."""


def retried(
    retries: Retry, request: requests.PreparedRequest, send: Callable[[], requests.Response]
) -> requests.Response:
    """Sends a request as often as ``retries`` say; the objects of libraries decide and sleep, as in urllib3."""
    position: Any = None
    while True:
        position = set_file_position(request.body, position)
        # the rest of a body is not the body
        is_repeatable = isinstance(request.body, _REPEATABLE) or isinstance(position, int)
        try:
            response = send()
        except requests.RequestException as problem:
            cause = problem.args[0] if problem.args else None
            reason = cause.reason if isinstance(cause, MaxRetryError) else cause
            if is_repeatable and isinstance(reason, HTTPError):
                try:
                    retries = retries.increment(request.method, request.url, error=reason, _pool=SERVICE)
                    retries.sleep()
                    continue
                except MaxRetryError as last:
                    # as in requests, also after a timeout; other exceptions have that form already
                    if reason is cause:
                        raise requests.ConnectionError(last, request=request) from problem
                except HTTPError:
                    pass
            raise
        raw = response.raw
        method, has_delay = request.method or "GET", "Retry-After" in raw.headers
        if not is_repeatable or not retries.is_retry(method, raw.status, has_delay):
            return response
        try:
            retries = retries.increment(request.method, request.url, response=raw, _pool=SERVICE)
        except MaxRetryError as problem:
            if not retries.raise_on_status:
                return response
            response.close()
            raise requests.exceptions.RetryError(problem, request=request) from None
        response.close()
        retries.sleep(raw)
