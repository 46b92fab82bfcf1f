# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The public httpbin, run on loopback: a server of other authors.

with serving() as url:
    ... url + "/anything" ...
"""

import contextlib
import logging
import threading
from typing import Iterator


@contextlib.contextmanager
def serving() -> "Iterator[str]":
    """Its URL, for as long as the block lasts."""
    import httpbin
    import werkzeug.serving

    class KeepAlive(werkzeug.serving.WSGIRequestHandler):
        protocol_version = "HTTP/1.1"

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = werkzeug.serving.make_server("127.0.0.1", 0, httpbin.app, threaded=True, request_handler=KeepAlive)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
