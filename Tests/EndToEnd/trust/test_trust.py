# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Trust policies against real servers: who is believed by which policy, and that no connection crosses policies."""

import ssl
import time

import certificate_authority
import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
PAST = ("-crl_lastupdate", "20250101000000Z", "-crl_nextupdate", "20250102000000Z")


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return certificate_authority.usual(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def start(pki):
    with certificate_authority.serving(pki) as start:
        yield start


@pytest.fixture(scope="module")
def good(start):
    return f"https://localhost:{start('good')}/"


@pytest.fixture(scope="module")
def untrusted(start):
    return f"https://localhost:{start('untrusted')}/"


@pytest.fixture
def client():
    with contract.Wire() as wire:
        yield wire


def send(wire, url, **more):
    return wire.call("data.send", {"url": url, "timeout": 10, **more}, 30)["result"]


def refused(wire, url, code, **more):
    """The failure; its code is checked."""
    result = send(wire, url, **more)
    assert not result["ok"] and result["error"]["code"] == code, result
    return result["error"]


def roots(pki, name="root.crt"):
    return {"roots": {"file": pki.path(name)}}


def test_roots_of_a_request(client, pki, good, tmp_path):
    """Own roots, in place of the system's or beside them. [V14] [V2]"""
    assert send(client, good, tls=roots(pki))["tls"]["verified"] == "roots"
    refused(client, good, 1506)
    assert send(client, good, tls={"roots": {"pem": pki.text("root.crt")}})["ok"]
    assert send(client, good, tls={"roots": {"pem": pki.text("root.crt"), "system": True}})["ok"]
    (tmp_path / "some.pem").write_text(pki.text("root.crt"))
    (tmp_path / "notes.txt").write_text("no certificate")
    assert send(client, good, tls={"roots": {"directory": str(tmp_path)}})["ok"]
    assert "nothing.pem" in refused(client, good, 1504, tls=roots(pki, "nothing.pem"))["message"]


def test_a_file_in_a_directory_of_roots_that_changes_is_read_again(client, pki, good, tmp_path):
    tls = {"roots": {"directory": str(tmp_path)}}
    (tmp_path / "some.pem").write_text(pki.text("root.crt"))
    assert send(client, good, tls=tls)["ok"]
    (tmp_path / "some.pem").write_text(pki.text("evilroot.crt"))
    deadline = time.monotonic() + 10
    while send(client, good, tls=tls)["ok"] and time.monotonic() < deadline:
        time.sleep(0.1)
    refused(client, good, 1506, tls=tls)


def test_a_response_says_what_was_settled(client, pki, good):
    tls = send(client, good, tls=roots(pki), metrics={"certificates": True})["tls"]
    assert tls["version"] == "TLSv1.3" and tls["cipher"].startswith("TLS_") and "group" in tls
    assert [c["subject"] for c in tls["chain"]] == ["CN=good", "CN=Test Intermediate", "CN=Test Root"]
    assert tls["chain"][0]["spki"] == pki.pin("good") and tls["chain"][0]["names"] == ["localhost", "127.0.0.1"]
    assert tls["chain"][0]["pem"].split() == pki.text("good.crt").split()
    assert "chain" not in send(client, good, tls=roots(pki))["tls"]


def test_none_counts_for_its_request_alone(client, untrusted):
    """The order test: no connection that `none` opened serves another policy. [V8]"""
    first = send(client, untrusted, trust="none")
    assert first["ok"] and first["tls"]["verified"] == "none"
    refused(client, untrusted, 1506)
    assert send(client, untrusted, trust="none")["ok"]
    refused(client, untrusted, 1506, trust="default")


def test_none_is_left_behind_by_a_redirect(client, start, untrusted):
    other = f"https://localhost:{start('untrusted')}/"
    refused(client, f"{untrusted}to?{other}", 1506, trust="none")
    same = send(client, f"{untrusted}to?{untrusted}x", trust="none")
    assert same["ok"] and same["tls"]["verified"] == "none"


def test_public_keys(client, pki, good):
    """A pin counts on the verified path alone. [V6] [3.R.14]"""
    tls = roots(pki)
    for name in ("good", "inter", "root"):
        pins = {"publicKeys": {"pins": [pki.pin(name), pki.pin("untrusted")]}}
        assert send(client, good, tls=tls, trust=pins)["tls"]["verified"] == "pins"
    curls = "sha256//" + pki.pin("good")[7:]
    assert send(client, good, tls=tls, trust={"publicKeys": {"pins": [curls]}})["ok"]
    assert send(client, good, tls=tls, trust={"publicKeys": {"pins": [pki.text("good.crt")]}})["ok"]
    wrong = refused(client, good, 1511, tls=tls, trust={"publicKeys": {"pins": [pki.pin("untrusted")]}})
    assert wrong["data"]["pins"] == [pki.pin(name) for name in ("good", "inter", "root")]
    refused(client, good, 1502, trust={"publicKeys": {"pins": []}})
    # the right pin does not help a certificate that is not trusted
    refused(client, good, 1506, trust={"publicKeys": {"pins": [pki.pin("good")]}})
    alone = {"publicKeys": {"pins": [pki.pin("good")], "chain": False}}
    assert send(client, good, trust=alone)["ok"]
    assert send(client, good, trust={"publicKeys": {"pins": [pki.pin("inter")], "chain": False}})["ok"]


def test_pinned_certificates(client, pki, start, good):
    """The same for certificates. [V5] [3.R.12] [3.R.14] [3.R.18]"""
    tls = roots(pki)
    pinned = {"pinnedCertificates": {"files": [pki.path("good.crt")]}}
    assert send(client, good, tls=tls, trust=pinned)["tls"]["verified"] == "pins"
    assert send(client, good, tls=tls, trust={"pinnedCertificates": {"pem": [pki.text("inter.crt")]}})["ok"]
    wrong = {"pinnedCertificates": {"pem": [pki.text("untrusted.crt")]}}
    assert refused(client, good, 1510, tls=tls, trust=wrong)["data"]["pins"][0] == pki.pin("good")
    refused(client, good, 1501, trust={"pinnedCertificates": {}})
    own = f"https://localhost:{start('self')}/"
    pinned = {"pinnedCertificates": {"pem": [pki.text("self.crt")], "acceptSelfSigned": True}}
    assert send(client, own, trust=pinned)["ok"]
    elsewhere = own.replace("localhost", "elsewhere.test")
    refused(client, elsewhere, 1508, trust=pinned, connectTo="127.0.0.1")
    pinned["pinnedCertificates"]["host"] = False
    assert send(client, elsewhere, trust=pinned, connectTo="127.0.0.1")["ok"]


def test_what_is_only_sent_along_is_not_pinned(client, pki, start):
    name = "appended"
    (pki.folder / f"{name}.pem").write_text(pki.text("good.pem") + pki.text("untrusted.crt"))
    (pki.folder / f"{name}.key").write_text(pki.text("good.key"))
    url = f"https://localhost:{start(name)}/"
    for chain in (True, False):
        pins = {"publicKeys": {"pins": [pki.pin("untrusted")], "chain": chain}}
        refused(client, url, 1511, tls=roots(pki), trust=pins)
        certificate = {"pinnedCertificates": {"pem": [pki.text("untrusted.crt")], "chain": chain}}
        refused(client, url, 1510, tls=roots(pki), trust=certificate)


def test_a_customer_of_a_pinned_authority_vouches_for_no_server(client, pki, start):
    """With `chain: false` the certificates between the server's and the pinned one are authorities."""
    pki.issue("customer", "inter")
    pki.first_version("early", "inter")
    pki.issue("writer", "root", certificate_authority.CA.replace("keyCertSign,", ""))
    for name, issuer, pinned in (("by-customer", "customer", "inter"), ("by-early", "early", "inter"),
                                 ("by-writer", "writer", "root")):
        pki.issue(name, issuer, chain=[issuer, pinned])
        url = f"https://localhost:{start(name)}/"
        keys = {"pins": [pki.pin(pinned)], "chain": False}
        refused(client, url, 1511, trust={"publicKeys": keys})
        refused(client, url, 1511, trust={"publicKeys": {**keys, "host": False}})
        files = {"files": [pki.path(f"{pinned}.crt")], "chain": False}
        refused(client, url, 1510, trust={"pinnedCertificates": files})
    pki.issue("distant", "inter", chain=["inter", "root"])
    pins = {"publicKeys": {"pins": [pki.pin("root")], "chain": False}}
    assert send(client, f"https://localhost:{start('distant')}/", trust=pins)["ok"]


def test_all_of_several(client, pki, good):
    """[V7]"""
    pins = {"publicKeys": {"pins": [pki.pin("good")]}}
    assert send(client, good, tls=roots(pki), trust={"all": ["default", pins]})["tls"]["verified"] == "pins"
    wrong = {"publicKeys": {"pins": [pki.pin("self")]}}
    refused(client, good, 1511, tls=roots(pki), trust={"all": ["default", wrong]})


def test_a_session_has_policies_by_host(client, pki, good, untrusted):
    """[V1] [3.R.20]"""
    def session(**more):
        return client.call("session.create", more)["result"]["session"]

    port = untrusted.split(":")[2].strip("/")
    strict = session(trust={"hosts": {f"localhost:{port}": "none"}}, tls=roots(pki))
    assert send(client, untrusted, session=strict)["tls"]["verified"] == "none"
    assert "localhost" in refused(client, good, 1500, session=strict)["message"]
    mild = session(trust={"hosts": {f"localhost:{port}": "none"}, "allHostsMustBeEvaluated": False}, tls=roots(pki))
    assert send(client, good, session=mild)["tls"]["verified"] == "roots"
    # a redirect is judged by the policy of the place that it leads to
    assert send(client, f"{untrusted}to?{good}", session=mild)["tls"]["verified"] == "roots"
    refused(client, f"{untrusted}to?{good}", 1500, session=strict)
    client.call("session.update", {"session": mild, "trust": "default"})
    refused(client, untrusted, 1506, session=mild)
    shown = client.call("session.get", {"session": strict})["result"]
    assert shown["trust"] == {"hosts": {f"localhost:{port}": "none"}}


def test_a_session_without_a_policy_gets_no_stored_response(pki, start, tmp_path):
    """A cache that is shared by name gives nothing to a session whose table has no policy for the host."""
    url = f"https://localhost:{start('good')}/"
    cache = {"cache": {"name": "shared", "keep": "all", "maxAge": 600}}
    (tmp_path / "root.pem").write_text(pki.text("root.crt"))
    with contract.Wire(under=["env", "-u", "SSL_CERT_FILE", f"SSL_CERT_DIR={tmp_path}"]) as wire:
        for status in ("miss", "hit"):
            assert send(wire, url, **cache)["cache"]["status"] == status
        trust = {"hosts": {"other.test": "default"}}
        session = wire.call("session.create", {"trust": trust})["result"]["session"]
        refused(wire, url, 1500, session=session, **cache)


def test_wildcards_of_one_label_and_more(client, pki, start):
    """[V12] [3.R.22]"""
    names = "subjectAltName=DNS:*.wild.test,DNS:*.test,DNS:wild.test\n"
    pki.issue("wild", "inter", certificate_authority.SERVER + names, chain=["inter"])
    port = start("wild")
    trust = {"hosts": {"*.wild.test": "default", "**.deep.test": "none"}}
    session = client.call("session.create", {
        "trust": trust, "tls": roots(pki), "connectTo": {"*": f"127.0.0.1:{port}"}})["result"]["session"]
    assert send(client, "https://a.wild.test/", session=session)["ok"]
    refused(client, "https://a.b.wild.test/", 1500, session=session)
    refused(client, "https://wild.test/", 1500, session=session)
    assert send(client, "https://a.b.deep.test/", session=session)["tls"]["verified"] == "none"
    # a certificate for a whole top-level domain is for no host
    refused(client, "https://bank.test/", 1508, tls=roots(pki), connectTo=f"127.0.0.1:{port}")


@pytest.fixture(scope="module")
def expired(pki, start):
    pki.issue("expired", "inter", chain=["inter"], end="20200301000000Z")
    return f"https://localhost:{start('expired')}/"


def test_an_expired_certificate(client, pki, expired):
    """[3.R.1] [3.R.2] [3.R.3] [3.R.5] [3.R.7] [3.R.9] [3.R.10] [3.R.19] [V3] [V10]"""
    tls = roots(pki)
    refused(client, expired, 1506, tls=tls)
    error = refused(client, expired, 1506, tls=tls, trust="default")
    assert error["kind"] == "serverTrustEvaluationFailed" and error["phase"] == "tls"
    certificate, key = {"files": [pki.path("expired.crt")]}, {"pins": [pki.pin("expired")]}
    off = {"chain": False, "host": False}
    refused(client, expired, 1506, tls=tls, trust={"pinnedCertificates": certificate})
    assert send(client, expired, tls=tls, trust={"pinnedCertificates": {**certificate, **off}})["ok"]
    refused(client, expired, 1506, tls=tls, trust={"publicKeys": key})
    assert send(client, expired, tls=tls, trust={"publicKeys": {**key, **off}})["ok"]
    assert send(client, expired, trust="none")["ok"]
    refused(client, expired, 1506, tls=tls, trust={"all": ["default", {"revocation": {}}]})


def test_each_certificate_of_a_good_path_can_be_pinned(client, pki, start, good):
    """[3.R.11] [3.R.17]"""
    for name in ("good", "inter", "root"):
        pins = {"pinnedCertificates": {"files": [pki.path(f"{name}.crt")], "host": False}}
        assert send(client, good, tls=roots(pki), trust=pins)["ok"]
    pki.issue("incomplete", "inter")
    url = f"https://localhost:{start('incomplete')}/"
    refused(client, url, 1506, tls=roots(pki))
    assert send(client, url, trust="none")["ok"]


def test_a_failure_is_told_and_ends_the_request(client, good):
    """[3.R.25]"""
    request = client.call("data.start", {"url": good, "events": ["state", "finish"]})["result"]["request"]
    ended = client.call("request.wait", {"request": request}, 30)["result"]
    assert ended["error"]["code"] == 1506


def test_revoked_certificates(client, pki, start, good):
    """[V4]"""
    pki.issue("revoked", "inter", chain=["inter"])
    before = pki.crl("inter", name="before.crl")
    pki.revoke("revoked", "inter")
    lists = [pki.crl("inter"), pki.crl("root")]
    url = f"https://localhost:{start('revoked')}/"
    tls = roots(pki)
    assert send(client, url, tls=tls)["ok"]
    error = refused(client, url, 1509, tls=tls, trust={"revocation": {"crlFiles": lists}})
    assert "CN=revoked" in error["message"] and "keyCompromise" in error["message"] and "since 20" in error["message"]
    known = send(client, good, tls=tls, trust={"revocation": {"crlFiles": lists, "required": True}})
    assert known["tls"]["revocation"] == "good"
    # an older list that is still valid does not hide the entry of a newer list
    both = {"revocation": {"crlFiles": [before, *lists], "required": True}}
    assert "CN=revoked" in refused(client, url, 1509, tls=tls, trust=both)["message"]
    some = {"revocation": {"crlFiles": lists[:1]}}
    assert send(client, good, tls=tls, trust=some)["tls"]["revocation"] == "unknown"
    some["revocation"]["required"] = True
    assert "CN=Test Root" in refused(client, good, 1509, tls=tls, trust=some)["message"]
    assert "nothing.crl" in refused(
        client, good, 1505, tls=tls, trust={"revocation": {"crlFiles": ["/nothing.crl"]}})["message"]
    # a list by another authority of the same name
    pki.issue("double", "root", certificate_authority.CA, subject="/CN=Test Intermediate")
    forged = {"revocation": {"crlFiles": [pki.crl("double"), lists[1]], "required": True}}
    assert "not signed" in refused(client, good, 1505, tls=tls, trust=forged)["message"]
    old = {"revocation": {"crlFiles": [pki.crl("inter", *PAST, name="old.crl"), lists[1]], "required": True}}
    for required in (True, False):
        old["revocation"]["required"] = required
        assert "CN=revoked" in refused(client, url, 1509, tls=tls, trust=old)["message"]
    old["revocation"]["required"] = True
    assert "out of date" in refused(client, good, 1505, tls=tls, trust=old)["message"]


def test_a_list_by_a_key_that_may_not_sign_lists(client, pki, start):
    """RFC 5280 section 6.3.3 (f). [V4]"""
    pki.issue("silent", "root", certificate_authority.CA.replace(",cRLSign", ""))
    pki.issue("under-silent", "silent", chain=["silent"])
    url = f"https://localhost:{start('under-silent')}/"
    lists = {"crlFiles": [pki.crl("silent"), pki.crl("root")]}
    error = refused(client, url, 1505, tls=roots(pki), trust={"revocation": {**lists, "required": True}})
    assert "cRLSign" in error["message"], error
    assert send(client, url, tls=roots(pki), trust={"revocation": lists})["tls"]["revocation"] == "unknown"


def test_where_to_connect(client, pki, start, good):
    port = int(good.split(":")[2].strip("/"))
    assert send(client, "https://localhost/", tls=roots(pki), connectTo=f"127.0.0.1:{port}")["ok"]
    moved = send(client, "https://localhost:1/", tls=roots(pki), connectTo=f":{port}")
    assert moved["body"]["text"].startswith("host=localhost:1 ") and moved["remote"] == f"127.0.0.1:{port}"
    # two places for one URL share no connection
    for place in (start("untrusted"), port):
        result = send(client, "https://localhost/", trust="none", connectTo=f"127.0.0.1:{place}")
        assert result["remote"] == f"127.0.0.1:{place}"
    refused(client, "https://localhost/", 1420, addresses="public", connectTo=f"127.0.0.1:{port}")


def test_a_host_field_of_ones_own(client, pki, good, origin):
    mine = {"headers": {"Host": "virtual.test"}}
    assert send(client, good, tls=roots(pki), **mine)["body"]["text"].startswith("host=virtual.test ")
    error = send(client, "https://example.org/", **mine)["error"]
    assert error["code"] == 1101 and "Host" in error["message"], error
    assert send(client, good, headers={"Host": "two hosts"})["error"]["code"] == 1101


def test_a_host_field_follows_the_map_of_the_session(client, pki, good):
    port = int(good.split(":")[2].strip("/"))
    places = {"connectTo": {"localhost": "93.184.215.14:443", "example.org": f"127.0.0.1:{port}"}}
    session = client.call("session.create", {**places, "tls": roots(pki)})["result"]["session"]
    mine = {"headers": {"Host": "virtual.test"}, "session": session}
    error = send(client, good, **mine)["error"]
    assert error["code"] == 1101 and "Host" in error["message"], error
    moved = send(client, "https://example.org/", tls={"serverName": "localhost"}, **mine)
    assert moved["ok"] and moved["body"]["text"].startswith("host=virtual.test "), moved


def test_tls_settings(client, pki, start):
    tls = roots(pki)
    old = f"https://localhost:{start('good', high=ssl.TLSVersion.TLSv1_2)}/"
    result = send(client, old, tls=tls)["tls"]
    assert result["version"] == "TLSv1.2" and "ECDHE" in result["cipher"] and result["verified"] == "roots"
    assert "TLS 1.3" in refused(client, old, 1406, tls={**tls, "minVersion": "1.3"})["message"]
    new = f"https://localhost:{start('good', low=ssl.TLSVersion.TLSv1_3)}/"
    assert send(client, new, tls={**tls, "groups": ["secp256r1"]})["tls"]["group"] == "secp256r1"
    error = refused(client, new, 1406, tls={**tls, "maxVersion": "1.2"})
    assert error["data"]["alert"] == "protocol_version" and "does not speak TLS 1.2;" in error["message"], error
    weak = f"https://localhost:{start('good', high=ssl.TLSVersion.TLSv1_2, ciphers='ECDHE-ECDSA-AES128-SHA')}/"
    assert "compatible" in refused(client, weak, 1406, tls=tls)["message"]
    assert "CBC" in send(client, weak, tls={**tls, "ciphers": "compatible"})["tls"]["cipher"]
    assert send(client, weak, tls={**tls, "ciphers": ["ECDHE-ECDSA-AES128-SHA"]})["ok"]


def test_the_server_name_is_sent_and_compared(client, pki, start):
    names = []
    url = f"https://127.0.0.1:{start('good', names=names)}/"
    assert send(client, url, tls={**roots(pki), "serverName": "localhost"})["ok"] and names == ["localhost"]
    assert send(client, url, tls={**roots(pki), "serverName": "LOCALHOST."})["ok"] and names[-1] == "localhost"
    refused(client, url, 1508, tls={**roots(pki), "serverName": "other.test"})
    assert send(client, url, tls={**roots(pki), "serverName": ""})["ok"] and names[-1] is None
