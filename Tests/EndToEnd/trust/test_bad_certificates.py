# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Bad certificates of many kinds: each is refused with a sentence of its own."""

import ssl
import time

import certificate_authority
import contract
import pytest
from certificate_authority import CA, LEAF, LOCAL, SERVER

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

# name: (what `issue` gets, code, words of the message)
BAD = {
    "expired": (dict(end="20200301000000Z"), 1506, "expired on 2020-03-01"),
    "early": (dict(begin="20480101000000Z"), 1506, "is not valid before 2048-01-01"),
    "elsewhere": (dict(ext=SERVER + "subjectAltName=DNS:other.test\n"), 1508, "names other.test"),
    "many-names": (dict(ext=SERVER + "subjectAltName=" + ",".join(f"DNS:h{n}.test" for n in range(9)) + "\n"), 1508,
                   "and 4 more"),
    "common-name": (dict(ext=SERVER, subject="/CN=localhost"), 1508, "no host in subjectAltName"),
    "mail-only": (dict(ext=SERVER + "subjectAltName=email:a@b.test\n", subject="/CN=localhost"), 1508,
                  "no host in subjectAltName"),
    "address-only": (dict(ext=SERVER + "subjectAltName=IP:127.0.0.1\n"), 1508, "names 127.0.0.1"),
    "other-address": (dict(ext=SERVER + "subjectAltName=IP:10.1.2.3\n"), 1508, "names 10.1.2.3"),
    "star": (dict(ext=SERVER + "subjectAltName=DNS:*\n"), 1508, "names *"),
    "partial-star": (dict(ext=SERVER + "subjectAltName=DNS:local*\n"), 1508, "names local*"),
    "for-clients": (dict(ext=LEAF + "extendedKeyUsage=clientAuth\n" + LOCAL), 1506, "not meant for servers"),
    "for-code": (dict(ext=LEAF + "extendedKeyUsage=codeSigning\n" + LOCAL), 1506, "not meant for servers"),
    "for-mail": (dict(ext=LEAF + "extendedKeyUsage=emailProtection\n" + LOCAL), 1506, "not meant for servers"),
    "weak-key": (dict(kind="1024"), 1506, "RSA key of only 1024 bits"),
    "sha1": (dict(digest="sha1"), 1506, "signed with SHA-1"),
    "critical": (dict(ext=SERVER + LOCAL + "1.2.3.4.5=critical,ASN1:UTF8String:x\n"), 1506,
                 "critical extension 1.2.3.4.5"),
    "no-intermediate": (dict(chain=()), 1506, "intermediate certificate"),
    "wrong-intermediate": (dict(chain=("evilroot",)), 1506, "is not known"),
    "unknown-root": (dict(by="evilroot", chain=("evilroot",)), 1506, "is not known"),
    "unknown-root-alone": (dict(by="evilroot", chain=()), 1506, "CN=Other Root is not known"),
    "self-signed": (dict(by=None, chain=()), 1506, "it is self-signed"),
    "by-a-server": (dict(by="signer", chain=("signer", "inter")), 1506, "without being an authority"),
    "below-pathlen": (dict(by="below", chain=("below", "inter")), 1506, "may not issue certificates of authorities"),
    "name-constraints": (dict(by="constrained", chain=("constrained",)), 1506, "name constraints"),
    "excluded-name": (dict(by="excluding", chain=("excluding",)), 1506, "name constraints"),
    "excluded-dot": (dict(by="excluding", chain=("excluding",), ext=SERVER + "subjectAltName=DNS:localhost.\n"), 1506,
                     "name constraints"),
    "other-mail": (dict(by="postal", chain=("postal",), ext=SERVER + LOCAL.strip() + ",email:a@other.test\n"), 1506,
                   "outside of the name constraints"),
    "directory-constraints": (dict(by="listing", chain=("listing",)), 1506, "outside of the name constraints"),
    "user-constraints": (dict(by="users", chain=("users",),
                              ext=SERVER + LOCAL.strip() + ",otherName:1.3.6.1.4.1.311.20.2.3;UTF8:me\n"), 1506,
                         "constraints of a kind that is not supported"),
    "old-intermediate": (dict(by="old", chain=("old",)), 1506, "issuer CN=old for localhost expired on 2020-02-01"),
    "early-intermediate": (dict(by="future", chain=("future",)), 1506, "not valid before 2047-01-01"),
    "weak-intermediate": (dict(by="weak", chain=("weak",)), 1506, "RSA key of only 1024 bits"),
    "sha1-intermediate": (dict(by="forgeable", chain=("forgeable",)), 1506, "signed with SHA-1"),
    "mail-intermediate": (dict(by="mail", chain=("mail",)), 1506, "issuer CN=mail is not meant for servers"),
    "code-intermediate": (dict(by="code", chain=("code",)), 1506, "issuer CN=code is not meant for servers"),
    "version-1": (dict(by="first", chain=("first", "inter")), 1506, "without being an authority"),
    "no-signer": (dict(by="mute", chain=("mute",)), 1506, "issuer CN=mute may not sign certificates"),
    "foreign-intermediate": (dict(by="foreign", chain=("foreign",)), 1506,
                             "issuer CN=foreign has the critical extension 1.2.3.4.5"),
    "policy-required": (dict(by="requiring", chain=("requiring",)), 1506, "critical extension 2.5.29.36"),
    "unknown-root-beside": (dict(by="evilroot", chain=("demanding", "requiring")), 1506, "CN=Other Root is not known"),
    "another-key": (dict(by="double", chain=("inter",)), 1506, "signature is not by the key of its issuer"),
}


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    made = certificate_authority.usual(tmp_path_factory.mktemp("bad"))
    made.issue("signer", "inter")
    made.issue("below", "inter", CA)
    made.issue("constrained", "root", CA + "nameConstraints=critical,permitted;DNS:allowed.test\n")
    made.issue("excluding", "root", CA + "nameConstraints=critical,excluded;DNS:localhost\n")
    made.issue("postal", "root", CA + "nameConstraints=critical,permitted;email:allowed.test\n")
    made.issue("listing", "root", CA + "nameConstraints=critical,permitted;dirName:names\n[names]\nO=Allowed\n")
    made.issue("users", "root", CA + "nameConstraints=critical,permitted;otherName:1.3.6.1.4.1.311.20.2.3;UTF8:you\n")
    made.issue("office", "root", CA + "nameConstraints=critical,permitted;dirName:names\n[names]\nO=Office\n")
    made.issue("clerk", "office", subject="/O=Office/CN=clerk")
    made.issue("old", "root", CA, end="20200201000000Z")
    made.issue("future", "root", CA, begin="20470101000000Z")
    made.issue("weak", "root", CA, kind="1024")
    made.issue("forgeable", "root", CA, kind="2048", digest="sha1")
    made.first_version("first", "inter")
    made.issue("mail", "root", CA + "extendedKeyUsage=emailProtection\n")
    made.issue("code", "root", CA + "extendedKeyUsage=critical,codeSigning\n")
    made.issue("mute", "root", CA.replace("keyCertSign,cRLSign", "digitalSignature"))
    made.issue("foreign", "root", CA + "1.2.3.4.5=critical,ASN1:UTF8String:x\n")
    made.issue("requiring", "root", CA + "policyConstraints=critical,requireExplicitPolicy:0\n")
    made.issue("demanding", "requiring", CA)
    # the name of the intermediate, and another key
    made.issue("double", "root", CA, subject="/CN=Test Intermediate")
    for name, (how, _, _) in BAD.items():
        made.issue(name, **{"by": "inter", "chain": ("inter",), **how})
    return made


