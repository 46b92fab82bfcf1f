# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Each TLS option of the shell beside curl's: the same words against the same server have the same end."""

import os
import shutil
import ssl
import subprocess

import certificate_authority
import contract
import pytest
from shell import outrider
from websocket_server import echo, websockets_server

pytestmark = [
    pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it"),
    pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here"),
]


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    made = certificate_authority.usual(tmp_path_factory.mktemp("flags"))
    made.issue("client", "inter", certificate_authority.LEAF + "extendedKeyUsage=clientAuth\n", chain=["inter"])
    made.issue("revoked", "inter", chain=["inter"])
    made.revoke("revoked", "inter")
    (made.folder / "lists.pem").write_text("".join(open(made.crl(name)).read() for name in ("inter", "root")))
    made.issue("virtual", "inter", certificate_authority.SERVER + "subjectAltName=DNS:virtual.test\n", chain=["inter"])
    made.openssl("pkey", "-in", "client.key", "-aes256", "-passout", "pass:secret", "-out", "aes.key")
    made.openssl("pkcs12", "-export", "-inkey", "client.key", "-in", "client.pem", "-passout", "pass:secret", "-out",
                 "client.p12")
    roots = made.folder / "roots"
    roots.mkdir()
    shutil.copy(made.path("root.crt"), roots / "root.pem")
    made.openssl("rehash", "roots")
    for file in made.folder.glob("*.key"):
        file.chmod(0o600)
    return made


@pytest.fixture(scope="module")
def ports(pki):
    old, new = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
    with certificate_authority.serving(pki) as start:
        yield {
            "good": start("good"), "untrusted": start("untrusted"), "revoked": start("revoked"),
            "virtual": start("virtual"), "mutual": start("good", client=ssl.CERT_REQUIRED),
            "old": start("good", high=old), "new": start("good", low=new),
            "gcm256": start("good", high=old, ciphers="ECDHE-ECDSA-AES256-GCM-SHA384"),
        }


CA = "--cacert {root}"
# words, the server, whether it succeeds
CASES = [
    ("", "good", False),
    (CA, "good", True),
    (CA, "untrusted", False),
    ("-k", "untrusted", True),
    ("--insecure", "good", True),
    ("--capath {roots}", "good", True),
    ("--capath {roots}", "untrusted", False),
    (CA, "mutual", False),
    (CA + " --cert {client.pem} --key {client.key}", "mutual", True),
    (CA + " --cert {client.pem}:secret --key {aes.key}", "mutual", True),
    (CA + " -E {client.pem} --key {aes.key} --pass secret", "mutual", True),
    (CA + " -E {client.pem} --key {aes.key} --pass wrong", "mutual", False),
    (CA + " --cert-type P12 --cert {client.p12}:secret", "mutual", True),
    (CA + " --cert-type P12 --cert {client.p12}:wrong", "mutual", False),
    (CA + " --pinnedpubkey {pin good}", "good", True),
    (CA + " --pinnedpubkey {pin untrusted}", "good", False),
    (CA + " --pinnedpubkey {pin untrusted};{pin good}", "good", True),
    (CA + " --crlfile {lists.pem}", "good", True),
    (CA + " --crlfile {lists.pem}", "revoked", False),
    (CA, "revoked", True),
    (CA + " --tlsv1.2", "old", True),
    (CA + " --tlsv1.3", "new", True),
    (CA + " --tlsv1.3", "old", False),
    (CA + " --tls-max 1.2", "old", True),
    (CA + " --tls-max 1.2", "new", False),
    (CA + " --ciphers ECDHE-ECDSA-AES256-GCM-SHA384", "gcm256", True),
    (CA + " --tls-max 1.2 --ciphers ECDHE-ECDSA-AES128-GCM-SHA256", "gcm256", False),
    (CA + " --resolve virtual.test:{port}:127.0.0.1", "virtual", True),
    (CA + " --connect-to virtual.test:{port}:127.0.0.1:{port}", "virtual", True),
    (CA + " --connect-to ::127.0.0.1:", "virtual", True),
    (CA + " --http1.1", "good", True),
    (CA + " --http2", "good", True),
]


