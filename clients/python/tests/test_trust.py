# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Which servers are believed and who the program is: ``verify``, ``cert``, ``connect_to`` and ``http2``."""

from __future__ import annotations

import socket
import ssl
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import outrider
import pytest
import requests
from outrider import Client
from peers import Scripted

Serve = Callable[[Callable[[socket.socket], None]], Scripted]
CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority ``ca.pem``, and a certificate for ``localhost`` and one for a client."""
    folder = tmp_path_factory.mktemp("authority")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", *CURVE, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority")
    for name in ("server", "client"):
        (folder / f"{name}.ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:false\n")
        openssl("req", *CURVE, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl(
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem"),
        )
        (folder / f"{name}.key").chmod(0o600)
    return folder


def telling(authority: Path, mode: ssl.VerifyMode) -> Callable[[socket.socket], None]:
    """Tells the name in the certificate of a client, if there is one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "server.pem", authority / "server.key")
    context.load_verify_locations(authority / "ca.pem")
    context.verify_mode = mode

    def talk(stream: socket.socket) -> None:
        try:
            with context.wrap_socket(stream, server_side=True) as secured:
                while True:
                    seen = b""
                    while b"\r\n\r\n" not in seen:
                        piece = secured.recv(65536)
                        if not piece:
                            return
                        seen += piece
                    shown: Any = secured.getpeercert() or {}
                    who = dict(pair for part in shown.get("subject", ()) for pair in part).get("commonName", "nobody")
                    secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(who), who.encode()))
        except OSError:
            pass

    return talk


@pytest.fixture
def server(scripted: Serve, authority: Path) -> Scripted:
    return scripted(telling(authority, ssl.CERT_OPTIONAL))


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    from outrider._protocol import access as trust

    trust._warned.clear()
    yield


def test_verify(client: Client, server: Scripted, authority: Path, tmp_path: Path) -> None:
    url = f"https://localhost:{server.port}/"
    with pytest.raises(outrider.TrustError):
        client.get(url)
    ca = authority / "ca.pem"
    r = client.get(url, verify=ca)
    assert r.text == "nobody" and r.tls is not None and r.tls["verified"] == "roots" and r.http_version == "1.1"
    (tmp_path / "roots").mkdir()
    (tmp_path / "roots" / "ca.pem").write_bytes(ca.read_bytes())
    assert client.get(url, verify=str(tmp_path / "roots")).ok
    policy = {"pinnedCertificates": {"files": [str(ca)], "acceptSelfSigned": True}}
    assert client.get(url, verify=policy).ok
    with pytest.warns(outrider.UnverifiedWarning, match=f"localhost:{server.port} is not verified"):
        unverified = client.get(url, verify=False)
    assert unverified.tls is not None and unverified.tls["verified"] == "none"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert client.get(url, verify=False).ok, "one warning for each host"
    with pytest.raises(outrider.TrustError):
        client.get(url, verify=True)


def test_a_function_of_a_session_decides(client: Client, server: Scripted) -> None:
    url = f"https://localhost:{server.port}/"
    seen: list[Any] = []
    with client.session(hsts=True) as session:

        @session.trust
        def believe(presented: Any) -> Any:
            seen.append(presented)
            return {"trust": presented.chain[0]["subject"] == "CN=server", "remember": 60}

        r = session.get(url)
        assert r.tls is not None and r.tls["verified"] == "callback" and session.get(url).ok
    assert [(one.host, one.port, one.trusted) for one in seen] == [("localhost", server.port, False)]
    assert "not known" in seen[0].reason
    with client.session() as session:
        session.trust(lambda presented: "not this one")
        with pytest.raises(outrider.TrustError, match="not this one"):
            session.get(url)


def test_verify_of_clients_and_sessions(service: str, client: Client, server: Scripted, authority: Path) -> None:
    url = f"https://localhost:{server.port}/"
    with Client(socket=service, verify=authority / "ca.pem") as trusting:
        assert trusting.get(url).ok and trusting.get(url, params={"a": 1}).ok
    with client.session(verify=authority / "ca.pem", cert=(authority / "client.pem", authority / "client.key")) as own:
        assert own.get(url).text == "client"
    with client.session(verify={"hosts": {"localhost": "none"}}) as hosts:
        assert hosts.get(url).ok


def test_cert(client: Client, server: Scripted, authority: Path) -> None:
    url, ca = f"https://localhost:{server.port}/", authority / "ca.pem"
    pair = (authority / "client.pem", authority / "client.key")
    assert client.get(url, verify=ca, cert=pair).text == "client"
    assert client.get(url, verify=ca, cert={"certificate": pair[0], "key": pair[1]}).text == "client"
    assert client.get(url, verify=ca).text == "nobody"
    with pytest.raises(ValueError, match=r"cert must be a path, \(certificate, key\)"):
        client.get(url, cert=(1, 2, 3, 4))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="verify must be a path, not int"):
        client.get(url, verify=7)  # type: ignore[arg-type]


def test_a_certificate_that_is_missing_or_unusable_is_a_failure_of_tls(
    service: str, client: Client, scripted: Serve, authority: Path
) -> None:
    import outrider.requests

    url, ca = f"https://localhost:{scripted(telling(authority, ssl.CERT_REQUIRED)).port}/", authority / "ca.pem"
    with pytest.raises(outrider.TLSError, match=r"none is configured \(give cert\)"):
        client.get(url, verify=ca)
    with pytest.raises(outrider.TLSError, match="holds no private key"):
        client.get(url, verify=ca, cert=authority / "client.pem")
    with requests.Session() as session:
        session.mount("https://", outrider.requests.Adapter(socket=service))
        with pytest.raises(requests.exceptions.SSLError):
            session.get(url, verify=str(ca))


def test_connect_to(client: Client, server: Scripted, authority: Path) -> None:
    r = client.get("https://localhost/", verify=authority / "ca.pem", connect_to=f"127.0.0.1:{server.port}")
    assert r.text == "nobody" and r.url == "https://localhost/"


def test_the_drop_ins_pass_it_on(service: str, server: Scripted, authority: Path) -> None:
    import httpx
    import outrider.httpx
    import outrider.requests

    url, ca = f"https://localhost:{server.port}/", str(authority / "ca.pem")
    pair = (str(authority / "client.pem"), str(authority / "client.key"))
    with requests.Session() as session:
        session.mount("https://", outrider.requests.Adapter(socket=service))
        with pytest.raises(requests.exceptions.SSLError):
            session.get(url, verify=True)
        assert session.get(url, verify=ca, cert=pair).text == "client"
        assert session.get(url, verify=False).text == "nobody"
    with httpx.Client(transport=outrider.httpx.Transport(socket=service, verify=ca, cert=pair, http2=False)) as made:
        assert made.get(url).text == "client"
    with pytest.raises(TypeError, match="takes no SSLContext"):
        outrider.httpx.Transport(verify=ssl.create_default_context())  # type: ignore[arg-type]
