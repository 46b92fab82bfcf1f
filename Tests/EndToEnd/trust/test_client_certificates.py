# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Client certificates against servers that ask for one, and what is said of those that cannot be used."""

import os
import ssl

import certificate_authority
import contract
import http2_servers
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")

CLIENT = certificate_authority.LEAF + "extendedKeyUsage=clientAuth\n"


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    made = certificate_authority.usual(tmp_path_factory.mktemp("identities"))
    made.issue("client", "inter", CLIENT, chain=["inter"])
    made.issue("stranger", "evilroot", CLIENT, chain=["evilroot"])
    for cipher, name in (("-aes256", "aes"), ("-des3", "des")):
        made.openssl("pkey", "-in", "client.key", cipher, "-passout", "pass:secret", "-out", f"{name}.key")
    # as some editors write files: with a byte order mark
    for name, source in (("marked.pem", "client.pem"), ("marked.key", "aes.key")):
        (made.folder / name).write_text("\ufeff" + made.text(source), encoding="utf-8")
    made.openssl("pkcs8", "-topk8", "-scrypt", "-in", "client.key", "-passout", "pass:secret", "-out", "scrypt.key")
    made.openssl("pkcs8", "-topk8", "-v2", "aes256", "-v2prf", "hmacWithSHA512", "-in", "client.key", "-passout",
                 "pass:secret", "-out", "sha512.key")
    made.key("pss", "pss")
    made.openssl("pkcs12", "-export", "-inkey", "client.key", "-in", "client.pem", "-passout", "pass:secret", "-out",
                 "client.p12")
    (made.folder / "both.pem").write_text(made.text("client.pem") + made.text("client.key"))
    for file in made.folder.glob("*.key"):
        file.chmod(0o600)
    (made.folder / "both.pem").chmod(0o600)
    return made


@pytest.fixture(scope="module")
def start(pki):
    with certificate_authority.serving(pki) as start:
        yield start