def filled(words, pki, port):
    """The words with paths, pins and the port in place of what stands in braces."""
    parts = []
    for word in words.split(" ") if words else []:
        for name in ("client.pem", "client.key", "aes.key", "client.p12", "lists.pem", "roots"):
            word = word.replace("{" + name + "}", pki.path(name))
        parts.append(word.replace("{root}", pki.path("root.crt")).replace("{port}", str(port)))
    text = "\0".join(parts)
    for name in ("good", "untrusted"):
        text = text.replace("{pin\0" + name + "}", "sha256//" + pki.pin(name)[7:])
    return text.split("\0") if text else []


@pytest.mark.parametrize("words, server, succeeds", CASES, ids=[f"{case[1]} {case[0]}"[:60] for case in CASES])
def test_the_same_words_have_the_same_end(pki, ports, words, server, succeeds):
    port = ports[server]
    host = "virtual.test" if server == "virtual" else "localhost"
    url = f"https://{host}:{port}/"
    given = filled(words, pki, port)
    env = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
    told = subprocess.run(["curl", "-q", "-s", "--max-time", "10", *given, url], capture_output=True, env=env)
    done = outrider("get", *given, url)
    assert (told.returncode == 0) == succeeds, told
    assert (done.returncode == 0) == succeeds, done
    if succeeds:
        assert done.stdout.strip() == told.stdout.strip()


@pytest.mark.parametrize(
    "words, succeeds", [("", False), (CA, True), ("-k", True), (CA + " --connect-to virtual.test::127.0.0.1:", True)]
)
def test_websockets_have_the_same_options(pki, words, succeeds):
    name = "virtual" if "virtual" in words else "good"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.path(f"{name}.pem"), pki.path(f"{name}.key"))
    with websockets_server(echo, ssl=context) as url:
        url = url.replace("ws://127.0.0.1", "wss://virtual.test" if name == "virtual" else "wss://localhost")
        done = outrider("websocket", "--count", "1", *filled(words, pki, 0), url, stdin=b"wolf\n")
    assert (done.returncode, done.stdout) == ((0, b"wolf\n") if succeeds else (13, b"")), done


@pytest.mark.parametrize("words, status", [("", 13), (CA, 0), ("-k", 0)])
def test_the_requests_of_a_file_have_the_same_options(pki, ports, words, status):
    text = f"GET https://localhost:{ports['good']}/\n".encode()
    done = outrider("run", *filled(words, pki, 0), "-", stdin=text)
    assert done.returncode == status and bool(done.stdout) == (status == 0), done


@pytest.mark.parametrize("words, server, said", [
    ("", "untrusted", "(--cacert, or ca-file in the configuration)"),
    (CA, "mutual", "(give --cert FILE and --key FILE)"),
    (CA + " --cert {client.pem} --key {aes.key}", "mutual", "(give --pass-file FILE)"),
    (CA + " --cert-type P12 --cert {client.p12}", "mutual", "(give --pass-file FILE)"),
    (CA + " --pinnedpubkey sha256//wolf", "good", "--pinnedpubkey[0] must be sha256/"),
    (CA + " --ciphers WOLF", "good", "--ciphers[0] names no cipher suite"),
])
def test_a_message_names_the_option(pki, ports, words, server, said):
    done = outrider("get", *filled(words, pki, ports[server]), f"https://localhost:{ports[server]}/")
    assert done.returncode and said in done.stderr.decode(), done


@pytest.mark.parametrize("words, server", [(CA, "good"), ("-k", "untrusted"), (CA, "untrusted")])
def test_write_out_tells_whether_the_server_is_trusted(pki, ports, words, server):
    url, format = f"https://localhost:{ports[server]}/", ["-s", "-o", "/dev/null", "-w", "%{ssl_verify_result}"]
    given = filled(words, pki, ports[server])
    told = subprocess.run(["curl", "-q", *format, *given, url], capture_output=True)
    done = outrider("get", *format, *given, url)
    assert (done.stdout == b"0") is (told.stdout == b"0") is (server == "good"), (done, told)
