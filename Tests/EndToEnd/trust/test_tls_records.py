# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""TLS records that cannot be decrypted."""

import os

import contract
import pytest
import tls_server
from http_server import Listening
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


class Garbled(Listening):
    """Takes a request over TLS, and sends a record that no key of the connection has made."""

    def __init__(self, certificates):
        self.context = tls_server.context(certificates, "good")
        super().__init__()

    def serve(self, connection, number):
        with self.context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(65536)
            os.write(secured.fileno(), b"\x17\x03\x03\x00\x40" + bytes(64))
            while secured.recv(65536):
                pass


@pytest.mark.parametrize("method", ["data.send", "websocket.open"])
def test_records_that_cannot_be_decrypted_are_no_end_of_the_server(trusting, certificates, method):
    """The message told that the server had closed the connection."""
    with Garbled(certificates) as server:
        url = f"https://localhost:{server.port}/"
        error = result(trusting.call(method, {"url": url}))
        error = error.get("response", error)["error"]
    assert error["code"] == 1404, error
    assert "the TLS connection to localhost failed" in error["message"], error
    assert "closed" not in error["message"] and "DECRYPT" in error["message"], error
