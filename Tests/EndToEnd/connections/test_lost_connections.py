# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Connections of the pool that this machine has lost: their address is gone, or the machine has slept."""

import time

import contract
import pytest
from far_server import FAR, SHARED, far_server, inhabited, ip
from proxy_server import Proxy
from request_client import get, result
from tcp_server import read, rest

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")
URL = "http://198.51.100.9:8080/"


@pytest.fixture
def alone():
    """A namespace with a service in it, where interfaces can be made."""
    with inhabited() as place:
        yield place


def test_a_connection_from_an_address_that_is_gone_is_not_used_again(alone):
    with far_server(alone, FAR):
        moves(alone)


def test_a_connection_from_an_address_that_is_gone_takes_no_more_requests_beside_its_own(alone):
    with far_server(alone, SHARED):
        open_stream(alone.wire)
        moves(alone, httpVersion="2")


@pytest.mark.parametrize("program, version", [(FAR, "1.1"), (SHARED, "2")], ids=["1.1", "2"])
def test_a_connection_from_before_a_sleep_is_not_used_again(clocks, program, version):
    """The server, or a router on the way, has given it up meanwhile."""
    with inhabited(**clocks.environment) as place, far_server(place, program):
        if program is SHARED:
            open_stream(place.wire)
        first, again = [asked(place.wire, httpVersion=version) for _ in range(2)]
        clocks.jump(wall=5, boot=5)
        assert first == again == asked(place.wire, httpVersion=version)
        clocks.jump(wall=3600, boot=3600)
        awake = asked(place.wire, httpVersion=version)
        assert awake != first and awake == asked(place.wire, httpVersion=version)


def test_a_connection_that_was_in_use_during_a_sleep_is_not_used_again(clocks):
    """Its response may have arrived before."""
    with inhabited(**clocks.environment) as place, far_server(place, FAR):
        def at_once():
            """The addresses of two requests at the same time, so on two connections."""
            stream = result(place.wire.call("stream.open", {"url": URL + "half", "timeout": 60}))["stream"]
            one = read(place.wire, stream)[0].decode()
            if not asleep:
                clocks.jump(wall=3600, boot=3600)
                asleep.append(one)
            other = asked(place.wire, url=URL + "go")
            assert rest(place.wire, stream) == b"."
            return one, other

        asleep = []
        old, new = at_once()
        assert old != new and old not in at_once()


def test_a_tunnel_from_before_a_sleep_is_not_used_again(clocks, certificates, listen):
    """Its proxy may be on this machine, and has slept as well."""
    variables = [f"{name}={value}" for name, value in clocks.environment.items()]
    params = {"url": f"https://127.0.0.1:{listen('good')}/"}
    with contract.Wire(arguments=["--ca-file", str(certificates / "ca.pem")], under=["env", *variables]) as wire:
        with Proxy() as proxy:
            for tunnels in (1, 2):
                for _ in range(2):
                    assert get(wire, **params, proxy=proxy.address)["ok"] and len(proxy.connects) == tunnels
                clocks.jump(wall=3600, boot=3600)


def moves(place, **more):
    """The next request after a change of the address leaves from the new address, without a wait for the old one."""
    first, again = [asked(place.wire, **more) for _ in range(2)]
    assert first == again and first.startswith("198.51.100.7:"), (first, again)
    ip(place, "addr", "del", "198.51.100.7/24", "dev", "way0")
    ip(place, "addr", "add", "198.51.100.8/24", "dev", "way0")
    began = time.monotonic()
    assert asked(place.wire, **more).startswith("198.51.100.8:")
    assert time.monotonic() - began < 5


def open_stream(wire):
    """A response that has begun, and stays."""
    opened = result(wire.call("stream.open", {"url": URL, "httpVersion": "2", "timeout": 60}))
    assert read(wire, opened["stream"])[0].startswith(b"198.51.100.7:")


def asked(wire, **more):
    """The address that the server saw."""
    response = result(wire.call("data.send", {"url": URL, "timeout": 20, **more}, 25))
    assert response["ok"], response
    return response["body"]["text"]
