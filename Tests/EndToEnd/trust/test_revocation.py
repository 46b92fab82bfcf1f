# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Revoked certificates, asked for over the network: OCSP responders and lists that certificates name."""

import http.server
import threading

import certificate_authority
import contract
import pytest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


class Places:
    """Responders and lists of all authorities of a folder, on loopback; `made` is the authority."""

    def __init__(self):
        self.made = None
        self.requests = []
        # issuer -> the name of who signs its responses, or a status
        self.signers = {}
        self.broken = set()
        self.stalled = set()
        # issuer -> the extensions of its list: a section of its configuration
        self.extensions = {}
        self.ended = threading.Event()
        places = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                places.respond(self, self.rfile.read(int(self.headers["Content-Length"])))

            def do_GET(self):
                places.respond(self, b"")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def url(self, kind, issuer):
        return f"http://127.0.0.1:{self.server.server_port}/{kind}/{issuer}"

    def ext(self, issuer):
        return (f"authorityInfoAccess=OCSP;URI:{self.url('ocsp', issuer)}\n"
                f"crlDistributionPoints=URI:{self.url('crl', issuer)}\n")

    def respond(self, handler, body):
        _, kind, issuer = handler.path.split("/")
        self.requests.append((kind, issuer))
        if (kind, issuer) in self.broken:
            handler.send_response(500)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if (kind, issuer) in self.stalled:
            return self.ended.wait(20)
        found = self.ocsp(issuer, body) if kind == "ocsp" else self.crl(issuer)
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(found)))
        handler.end_headers()
        handler.wfile.write(found)

    def ocsp(self, issuer, body):
        made, signer = self.made, self.signers.get(issuer, issuer)
        (made.folder / f"{issuer}.req").write_bytes(body)
        made.openssl("ocsp", "-index", "index", "-CA", f"{issuer}.crt", "-rsigner", f"{signer}.crt", "-rkey",
                     f"{signer}.key", "-reqin", f"{issuer}.req", "-respout", f"{issuer}.resp", "-ndays", "1",
                     "-rmd", "sha256")
        return (made.folder / f"{issuer}.resp").read_bytes()

    def crl(self, issuer):
        section = self.extensions.get(issuer)
        with open(self.made.crl(issuer, *(["-crlexts", section] if section else [])), "rb") as file:
            return file.read()


@pytest.fixture(scope="module")
def places():
    found = Places()
    yield found
    found.ended.set()
    found.server.shutdown()
    found.server.server_close()


@pytest.fixture(scope="module")
def pki(tmp_path_factory, places):
    made = places.made = certificate_authority.usual(tmp_path_factory.mktemp("revocation"))
    made.issue("sub", "root", certificate_authority.CA + places.ext("root"), subject="/CN=Asked Intermediate")
    server = certificate_authority.SERVER + certificate_authority.LOCAL + places.ext("sub")
    made.issue("well", "sub", server, chain=["sub"])
    made.issue("revoked", "sub", server, chain=["sub"])
    made.issue("silent", "sub", chain=["sub"])
    made.issue("helper", "sub", certificate_authority.LEAF + "extendedKeyUsage=OCSPSigning\n")
    made.issue("liar", "sub", certificate_authority.LEAF)
    made.revoke("revoked", "sub")
    with (made.folder / "sub.cnf").open("a") as file:
        for name, point in (("part", f"fullname=URI:{places.url('crl', 'sub')}\nonlyuser=TRUE"),
                            ("elsewhere", "fullname=URI:http://lists.test/2"), ("authorities", "onlyCA=TRUE"),
                            ("reasons", "onlysomereasons=keyCompromise"), ("indirect", "indirectCRL=TRUE")):
            file.write(f"[{name}]\nissuingDistributionPoint=critical,@{name}_point\n[{name}_point]\n{point}\n")
    return made


@pytest.fixture(scope="module")
def start(pki):
    with certificate_authority.serving(pki) as start:
        yield start


@pytest.fixture
def client(pki, places):
    places.requests.clear()
    places.signers.clear()
    places.broken.clear()
    places.stalled.clear()
    places.extensions.clear()
    with contract.Wire(arguments=["--ca-file", pki.path("root.crt")]) as wire:
        yield wire


def send(wire, port, **policy):
    trust = {"revocation": {"network": True, **policy}}
    return wire.call("data.send", {"url": f"https://localhost:{port}/", "timeout": 10, "trust": trust}, 20)["result"]


