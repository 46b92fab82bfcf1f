# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Members of `tls` and `trust` that do not go together, in one call or in a request and its session."""

import certificate_authority
import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return certificate_authority.usual(tmp_path_factory.mktemp("members"))


@pytest.fixture
def client():
    with contract.Wire() as wire:
        yield wire


ONLY = {"minVersion": "1.3"}, {"maxVersion": "1.2"}


@pytest.mark.parametrize("own, others", [ONLY, ONLY[::-1]])
def test_versions_of_a_request_and_its_session_may_leave_none(client, pki, own, others):
    tls = {"roots": {"file": pki.path("root.crt")}, **others}
    session = client.call("session.create", {"tls": tls})["result"]["session"]
    with certificate_authority.serving(pki) as start:
        request = {"url": f"https://localhost:{start('good')}/", "session": session, "timeout": 10}
        error = client.call("data.send", {**request, "tls": own}, 30)["result"]["error"]
        both = client.call("data.send", {**request, "tls": {"minVersion": "1.2", "maxVersion": "1.3"}}, 30)["result"]
    assert error["code"] == 1406 and both["ok"], error
    assert "minVersion" in error["message"] and "maxVersion" in error["message"], error


def test_members_that_exclude_each_other_are_named(client):
    for method, member, value, words in (
        ("data.send", "tls", {"identity": {"pkcs12": "/a.p12", "key": "/k"}}, "key goes with certificate"),
        ("data.send", "tls", {"identity": {"pkcs12": "/a.p12", "passphrase": "x", "passphraseFrom": {"callback": "c"}}},
         "passphraseFrom and passphrase exclude each other"),
        ("session.create", "trust", {"publicKeys": {"pins": []}, "allHostsMustBeEvaluated": True},
         "allHostsMustBeEvaluated goes with hosts"),
        ("trust.evaluate", "host", "a", "host goes with chain"),
    ):
        url = {} if method == "session.create" else {"url": "https://localhost/"}
        error = client.call(method, {**url, member: value})["error"]
        assert error["code"] == -32602 and words in error["message"], error
