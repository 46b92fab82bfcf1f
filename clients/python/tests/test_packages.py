# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The packages inside of the client: old pickles and lazy resources do not depend on where a class is defined."""

from __future__ import annotations

import base64
import pickle

import outrider
import pytest

# made by the client before its modules became packages: two responses, an exception, a token, header fields
OLD = """
gASVWAIAAAAAAAAojBBvdXRyaWRlci5fbW9kZWxzlIwHX2NvcGllZJSTlIwTb3V0cmlkZXIuX3Jlc3BvbnNlc5SMCFJlc3BvbnNllJOUfZQojA
Jva5SIjAZzdGF0dXOUS8iMA3VybJSMCWh0dHA6Ly9oL5SMBm1ldGhvZJSMA0dFVJSMB2hlYWRlcnOUXZR9lCiMBG5hbWWUjAFBlIwFdmFsdWWU
jAFilHVhjARib2R5lH2UKIwEa2luZJSMBHRleHSUaBeMAXiUjARzaXpllEsBdXVOh5RSlGgCaAOMDUFzeW5jUmVzcG9uc2WUk5R9lChoB4hoCE
vIaAloCmgLaAxoFH2UKGgWjARub25llGgZSwB1dU6HlFKUjBRvdXRyaWRlci5fZXhjZXB0aW9uc5SMDENvbm5lY3RFcnJvcpSTlIwHcmVmdXNl
ZJSFlFKUfZQojARjb2RllE16BWgWjAFrlIwGcmVhc29ulE6MBGRhdGGUfZQoaCpNegWMB21lc3NhZ2WUaCZoFmgrdYwJcmV0cnlhYmxllImMCH
Jlc3BvbnNllGgbdWKMD291dHJpZGVyLl9vYXV0aJSMC0FjY2Vzc1Rva2VulJOUfZQojAthY2Nlc3NUb2tlbpSMAXSUjAxtaXNzaW5nU2NvcGWU
XZSMCXRva2VuVHlwZZSMBkJlYXJlcpSMCWV4cGlyZXNBdJROjAVzY29wZZROdYWUUpRoAIwHSGVhZGVyc5STlCmBlE59lCiMB19mb2xkZWSUfZ
SMAWGUXZRoE2FzjAVwYWlyc5RoEWgThpSFlHWGlGJ0lC4=
"""


def test_a_pickle_of_an_earlier_version_is_read() -> None:
    response, awaited, error, token, headers = pickle.loads(base64.b64decode(OLD))
    assert type(response) is outrider.Response and response.text == "x"
    assert type(awaited) is outrider.AsyncResponse and awaited.status == 200
    assert type(error) is outrider.ConnectError and error.response.url == "http://h/"
    assert type(token) is outrider.AccessToken and token.header == {"Authorization": "Bearer t"}
    assert type(headers) is outrider.Headers and headers == response.headers


@pytest.mark.parametrize("kind", [outrider.Client, outrider.AsyncClient])
def test_lazy_resources_are_made_once_and_misspelt_ones_are_named(kind: type[outrider.Client]) -> None:
    client = kind(socket="/nonexistent")
    assert client.download is client.download and client.oauth is client.oauth
    with pytest.raises(AttributeError, match="'downlod'"):
        client.downlod  # type: ignore[attr-defined]  # noqa: B018