@pytest.fixture(scope="module")
def start(pki):
    with certificate_authority.serving(pki) as start:
        yield start


@pytest.fixture(scope="module")
def client(pki):
    with contract.Wire(arguments=["--ca-file", pki.path("root.crt")]) as wire:
        yield wire


@pytest.mark.parametrize("name", BAD)
def test_a_bad_certificate_is_refused_with_its_own_sentence(client, start, name):
    """[V3]"""
    _, code, words = BAD[name]
    result = client.call("data.send", {"url": f"https://localhost:{start(name)}/", "timeout": 10}, 30)["result"]
    assert not result["ok"], result
    error = result["error"]
    assert error["code"] == code and words in error["message"], error["message"]
    assert "localhost" in error["message"] and not error["retryable"] and error["phase"] == "tls"
    assert "RFC5280Policy" not in error["message"] and "OPENSSL" not in error["message"]


def test_a_root_that_requires_a_policy_is_named(client, pki, start):
    pki.issue("strict", None, CA + "policyConstraints=critical,requireExplicitPolicy:0\n")
    pki.issue("below-strict", "strict")
    url = f"https://localhost:{start('below-strict')}/"
    result = client.call("data.send", {"url": url, "tls": {"roots": {"file": pki.path("strict.crt")}}}, 30)["result"]
    error = result["error"]
    assert "issuer CN=strict has the critical extension 2.5.29.36" in error["message"], error


def test_a_key_usage_without_signatures_is_named(client, pki, start):
    """The TLS library refuses the handshake, before the certificate is looked at."""
    pki.issue("agreeing", "inter", SERVER.replace("digitalSignature,keyEncipherment", "keyAgreement") + LOCAL,
              chain=["inter"])
    error = client.call("data.send", {"url": f"https://localhost:{start('agreeing')}/"}, 30)["result"]["error"]
    assert error["code"] == 1406 and "digitalSignature" in error["message"], error


