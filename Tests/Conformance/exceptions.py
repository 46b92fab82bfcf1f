# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Where outrider differs from a suite on purpose, with the reason. The one place for it.

A case that is named here and fails counts as skipped; one that passes counts as passed, and is reported, so that
it can be struck off. `*` in a name matches anything.
"""

import fnmatch

_DUPLICATES = "duplicate members are refused: two readers of one message must never see two messages"
_NUL_NAME = "a member name with U+0000 is refused: jansson cannot keep it, and no parameter is called so"
_FIRST_BYTE = "as the first bytes of a connection they belong to no framing, so it is no message at all"
_POSITIONS = "a form is an object: repeated names stand together, where the first stood"

_POOLS = "tests the connection pools of urllib3, which the adapter does not have"
_NAMES = "with socks5 the service looks the name up before it connects to the proxy: without DNS it fails first"

_TRIO = "runs in trio; AsyncTransport runs in asyncio only, and says so"
_STALE = "stale responses are served only where staleIfError or the response permits it"
_PARTS = "the Content-Range is longer than the body that came with it, so the part is not stored"
_TRIO_CLIENTS = (
    "get get_invalid_url build_request post post_json stream_response access_content_stream_response stream_request"
    " raise_for_status options head put patch delete 100_continue server_extensions"
)
_TRIO_TIMEOUTS = "read_timeout write_timeout connect_timeout pool_timeout async_client_new_request_send_timeout"
_HTTPCORE = "looks into the connection pool of httpcore, which the transports do not have"
_COMMAND = "reads the output of the command httpx, which is made of the traces of httpcore"
_WAITS = "a limit of microseconds; the service waits a millisecond at least, and has written or connected by then"

EXCEPTIONS = {
    "cache": {
        "headers-store-Transfer-Encoding": "a transfer coding that was not offered is refused: its body is not decoded",
        "stale-close-must-revalidate": _STALE,
        "stale-close-no-cache": _STALE,
        "stale-warning-stored": _STALE,
        **{f"partial-store-partial-reuse-partial{part}": _PARTS for part in ("", "-absent", "-byterange", "-suffix")},
        "partial-store-partial-complete": "a part is joined with another part of the same strong validator only",
        "vary-normalise-lang-select": "a response in another language than the first wish is not guessed to be right",
        "other-cookie": "requests with different cookies never share a response",
    },
    "json": {
        "y_object_duplicated_key.json": _DUPLICATES,
        "y_object_duplicated_key_and_value.json": _DUPLICATES,
        "y_object_escaped_null_in_key.json": _NUL_NAME,
    },
    "jsonrpc": {
        "* id-long-string": "an id has at most 256 characters: it is kept, and copied into every event of the call",
        **{f"newline top-{kind}": _FIRST_BYTE for kind in ("number", "string", "null", "true")},
    },
    "httpx": {
        **{f"tests.client.test_async_client::test_{name}?trio*": _TRIO for name in _TRIO_CLIENTS.split()},
        **{f"tests.test_timeouts::test_{name}?trio*": _TRIO for name in _TRIO_TIMEOUTS.split()},
        "tests.client.test_proxies::test_socks_proxy": _HTTPCORE,
        "tests.client.test_proxies::test_proxies_environ?*-http://example.com?": _HTTPCORE,
        "tests.client.test_proxies::test_proxies_environ?*-http://localhost:123?": _HTTPCORE,
        "tests.test_api::test_httpcore_lazy_loading": _HTTPCORE,
        "tests.test_exceptions::test_httpcore_exception_mapping": _HTTPCORE,
        **{f"tests.test_main::test_{name}": _COMMAND for name in
           "get json binary redirects follow_redirects post verbose auth".split()},
        "tests.test_main::test_errors": "the service names the scheme in words of its own",
        "tests.test_timeouts::test_write_timeout?asyncio?": _WAITS,
        "tests.test_timeouts::test_connect_timeout?asyncio?": _WAITS,
        "tests.test_timeouts::test_pool_timeout?asyncio?": "the service has no limit of its own for this wait",
    },
    "requests": {
        "*::test_different_connection_pool_for_*": _POOLS,
        "*::test_session_close_proxy_clear": _POOLS,
        "*::test_proxy_authorization_preserved_on_request": "Proxy-Authorization is sent to a proxy, never to a server",
        "*::test_chunked_encoding_error": "a head that is cut before its empty line is no response: ConnectionError",
        "*::test_use_proxy_from_environment?*": _NAMES,
    },
    "urls": {
        "rfc3986 normal g:h": "a redirect leads to http and https only",
        "form: order and repeats b,a,b": _POSITIONS,
    },
}


def reason(suite, case):
    """Why the case may fail; None when it may not."""
    for name, why in EXCEPTIONS.get(suite, {}).items():
        if fnmatch.fnmatchcase(case, name):
            return why
    return None
