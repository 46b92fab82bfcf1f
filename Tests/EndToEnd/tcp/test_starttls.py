# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""STARTTLS with the servers that people use: SMTP by aiosmtpd, IMAP by Dovecot."""

import contextlib
import getpass
import grp
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import contract
import pytest
import tls_server
from listeners import free_port
from request_client import result
from tcp_server import dial, line, rest, write

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


class Inbox:
    """What a mail server was given."""

    def __init__(self):
        self.mails = []

    async def handle_DATA(self, server, session, envelope):  # noqa: N802
        self.mails.append((envelope.mail_from, envelope.rcpt_tos, envelope.content, session.ssl is not None))
        return "250 OK"


@pytest.fixture
def mail(certificates):
    """An SMTP server that takes mail over TLS alone."""
    controller = pytest.importorskip("aiosmtpd.controller", reason="aiosmtpd is not installed")
    inbox = Inbox()
    server = controller.Controller(
        inbox, hostname="127.0.0.1", port=free_port(), tls_context=tls_server.context(certificates, "good"),
        require_starttls=True,
    )
    server.start()
    try:
        yield server.port, inbox
    finally:
        server.stop()


def lines(wire, stream):
    """The lines of one reply of SMTP."""
    lines = []
    while not lines or lines[-1][3:4] == b"-":
        lines.append(line(wire, stream))
    return lines


def say(wire, stream, text):
    write(wire, stream, text.encode() + b"\r\n")
    return lines(wire, stream)


def test_a_mail_is_sent_over_tls(trusting, mail):
    """[S5]"""
    port, inbox = mail
    stream = dial(trusting, port, host="localhost")["stream"]
    assert lines(trusting, stream)[0].startswith(b"220")
    assert any(b"STARTTLS" in one for one in say(trusting, stream, "EHLO me"))
    # without TLS it takes nothing
    assert say(trusting, stream, "MAIL FROM:<a@example.org>")[0].startswith(b"530")
    assert say(trusting, stream, "STARTTLS")[0].startswith(b"220")
    begun = result(trusting.call("tcp.startTls", {"stream": stream}))
    assert begun["ok"] and begun["tls"]["version"] == "TLSv1.3", begun
    assert not any(b"STARTTLS" in one for one in say(trusting, stream, "EHLO me"))
    assert say(trusting, stream, "MAIL FROM:<a@example.org>")[0].startswith(b"250")
    assert say(trusting, stream, "RCPT TO:<b@example.org>")[0].startswith(b"250")
    assert say(trusting, stream, "DATA")[0].startswith(b"354")
    assert say(trusting, stream, "Subject: hello\r\n\r\nover TLS\r\n.")[0].startswith(b"250")
    assert say(trusting, stream, "QUIT")[0].startswith(b"221")
    [(sender, receivers, content, is_secure)] = inbox.mails
    assert (sender, receivers, is_secure) == ("a@example.org", ["b@example.org"], True)
    assert content.endswith(b"over TLS\r\n")


def test_a_server_with_another_name_is_refused(trusting, mail):
    """[S5]"""
    port, _ = mail
    stream = dial(trusting, port)["stream"]
    lines(trusting, stream)
    say(trusting, stream, "EHLO me")
    say(trusting, stream, "STARTTLS")
    refused = result(trusting.call("tcp.startTls", {"stream": stream, "serverName": "elsewhere.test"}))
    assert not refused["ok"] and refused["error"]["code"] == 1508, refused


@contextlib.contextmanager
def dovecot(folder, certificates):
    """The port of a Dovecot that speaks IMAP, with any user and the password `secret`."""
    port = free_port()
    # its processes that talk to strangers refuse to be root
    me, stranger = ("dovecot", "dovenull") if os.getuid() == 0 else (getpass.getuser(),) * 2
    group = me if os.getuid() == 0 else grp.getgrgid(os.getgid()).gr_name
    config = f"""
base_dir = {folder}/run
log_path = {folder}/log
protocols = imap
listen = 127.0.0.1
ssl = required
ssl_cert = <{certificates}/good.pem
ssl_key = <{certificates}/good.key
mail_location = maildir:{folder}/mail
default_internal_user = {me}
default_internal_group = {group}
default_login_user = {stranger}
first_valid_uid = 0
first_valid_gid = 0
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
passdb {{
  driver = static
  args = password=secret
}}
userdb {{
  driver = static
  args = uid={os.getuid()} gid={os.getgid()} home={folder}/mail
}}
"""
    (folder / "dovecot.conf").write_text(config)
    with subprocess.Popen(["dovecot", "-F", "-c", str(folder / "dovecot.conf")], stderr=subprocess.PIPE) as process:
        try:
            for _ in range(200):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                if process.poll() is not None:
                    pytest.skip(f"dovecot does not start here: {process.stderr.read().decode()[-200:]}")
                time.sleep(0.05)
            yield port
        finally:
            process.terminate()
            process.wait(10)


@pytest.fixture
def imap(certificates):
    if shutil.which("dovecot") is None:
        pytest.skip("dovecot is not installed")
    # its processes of other users must reach their sockets there
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        with dovecot(folder, certificates) as port:
            yield port


def test_dovecot_speaks_tls(trusting, imap):
    """[S5]"""
    stream = dial(trusting, imap, host="localhost")["stream"]
    assert line(trusting, stream).startswith(b"* OK")
    write(trusting, stream, b"a STARTTLS\r\n")
    assert line(trusting, stream).startswith(b"a OK")
    begun = result(trusting.call("tcp.startTls", {"stream": stream, "alpn": ["imap"]}))
    assert begun["ok"], begun
    write(trusting, stream, b"b CAPABILITY\r\n")
    said = line(trusting, stream)
    while not said.startswith(b"b "):
        said = line(trusting, stream)
    assert said.startswith(b"b OK"), said
    write(trusting, stream, b"c LOGOUT\r\n")
    assert b"c OK" in rest(trusting, stream)