@pytest.mark.parametrize("method", ["ocsp", "crl"])
def test_the_network_tells(client, places, start, method):
    """[V4]"""
    well, revoked = start("well"), start("revoked")
    found = send(client, well, methods=[method], required=True)
    assert found["ok"] and found["tls"]["revocation"] == "good", found
    assert places.requests == [(method, "sub"), (method, "root")]
    error = send(client, revoked, methods=[method])["error"]
    assert error["code"] == 1509 and "CN=revoked" in error["message"], error
    assert "is revoked since 20" in error["message"] and "keyCompromise" in error["message"]


@pytest.mark.parametrize("section, words", [
    ("part", None), ("elsewhere", "is about other certificates"), ("authorities", "of authorities only"),
    ("reasons", "some reasons of revocation only"), ("indirect", "critical extension that is not understood"),
])
def test_a_list_of_a_part_of_the_certificates(client, places, start, section, words):
    """RFC 5280 section 5.2.5: such a list was never believed, and large authorities have no other."""
    places.extensions["sub"] = section
    found = send(client, start("well"), methods=["crl"], required=True)
    if words is None:
        assert found["ok"] and found["tls"]["revocation"] == "good", found
    else:
        assert found["error"]["code"] == 1509 and words in found["error"]["message"], found
    if section != "indirect":
        error = send(client, start("revoked"), methods=["crl"])["error"]
        assert error["code"] == 1509 and "is revoked since 20" in error["message"], error


def test_nothing_is_asked_without_the_network(client, places, start):
    found = send(client, start("well"), network=False)
    assert found["tls"]["revocation"] == "unknown" and places.requests == []
    assert send(client, start("well"), network=False, required=True)["error"]["code"] == 1509


def test_the_next_way_is_tried(client, places, start):
    places.broken.add(("ocsp", "sub"))
    found = send(client, start("well"), required=True)
    assert found["ok"] and places.requests == [("ocsp", "sub"), ("crl", "sub"), ("ocsp", "root")]


def test_a_responder_that_stalls_leaves_time_for_the_list(client, places, start):
    places.stalled.add(("ocsp", "sub"))
    error = send(client, start("revoked"))["error"]
    assert error["code"] == 1509 and "is revoked since 20" in error["message"], error
    assert places.requests == [("ocsp", "sub"), ("crl", "sub")]


def test_what_was_verified_is_kept(client, places, start):
    # another policy, so that the verdict itself is not remembered
    assert send(client, start("well"), required=True)["ok"]
    before = list(places.requests)
    assert send(client, start("well"))["tls"]["revocation"] == "good"
    assert places.requests == before


def test_no_response_is_unknown_or_a_failure(client, pki, places, start):
    places.broken |= {(kind, "sub") for kind in ("ocsp", "crl")}
    port = start("well")
    assert send(client, port)["tls"]["revocation"] == "unknown"
    error = send(client, port, required=True)["error"]
    assert error["code"] == 1509 and places.url("ocsp", "sub") in error["message"], error
    assert "cannot be asked" in error["message"] and "cannot be fetched" in error["message"]
    error = send(client, start("silent"), required=True)["error"]
    assert "names no place to ask" in error["message"], error


def test_who_may_sign_a_response(client, places, start):
    places.signers["sub"] = "helper"
    found = send(client, start("well"), methods=["ocsp"], required=True)
    assert found["ok"], found
    assert send(client, start("revoked"), methods=["ocsp"])["error"]["code"] == 1509


@pytest.mark.parametrize("signer", ["liar", "evilroot"])
def test_a_response_by_another_key_counts_for_nothing(client, places, start, signer):
    places.signers["sub"] = signer
    error = send(client, start("well"), methods=["ocsp"], required=True)["error"]
    assert error["code"] == 1509 and "not signed by the issuer" in error["message"], error


@pytest.mark.parametrize("methods, words", [
    (["ocsp", "ocsp"], "each once"), ([], "empty"), (["staple"], "ocsp or crl"),
])
def test_bad_parameters(client, methods, words):
    trust = {"revocation": {"methods": methods}}
    error = client.call("data.send", {"url": "https://localhost/", "trust": trust})["error"]
    assert error["code"] == -32602 and words in error["message"], error