def test_no_more_ciphers_are_advised_where_there_are_none(client, start):
    url = f"https://localhost:{start('good', high=ssl.TLSVersion.TLSv1_2, ciphers='ECDHE-ECDSA-AES128-CCM')}/"
    error = client.call("data.send", {"url": url, "tls": {"ciphers": "compatible"}}, 30)["result"]["error"]
    assert "groups offers others" in error["message"] and "compatible" not in error["message"], error


def test_critical_policies_of_an_authority_are_labels(client, pki, start):
    """No policy is required of a path, so that each is good (RFC 5280 section 6.1.5)."""
    pki.issue("labelled", "root", CA + "certificatePolicies=critical,1.2.3.4\ninhibitAnyPolicy=critical,0\n")
    pki.issue("under-policies", "labelled", SERVER + LOCAL + "certificatePolicies=critical,1.2.3.5\n",
              chain=["labelled"])
    result = client.call("data.send", {"url": f"https://localhost:{start('under-policies')}/"}, 30)["result"]
    assert result["ok"], result["error"]["message"]


USER = "1.3.6.1.4.1.311.20.2.3;UTF8:"
ORGANIZATION = "dirName:names\n[names]\nO="
URI = ",URI:spiffe://"

# constraints, what the subject has before its common name, names beside localhost, and whether they are good
CONSTRAINTS = {
    "directory": (f"permitted;{ORGANIZATION}Allowed", "/O=ALLOWED", "", True),
    "no directory": (f"permitted;{ORGANIZATION}Allowed", "", "", False),
    "another directory": (f"excluded;{ORGANIZATION}Other", "/O=Allowed", "", True),
    "excluded directory": (f"excluded;{ORGANIZATION}Other", "/O=other", "", False),
    "no mail": ("permitted;email:allowed.test", "", "", True),
    "no excluded mail": ("excluded;email:other.test", "", "", True),
    "mail of the host": ("permitted;email:allowed.test", "", ",email:a@Allowed.test", True),
    "mail of a host below": ("permitted;email:allowed.test", "", ",email:a@b.allowed.test", False),
    "mail of the domain": ("permitted;email:.allowed.test", "", ",email:a@b.allowed.test", True),
    "mail of another person": ("permitted;email:b@allowed.test", "", ",email:a@allowed.test", False),
    "no user": (f"permitted;otherName:{USER}you", "", "", True),
    "host": ("permitted;DNS:localhost,permitted;DNS:b.test", "", ",DNS:*.b.test", True),
    "host below a dot": ("permitted;DNS:localhost,permitted;DNS:.b.test", "", ",DNS:b.test", False),
    "excluded wildcard": ("excluded;DNS:a.b.test", "", ",DNS:*.b.test", False),
    "another wildcard": ("excluded;DNS:a.c.b.test", "", ",DNS:*.b.test", True),
    "address": ("permitted;IP:127.0.0.0/255.0.0.0", "", ",IP:127.0.0.1", True),
    "another address": ("permitted;IP:10.0.0.0/255.0.0.0", "", ",IP:127.0.0.1", False),
    "address of another kind": ("permitted;IP:127.0.0.0/255.0.0.0", "", ",IP:::1", False),
    "no address": ("excluded;IP:0.0.0.0/0.0.0.0", "", "", True),
    "URI": ("permitted;URI:allowed.test", "", f"{URI}allowed.test/a", True),
    "another URI": ("permitted;URI:allowed.test", "", f"{URI}other.test/a", False),
    "URI of an address": ("excluded;URI:other.test", "", f"{URI}127.0.0.1/a", False),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_names_are_within_the_constraints_of_their_authority(client, pki, start, name):
    """A constraint counts for names of its kind only (RFC 5280 section 4.2.1.10)."""
    constraints, subject, more, is_good = CONSTRAINTS[name]
    file = name.replace(" ", "-")
    pki.issue(f"by-{file}", "root", f"{CA}nameConstraints=critical,{constraints}\n")
    pki.issue(f"in-{file}", f"by-{file}", f"{SERVER}subjectAltName=DNS:localhost{more}\n",
              subject=f"{subject}/CN=localhost", chain=[f"by-{file}"])
    result = client.call("data.send", {"url": f"https://localhost:{start(f'in-{file}')}/", "timeout": 10}, 30)["result"]
    assert result["ok"] == is_good, result
    assert is_good or "constraint" in result["error"]["message"], result["error"]


@pytest.mark.parametrize("name, how, words", [
    ("late", {"by": "office", "chain": ["office"], "end": "20200301000000Z"}, "expired on 2020-03-01"),
    ("by-clerk", {"by": "clerk", "chain": ["clerk", "office"]}, "without being an authority"),
])
def test_constraints_stand_for_no_other_rule(client, pki, start, name, how, words):
    """The library below refuses constraints on directory names, which ends its look at a path."""
    pki.issue(name, subject="/O=Office/CN=localhost", **how)
    error = client.call("data.send", {"url": f"https://localhost:{start(name)}/", "timeout": 10}, 30)["result"]["error"]
    assert error["code"] == 1506 and words in error["message"], error


def test_very_many_certificates_are_refused(client, pki, start):
    (pki.folder / "long.pem").write_text(pki.text("good.pem") + pki.text("untrusted.crt") * 40)
    (pki.folder / "long.key").write_text(pki.text("good.key"))
    result = client.call("data.send", {"url": f"https://localhost:{start('long')}/"}, 30)["result"]
    assert result["error"]["code"] in (1406, 1506), result["error"]


def test_certificates_that_sign_each_other_are_judged_quickly(client, pki, start):
    """Fourteen certificates of one name and key, each with another subjectAltName, make paths without number."""
    pki.key("crowd")
    for number in range(14):
        pki.issue(f"crowd{number}", None if number == 0 else "crowd0", key="crowd", subject="/CN=crowd",
                  ext=f"{CA}subjectAltName=DNS:h{number}.test\n")
    pki.issue("crowded", "crowd0", chain=[f"crowd{number}" for number in range(14)])
    began = time.monotonic()
    result = client.call("data.send", {"url": f"https://localhost:{start('crowded')}/", "timeout": 30}, 60)["result"]
    assert result["error"]["code"] == 1506 and "CN=crowd" in result["error"]["message"], result
    assert time.monotonic() - began < 10


def test_a_self_signed_server_is_believed_as_its_own_root(client, pki, start):
    url = f"https://localhost:{start('self-signed')}/"
    tls = {"roots": {"file": pki.path("self-signed.crt")}}
    assert client.call("data.send", {"url": url, "tls": tls}, 30)["result"]["ok"]
    elsewhere = url.replace("localhost", "elsewhere.test")
    params = {"url": elsewhere, "tls": tls, "connectTo": "127.0.0.1"}
    assert client.call("data.send", params, 30)["result"]["error"]["code"] == 1508


def with_pss(made, name, *signer):
    """A certificate that is signed with RSASSA-PSS, by the signer or by itself."""
    made.key(name, "2048")
    (made.folder / f"{name}.ext").write_text(SERVER + LOCAL if signer else CA)
    made.openssl("req", "-new", "-key", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
    by = ["-CA", f"{signer[0]}.crt", "-CAkey", f"{signer[0]}.key"] if signer else ["-signkey", f"{name}.key"]
    made.openssl("x509", "-req", "-in", f"{name}.csr", *by, "-set_serial", "7", "-days", "30", "-sha256",
                 "-extfile", f"{name}.ext", "-out", f"{name}.crt", "-sigopt", "rsa_padding_mode:pss")
    (made.folder / f"{name}.pem").write_text(made.text(f"{name}.crt"))


def test_signatures_with_pss_are_named(pki, start):
    """Of the server's certificate, and of a root that signs itself so."""
    with_pss(pki, "pss-root")
    with_pss(pki, "pss-server", "pss-root")
    with contract.Wire() as wire:
        for server, file, code in (("pss-server", "root.crt", 1506), ("good", "pss-root.crt", 1504)):
            params = {"url": f"https://localhost:{start(server)}/", "tls": {"roots": {"file": pki.path(file)}}}
            error = wire.call("data.send", params, 30)["result"]["error"]
            assert error["code"] == code and "RSASSA-PSS" in error["message"], error


# options of `openssl x509` for the root, and whether it is trusted
PURPOSES = {"all": (["-trustout"], True), "servers": (["-addtrust", "serverAuth"], True),
            "mail": (["-addtrust", "emailProtection"], False), "not servers": (["-addreject", "serverAuth"], False),
            "not mail": (["-addreject", "emailProtection"], True)}


@pytest.mark.parametrize("name", PURPOSES)
def test_the_purposes_of_a_trusted_certificate_of_openssl_count(pki, start, name):
    options, is_trusted = PURPOSES[name]
    pki.openssl("x509", "-in", "root.crt", *options, "-out", "purposes.crt")
    assert pki.text("purposes.crt").startswith("-----BEGIN TRUSTED")
    with contract.Wire() as wire:
        params = {"url": f"https://localhost:{start('good')}/", "tls": {"roots": {"file": pki.path("purposes.crt")}}}
        result = wire.call("data.send", params, 30)["result"]
    assert result["ok"] == is_trusted, result
