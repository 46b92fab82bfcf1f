# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""TLS on TCP streams: from the first byte, and begun later."""

import contract
import pytest
import tls_server
from request_client import result
from tcp_server import Host, dial, line, read, write

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


def secure(certificates, name, act, protocols=()):
    """The same over TLS."""
    context = tls_server.context(certificates, name)
    if protocols:
        context.set_alpn_protocols(list(protocols))

    def serve(connection):
        with context.wrap_socket(connection, server_side=True) as secured:
            act(secured)

    return serve


def talk(connection):
    while piece := connection.recv(65536):
        connection.sendall(piece)


def test_tls_from_the_first_byte(trusting, certificates):
    """[S5]"""
    with Host(secure(certificates, "good", talk, ["imap"])) as host:
        made = dial(trusting, host.port, tls={"serverName": "localhost", "alpn": ["imap"]})
        assert made["tls"] == {"version": "TLSv1.3", "alpn": "imap"}, made
        write(trusting, made["stream"], b"secret")
        assert read(trusting, made["stream"], min=6) == (b"secret", False)
        result(trusting.call("stream.close", {"stream": made["stream"]}))


def test_the_name_in_a_certificate_counts(trusting, certificates):
    """[S5]"""
    with Host(secure(certificates, "other", talk)) as host:
        refused = result(trusting.call("tcp.open", {"host": "127.0.0.1", "port": host.port, "tls": True}))
        assert not refused["ok"] and refused["error"]["code"] == 1508, refused
        made = dial(trusting, host.port, tls={"serverName": "elsewhere.test"})
        result(trusting.call("stream.close", {"stream": made["stream"]}))


def test_a_strange_authority_is_not_believed(wire, certificates):
    """[S5]"""
    with Host(secure(certificates, "good", talk)) as host:
        refused = result(wire.call("tcp.open", {"host": "localhost", "port": host.port, "tls": True}))
        assert not refused["ok"] and refused["error"]["code"] == 1506, refused


def test_an_end_during_the_handshake_is_described(wire):
    with Host(lambda connection: connection.recv(65536)) as host:
        refused = result(wire.call("tcp.open", {"host": "127.0.0.1", "port": host.port, "tls": True}))
        error = refused["error"]
        assert (error["code"], error["retryable"]) == (1406, False), error
        assert error["message"] == "127.0.0.1 closed the connection during the TLS handshake", error


# STARTTLS


def upgrading(certificates, name="good", injected=b""):
    """A server that says go-ahead, and then begins TLS."""
    context = tls_server.context(certificates, name)

    def act(connection):
        connection.sendall(b"220 ready\r\n")
        said = connection.recv(100)
        connection.sendall(b"220 go ahead\r\n" + injected)
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.sendall(b"was " + said)
            talk(secured)

    return act


def test_tls_begins_where_the_client_says(trusting, certificates):
    """[S5]"""
    with Host(upgrading(certificates)) as host:
        stream = dial(trusting, host.port, host="localhost")["stream"]
        assert line(trusting, stream) == b"220 ready\r\n"
        write(trusting, stream, b"STARTTLS\r\n")
        assert line(trusting, stream) == b"220 go ahead\r\n"
        begun = result(trusting.call("tcp.startTls", {"stream": stream}))
        assert begun == {"ok": True, "tls": {"version": "TLSv1.3"}}, begun
        write(trusting, stream, b"hello")
        assert read(trusting, stream, min=19) == (b"was STARTTLS\r\nhello", False)
        again = result(trusting.call("tcp.startTls", {"stream": stream}))
        assert again["error"]["code"] == 2022 and "already" in again["error"]["message"], again
        result(trusting.call("stream.close", {"stream": stream}))


def test_a_server_that_is_silent_behind_tls_is_idle(trusting, certificates):
    context = tls_server.context(certificates, "good")

    def act(connection):
        connection.sendall(b"220 go ahead\r\n")
        with context.wrap_socket(connection, server_side=True) as secured:
            secured.recv(1)

    with Host(act) as host:
        made = dial(trusting, host.port, host="localhost", timeout={"idle": 3})
        assert line(trusting, made["stream"]) == b"220 go ahead\r\n"
        assert result(trusting.call("tcp.startTls", {"stream": made["stream"]}))["ok"]
        ended = result(trusting.call("request.wait", {"request": made["request"], "timeout": 10}))
    assert ended.get("error", {}).get("code") == 1405, ended


def test_bytes_behind_the_go_ahead_are_refused(trusting, certificates):
    """They may have been injected (CVE-2011-0411). [S5]"""
    with Host(upgrading(certificates, injected=b"250 injected\r\n")) as host:
        stream = dial(trusting, host.port, host="localhost")["stream"]
        line(trusting, stream)
        write(trusting, stream, b"STARTTLS\r\n")
        line(trusting, stream)
        refused = result(trusting.call("tcp.startTls", {"stream": stream}))
        assert not refused["ok"] and refused["error"]["code"] == 2022, refused
        assert refused["error"]["kind"] == "tcpFailed" and "injected" in refused["error"]["message"]
        error = trusting.call("stream.write", {"stream": stream, "text": "x"})["error"]
        assert error["data"]["failure"]["code"] == 2020, error


def test_a_certificate_counts_for_starttls(trusting, certificates):
    """[S5]"""
    with Host(upgrading(certificates, "other")) as host:
        stream = dial(trusting, host.port, host="localhost")["stream"]
        line(trusting, stream)
        write(trusting, stream, b"STARTTLS\r\n")
        line(trusting, stream)
        refused = result(trusting.call("tcp.startTls", {"stream": stream}))
        assert refused["error"]["code"] == 1508, refused


def test_a_handshake_that_fails_is_told(trusting):
    def act(connection):
        connection.recv(100)
        connection.sendall(b"no TLS here at all\r\n" * 20)

    with Host(act) as host:
        stream = dial(trusting, host.port)["stream"]
        refused = result(trusting.call("tcp.startTls", {"stream": stream}))
        assert refused["error"]["code"] == 2022, refused
        message = refused["error"]["message"]
        assert "offers no TLS here, or its go-ahead was not read whole before tcp.startTls" in message, refused
