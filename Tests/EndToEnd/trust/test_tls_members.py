# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Members of `tls` and `trust` that are refused: alone, with others of a call, or with those of the session."""

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


def test_bad_parameters_name_the_member(client):
    for member, value, pointer in (
        ("trust", "nothing", "/trust"),
        ("trust", {"publicKeys": {"pins": ["sha1/x"]}}, "/trust/publicKeys/pins/0"),
        ("trust", {"all": []}, "/trust/all"),
        ("trust", {"all": ["none"]}, "/trust/all/0"),
        ("trust", {"pinnedCertificates": {"pem": ["x"]}}, "/trust/pinnedCertificates/pem/0"),
        ("tls", {"minVersion": "1.1"}, "/tls/minVersion"),
        ("tls", {"minVersion": "1.3", "maxVersion": "1.2"}, "/tls/maxVersion"),
        ("tls", {"ciphers": ["NULL"]}, "/tls/ciphers/0"),
        ("tls", {"ciphers": []}, "/tls/ciphers"),
        ("tls", {"groups": ["P-1"]}, "/tls/groups/0"),
        ("tls", {"roots": {}}, "/tls/roots"),
        ("tls", {"identity": {"key": "/k"}}, "/tls/identity"),
        ("tls", {"serverName": "a b"}, "/tls/serverName"),
        # a relative path would begin where the service was started
        ("tls", {"roots": {"file": "root.pem"}}, "/tls/roots/file"),
        ("tls", {"roots": {"directory": "roots"}}, "/tls/roots/directory"),
        ("tls", {"identity": {"certificate": "/me.pem", "key": "~/me.key"}}, "/tls/identity/key"),
        ("tls", {"identity": {"certificate": "me.pem"}}, "/tls/identity/certificate"),
        ("tls", {"identity": {"pkcs12": "me.p12"}}, "/tls/identity/pkcs12"),
        ("trust", {"pinnedCertificates": {"files": ["/a.pem", "b.pem"]}}, "/trust/pinnedCertificates/files/1"),
        ("trust", {"revocation": {"crlFiles": ["a.crl"]}}, "/trust/revocation/crlFiles/0"),
        ("connectTo", "host:0", "/connectTo"),
    ):
        error = client.call("data.send", {"url": "https://localhost/", member: value})["error"]
        assert error["code"] == -32602 and error["data"]["pointer"] == pointer, (member, value, error)


def test_an_empty_table_of_hosts_is_refused(client):
    """An empty table asks for no policy, so that a session with one would be as without."""
    for more in ({}, {"allHostsMustBeEvaluated": True}, {"allHostsMustBeEvaluated": False}):
        error = client.call("session.create", {"trust": {"hosts": {}, **more}})["error"]
        assert error["code"] == -32602 and error["data"]["pointer"] == "/trust/hosts", error
        assert "must name a host" in error["message"] + str(error["data"]), error


def test_a_host_has_one_policy(client):
    """The same host in another spelling would decide by the order of the members."""
    for first, second in (("a.test", "A.test"), ("a.test", "a.test."), ("*.ä.test", "*.xn--4ca.test")):
        error = client.call("session.create", {"trust": {"hosts": {first: "default", second: "none"}}})["error"]
        assert error["code"] == -32602 and error["data"]["pointer"] == f"/trust/hosts/{second}", error
    hosts = {"a.test": "default", "a.test:8443": "none", "*.a.test": "none", "**.a.test": "none"}
    session = client.call("session.create", {"trust": {"hosts": hosts}})["result"]["session"]
    client.call("session.close", {"session": session})