@pytest.fixture(scope="module", params=[ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def url(request, start):
    return f"https://localhost:{start('good', client=ssl.CERT_REQUIRED, high=request.param)}/"


@pytest.fixture(scope="module")
def client(pki):
    with contract.Wire(arguments=["--ca-file", pki.path("root.crt")]) as wire:
        yield wire


def send(wire, url, identity=None, **more):
    tls = {"tls": {"identity": identity}} if identity else {}
    return wire.call("data.send", {"url": url, "timeout": 10, **tls, **more}, 30)["result"]


def pem(pki, certificate="client.pem", key="client.key", **more):
    return {"certificate": pki.path(certificate), "key": pki.path(key), **more}


def test_kinds_of_identities(client, pki, url):
    """[V13]"""
    for identity in (
        pem(pki),
        {"certificate": pki.path("both.pem")},
        pem(pki, key="aes.key", passphrase="secret"),
        pem(pki, key="des.key", passphrase="secret"),
        pem(pki, "marked.pem", "marked.key", passphrase="secret"),
        {"pkcs12": pki.path("client.p12"), "passphrase": "secret"},
    ):
        result = send(client, url, identity)
        assert result["ok"] and result["body"]["text"].endswith("client=client"), (identity, result)
        assert result["tls"]["clientCertificate"] == "sent"


def test_none_where_one_is_needed(client, pki, url):
    assert send(client, url, pem(pki))["ok"]
    error = send(client, url)["error"]
    assert error["code"] == 1417 and not error["retryable"] and "tls.identity" in error["message"], error


def test_one_of_another_authority(client, pki, url):
    error = send(client, url, pem(pki, "stranger.pem", "stranger.key"))["error"]
    assert error["code"] == 1417 and error["data"]["alert"] == "unknown_ca" and not error["retryable"], error


def test_one_that_may_be_left_out(client, pki, start):
    url = f"https://localhost:{start('good', client=ssl.CERT_OPTIONAL)}/"
    without = send(client, url)
    assert without["ok"] and without["tls"]["clientCertificate"] == "requested"
    assert send(client, url, pem(pki))["body"]["text"].endswith("client=client")
    assert send(client, url)["body"]["text"].endswith("client=-")
    # nothing is read for a server that does not ask
    assert send(client, f"https://localhost:{start('good')}/", pem(pki, "nothing.pem"))["ok"]


@pytest.mark.parametrize("change, words, pointer", [
    (dict(certificate="nothing.pem"), "nothing.pem cannot be read", "/certificate"),
    (dict(key="nothing.key"), "nothing.key cannot be read", "/key"),
    (dict(certificate="client.key"), "holds no certificate", "/certificate"),
    (dict(key="client.crt"), "holds no private key", "/key"),
    (dict(key="aes.key"), "there is no passphrase", "/passphrase"),
    (dict(key="aes.key", passphrase="wrong"), "does not open the key", "/passphrase"),
    (dict(key="scrypt.key", passphrase="secret"), "scrypt", "/key"),
    (dict(key="sha512.key", passphrase="secret"), "openssl pkcs8 -topk8 -v2 aes256", "/passphrase"),
    (dict(key="pss.key"), "RSA-PSS", "/key"),
    (dict(key="good.key"), "do not belong together", "/key"),
    (dict(key="open.key"), "chmod 600", "/key"),
])
def test_one_that_cannot_be_used(client, pki, url, change, words, pointer):
    (pki.folder / "open.key").write_text(pki.text("client.key"))
    os.chmod(pki.path("open.key"), 0o644)
    error = send(client, url, pem(pki, **change))["error"]
    assert error["code"] == 1418 and words in error["message"], error
    assert error["pointer"] == "/tls/identity" + pointer and not error["retryable"]


@pytest.mark.parametrize("change, words", [
    (dict(passphrase="wrong"), "does not open"), ({}, "without a passphrase"),
])
def test_pkcs12_that_cannot_be_opened(client, pki, url, change, words):
    error = send(client, url, {"pkcs12": pki.path("client.p12"), **change})["error"]
    assert error["code"] == 1418 and words in error["message"], error


@pytest.mark.parametrize("export", [
    ["-nokeys", "-in", "client.pem"], ["-nocerts", "-inkey", "client.key"],
    ["-inkey", "explicit.key", "-in", "explicit.crt"],
], ids=["without a key", "without a certificate", "explicit parameters"])
def test_pkcs12_without_a_key_and_its_certificate(client, pki, url, export):
    if not (pki.folder / "explicit.key").exists():
        pki.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-pkeyopt",
                    "ec_param_enc:explicit", "-out", "explicit.key")
        pki.openssl("req", "-x509", "-new", "-key", "explicit.key", "-subj", "/CN=client", "-out", "explicit.crt")
    pki.openssl("pkcs12", "-export", *export, "-passout", "pass:secret", "-out", "part.p12")
    error = send(client, url, {"pkcs12": pki.path("part.p12"), "passphrase": "secret"})["error"]
    assert error["code"] == 1418 and "does not hold a private key with its certificate" in error["message"], error
    assert error["pointer"] == "/tls/identity/pkcs12" and send(client, url, pem(pki))["ok"]


def test_pkcs12_with_a_passphrase_beyond_ascii(client, pki, url):
    files = ["-inkey", "client.key", "-in", "client.pem", "-out", "accent.p12"]
    pki.openssl("pkcs12", "-export", *files, "-passout", "pass:s\u00e9cret")
    assert send(client, url, {"pkcs12": pki.path("accent.p12"), "passphrase": "s\u00e9cret"})["ok"]


def test_key_with_a_passphrase_beyond_ascii(client, pki, url):
    error = send(client, url, pem(pki, key="aes.key", passphrase="s\u00e9cret"))["error"]
    assert error["code"] == 1418 and "beyond ASCII" in error["message"], error
    assert error["pointer"] == "/tls/identity/passphrase" and send(client, url, pem(pki))["ok"]


@pytest.mark.parametrize("more", [{}, {"passphrase": ""}])
def test_pkcs12_without_a_passphrase_is_for_its_owner_alone(client, pki, url, more):
    name = f"open{len(more)}{url.rsplit(':')[-1].strip('/')}.p12"
    pki.openssl("pkcs12", "-export", "-inkey", "client.key", "-in", "client.pem", "-passout", "pass:", "-out", name)
    identity = {"pkcs12": pki.path(name), **more}
    os.chmod(pki.path(name), 0o644)
    error = send(client, url, identity)["error"]
    assert error["code"] == 1418 and "chmod 600" in error["message"], error
    assert error["pointer"] == "/tls/identity/pkcs12"
    os.chmod(pki.path(name), 0o600)
    assert send(client, url, identity)["ok"]


def test_identities_of_a_session_by_host(client, pki, url):
    session = client.call("session.create", {"tls": {
        "identities": {"localhost": {"pkcs12": pki.path("client.p12"), "passphrase": "secret"}}}})["result"]["session"]
    assert send(client, url, session=session)["body"]["text"].endswith("client=client")
    shown = client.call("session.get", {"session": session})["result"]["tls"]
    assert shown["identities"]["localhost"]["passphrase"] == "***"
    elsewhere = client.call("session.create", {"tls": {"identities": {"*.example.com": pem(pki)}}})["result"]["session"]
    assert send(client, url, session=elsewhere)["error"]["code"] == 1417


def test_a_redirect_elsewhere_leaves_the_identity_behind(client, pki, start, url):
    first = f"https://localhost:{start('good')}/"
    assert send(client, f"{first}to?{url}", pem(pki))["error"]["code"] == 1417


def test_another_certificate_in_the_place_of_the_first(pki, start, tmp_path, monkeypatch):
    """The connections of the first, and its stored responses, were used for the second."""
    pki.issue("second", "inter", CLIENT, chain=["inter"])
    url = f"https://localhost:{start('good', client=ssl.CERT_REQUIRED)}/says?Cache-Control:%20max-age=600"
    identity = {"certificate": str(tmp_path / "me.pem"), "key": str(tmp_path / "me.key")}
    monkeypatch.setenv("OUTRIDER_CACHES", str(tmp_path / "caches"))
    with contract.Wire(arguments=["--ca-file", pki.path("root.crt")]) as wire:
        for name in ("client", "second", "client"):
            for kind in ("pem", "key"):
                written = tmp_path / f"new.{kind}"
                written.write_text(pki.text(f"{name}.{kind}"))
                written.chmod(0o600)
                written.replace(tmp_path / f"me.{kind}")
            for more in ({}, {"cache": "identities"}, {"cache": "identities"}):
                result = send(wire, url, identity, **more)
                assert result["ok"] and result["body"]["text"].endswith(f"client={name}"), (name, more, result)
            assert result["cache"]["status"] == "hit"


@pytest.mark.skipif(http2_servers.program("apache2") is None, reason="apache2 is not here")
def test_a_second_handshake_for_one_path_is_named(trusting, certificates, origin, tmp_path):
    """Apache asks for the certificate when it knows the path."""
    tmp_path.chmod(0o755)
    identity = {"certificate": str(certificates / "good.pem"), "key": str(certificates / "good.key")}
    params = {"httpVersion": "1.1", "tls": {"maxVersion": "1.2", "identity": identity}}
    with http2_servers.serving("apache2", tmp_path, certificates, origin) as (secure, _):
        assert trusting.call("data.send", {**params, "url": f"{secure}/status/201"}, 60)["result"]["status"] == 201
        error = trusting.call("data.send", {**params, "url": f"{secure}/certified"}, 60)["result"]["error"]
    assert error["code"] == 1417 and not error["retryable"], error
    assert "second TLS handshake" in error["message"], error
