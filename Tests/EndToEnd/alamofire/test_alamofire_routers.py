# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Cases of Alamofire that a router's endpoints take part in."""

import contract
import pytest
from request_client import result

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def test_the_form_of_an_endpoint(wire, bin):
    """[3.N.26]"""
    parts = [{"name": "french", "text": "français"}, {"name": "japanese", "text": "日本語"}]
    endpoint = {"path": "/post", "method": "POST", "body": {"multipart": parts}}
    result(wire.call("router.define", {"name": "forms", "baseUrl": bin, "endpoints": {"post": endpoint}}))
    response = result(wire.call("router.send", {"router": "forms", "endpoint": "post"}))
    assert response["body"]["json"]["form"] == {"french": "français", "japanese": "日本語"}
