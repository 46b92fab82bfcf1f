# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What the machine knows of its ways, and how it hears that they change."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

import contract
import pytest
from network_namespace import island
from proxy_server import free_port
from request_client import result
from shell import outrider
from tcp_server import Host, read

pytestmark = pytest.mark.skipif(contract.binary() is None, reason="nothing is built; make build builds it")


@pytest.fixture
def alone():
    """A namespace with a service in it, where interfaces can be made."""
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed")
    with island() as place:
        if not place.exists:
            pytest.skip("no namespace can be made here: user namespaces are not permitted")
        with contract.Wire(under=place.inside) as wire:
            place.wire = wire
            yield place


def ip(place, *words):
    ran = subprocess.run([*place.inside, "ip", *words], capture_output=True, text=True)
    if ran.returncode and "type" in words:
        pytest.skip(f"no such interface can be made here: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr


def make_way(place):
    """Two interfaces with a cable between them; the near one is down."""
    ip(place, "link", "add", "way0", "type", "veth", "peer", "name", "way1")
    ip(place, "link", "set", "way1", "up")


def test_localhost_is_reachable(wire):
    """[X1] [X2] [X3] [3.T.14]"""
    for params in ({"host": "localhost"}, {"url": "http://127.0.0.1:1/x"}):
        reply = result(wire.call("reachability.status", params))
        assert reply["status"] == "reachable" and reply["interface"] == {"name": "lo", "kind": "loopback"}, reply
        assert reply["ipv4"] is True, reply


def test_a_probe_connects_once(wire):
    """[X3]"""
    came, closed = [], threading.Event()

    def note(connection):
        came.append(connection.recv(1))
        closed.set()

    with Host(note) as host:
        reply = result(
            wire.call("reachability.status", {"url": f"http://127.0.0.1:{host.port}/", "probe": "connect"})
        )
        assert reply["status"] == "reachable" and reply["probe"]["ok"], reply
        assert reply["probe"]["remote"] == f"127.0.0.1:{host.port}", reply
        # the client may have the reply before this end of the connection is noticed
        assert closed.wait(10)
    assert came == [b""]
    url = f"http://127.0.0.1:{free_port()}/"
    reply = result(wire.call("reachability.status", {"url": url, "probe": "connect"}))
    assert reply["status"] == "unreachable" and reply["probe"]["error"]["code"] == 1402, reply


@pytest.mark.parametrize(
    ("method", "params", "pointer", "words"),
    [
        ("status", {"url": "http://a/", "host": "a"}, "/host", "not both"),
        ("status", {"url": "nonsense"}, "/url", "scheme"),
        ("status", {"host": "http://a"}, "/host", "without a scheme"),
        ("status", {"host": "a", "probe": "connect"}, "/url", "required by probe"),
        ("watch", {"interval": 10}, "/probe", 'write "probe": "connect"'),
        ("watch", {"url": "http://a/", "probe": "route", "interval": 10}, "/interval", 'probe "connect"'),
        ("watch", {"url": "http://a/", "probe": "connect", "interval": 1}, "/interval", "5"),
    ],
)
def test_bad_parameters_are_named(wire, method, params, pointer, words):
    error = wire.call(f"reachability.{method}", params)["error"]
    assert error["data"]["pointer"] == pointer and words in error["message"], error


def test_each_watch_begins_with_the_present_state(wire):
    """[X4] [3.T.15]"""
    for _ in range(2):
        watching = result(wire.call("reachability.watch", {"host": "localhost"}))
        assert watching["status"] == "reachable", watching
        ended = result(wire.call("events.unsubscribe", {"subscription": watching["subscription"]}))
        assert ended == {"told": 0, "dropped": 0}
    assert wire.call("events.unsubscribe", {"subscription": watching["subscription"]})["error"]["code"] == -32012


def test_a_watch_that_was_cancelled_during_its_probe_leaves_no_handle(wire):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf, contextlib.ExitStack() as held:
        # a full backlog: further connections wait
        for _ in range(2):
            filling = held.enter_context(socket.socket())
            filling.setblocking(False)
            filling.connect_ex(deaf.getsockname())
        params = {"url": f"http://127.0.0.1:{deaf.getsockname()[1]}/", "probe": "connect"}
        for _ in range(65):
            number = wire.start("reachability.watch", params)
            wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}})
            assert wire.reply(number)["error"]["code"] == -32800
    watching = result(wire.call("reachability.watch", {"host": "localhost"}))
    result(wire.call("events.unsubscribe", {"subscription": watching["subscription"]}))


def test_links_addresses_and_routes_that_come_and_go_are_told(alone):
    """[X2] [X4] [X5] [3.T.17]"""
    wire = alone.wire
    watching = result(wire.call("reachability.watch"))
    assert watching["status"] == "unreachable", watching
    make_way(alone)
    ip(alone, "link", "set", "way0", "up")
    # an address of the link alone leads nowhere
    assert result(wire.call("reachability.status"))["status"] == "unreachable"
    began = time.monotonic()
    ip(alone, "addr", "add", "198.51.100.7/24", "dev", "way0")
    event = wire.receive(5)
    took = time.monotonic() - began
    assert event["method"] == "event.reachability", event
    params = event["params"]
    assert params["status"] == "reachable" and params["previous"] == "unreachable", params
    assert params["interface"]["name"] == "way0" and params["ipv4"] is True, params
    assert took < 2, took
    print(f"told {took * 1000:.0f} ms after the address was asked for")
    far = {"host": "198.51.100.9"}
    assert result(wire.call("reachability.status", far))["interface"]["name"] == "way0"
    assert result(wire.call("reachability.status", {"host": "203.0.113.9"}))["status"] == "unreachable"
    ip(alone, "route", "add", "203.0.113.0/24", "dev", "way0")
    assert result(wire.call("reachability.status", {"host": "203.0.113.9"}))["status"] == "reachable"
    time.sleep(0.3)  # clock: a second change is told 0.25 s after the first
    ip(alone, "link", "set", "way0", "down")
    assert wire.receive(5)["params"]["status"] == "unreachable"


def test_a_bridge_to_containers_leads_out_with_the_default_route_alone():
    if shutil.which("ip") is None:
        pytest.skip("ip is not installed")
    with island() as place:
        # the kind of an interface is in sysfs, which shows the namespace in which it was mounted
        within = [*place.inside, "unshare", "--mount", "sh", "-c", 'mount -t sysfs none /sys && exec "$@"', "sh"]
        if not place.exists or subprocess.run([*within, "true"], stderr=subprocess.DEVNULL).returncode:
            pytest.skip("no namespace with a sysfs of its own can be made here")
        ip(place, "link", "add", "bridge0", "type", "bridge")
        make_way(place)
        ip(place, "link", "set", "way0", "up", "master", "bridge0")
        ip(place, "link", "set", "bridge0", "up")
        ip(place, "addr", "add", "172.17.0.1/16", "dev", "bridge0")
        deadline = time.monotonic() + 10
        while b"LOWER_UP" not in subprocess.check_output([*place.inside, "ip", "link", "show", "bridge0"]):
            assert time.monotonic() < deadline, "the bridge has no carrier"
            time.sleep(0.02)
        with contract.Wire(under=within) as wire:
            assert result(wire.call("reachability.status"))["status"] == "unreachable"
            assert result(wire.call("reachability.status", {"host": "172.17.0.9"}))["status"] == "reachable"
            ip(place, "route", "add", "default", "dev", "bridge0")
            reply = result(wire.call("reachability.status"))
            assert reply["status"] == "reachable" and reply["interface"]["name"] == "bridge0", reply


def test_events_can_be_fetched(alone):
    """[X4]"""
    wire = alone.wire
    make_way(alone)
    ip(alone, "addr", "add", "198.51.100.7/24", "dev", "way0")
    watching = result(wire.call("reachability.watch", {"pull": True}))
    number = wire.start("events.next", {"subscription": watching["subscription"], "wait": 10})
    ip(alone, "link", "set", "way0", "up")
    reply = wire.receive(12)
    assert reply["id"] == number
    [event] = reply["result"]["events"]
    assert event["params"]["status"] == "reachable", event


def test_a_way_that_flaps_is_not_told_each_time(alone):
    wire = alone.wire
    make_way(alone)
    ip(alone, "addr", "add", "198.51.100.7/24", "dev", "way0")
    watching = result(wire.call("reachability.watch"))
    for _ in range(30):
        ip(alone, "link", "set", "way0", "up")
        ip(alone, "link", "set", "way0", "down")
    ip(alone, "link", "set", "way0", "up")
    time.sleep(1.5)  # clock: until the service has told the last of the changes
    ended = wire.start("events.unsubscribe", {"subscription": watching["subscription"]})
    told = []
    while (message := wire.receive()).get("id") != ended:
        told.append(message["params"]["status"])
    assert told and told[-1] == "reachable" and len(told) <= 12, told


def test_a_waiting_request_goes_on_at_once(alone):
    """Within 150 ms of the link, and not at the next look a second later. [X8] [3.T.7]"""
    wire = alone.wire
    alone.switch(False)
    params = {"url": alone.url + "/json", "interceptors": [{"offline": {"wait": 60}}]}
    request = result(wire.call("data.start", params))["request"]
    while result(wire.call("request.get", {"request": request}))["attempts"] == 0:
        time.sleep(0.01)
    time.sleep(1.2)  # clock: the request looks again each second
    alone.switch(True)
    began = time.monotonic()
    assert result(wire.call("request.wait", {"request": request}))["ok"]
    took = time.monotonic() - began
    print(f"went on {took * 1000:.0f} ms after the link")
    assert took < 0.9, took


def test_interfaces_of_some_kinds_do_not_count(alone):
    """[X11]"""
    wire = alone.wire
    alone.switch(False)
    rules = [{"requiredInterface": "loopback"}, {"requiredInterface": "wifi"}, {"prohibitedInterfaces": ["loopback"]}]
    requests = []
    for rule in rules:
        params = {"url": alone.url + "/json", "interceptors": [{"offline": {"wait": 1.5, **rule}}]}
        requests.append(result(wire.call("data.start", params))["request"])
        while result(wire.call("request.get", {"request": requests[-1]}))["attempts"] == 0:
            time.sleep(0.01)
    alone.switch(True)
    wanted, *others = [result(wire.call("request.wait", {"request": one})) for one in requests]
    assert wanted["ok"] and wanted["attempts"] > 1, wanted
    for other in others:
        assert not other["ok"] and other["attempts"] == 1 and other["error"]["code"] in (1411, 1412), other


@pytest.mark.parametrize(
    ("rule", "pointer"),
    [
        ({"requiredInterface": "lan"}, "/interceptors/0/offline/requiredInterface"),
        ({"prohibitedInterfaces": ["lan"]}, "/interceptors/0/offline/prohibitedInterfaces/0"),
        (
            {"requiredInterface": "wifi", "prohibitedInterfaces": ["wifi"]},
            "/interceptors/0/offline/prohibitedInterfaces",
        ),
    ],
)
def test_bad_kinds_of_interfaces_are_named(wire, rule, pointer):
    error = wire.call("data.send", {"url": "http://127.0.0.1/", "interceptors": [{"offline": rule}]})["error"]
    assert error["code"] == -32602 and error["data"]["pointer"] == pointer, error
    if "prohibitedInterfaces" in rule and "requiredInterface" in rule:
        assert "requiredInterface" in str(error), error


FAR = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = ("%s:%d" % self.client_address).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("0.0.0.0", 8080), Handler)
print("ready", flush=True)
server.serve_forever()
"""


# HTTP/2 whose very first response never ends; every body is the address of the client.
SHARED = """
import itertools, socket, struct, threading
def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload
def serve(connection, address):
    read = connection.makefile("rb")
    read.read(24)
    connection.sendall(frame(4, 0, 0))
    while len(top := read.read(9)) == 9:
        payload, stream = read.read(int.from_bytes(top[:3], "big")), int.from_bytes(top[5:], "big")
        if top[3] == 6 and not top[4]:
            connection.sendall(frame(6, 1, 0, payload))
        if top[3] == 1:
            ends = 1 if next(numbers) else 0
            connection.sendall(frame(1, 4, stream, b"\\x88") + frame(0, ends, stream, b"%b:%d" % address))
numbers = itertools.count()
listener = socket.create_server(("0.0.0.0", 8080))
print("ready", flush=True)
while True:
    connection, (host, port) = listener.accept()
    threading.Thread(target=serve, args=(connection, (host.encode(), port)), daemon=True).start()
"""


@contextlib.contextmanager
def far_server(place, program):
    """The program in a namespace behind the cable, as 198.51.100.9; this side is 198.51.100.7."""
    make_way(place)
    command = [*place.inside, "unshare", "--net", sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as far:
        try:
            assert far.stdout.readline() == b"ready\n"
            ip(place, "link", "set", "way1", "netns", str(far.pid))
            there = ["nsenter", "--target", str(far.pid), "--user", "--net", "--preserve-credentials", "--", "ip"]
            for words in (["addr", "add", "198.51.100.9/24", "dev", "way1"], ["link", "set", "way1", "up"]):
                subprocess.run([*there, *words], check=True)
            ip(place, "link", "set", "way0", "up")
            ip(place, "addr", "add", "198.51.100.7/24", "dev", "way0")
            yield
        finally:
            far.kill()


def test_a_connection_from_an_address_that_is_gone_is_not_used_again(alone):
    with far_server(alone, FAR):
        moves(alone)


def test_a_connection_from_an_address_that_is_gone_takes_no_more_requests_beside_its_own(alone):
    with far_server(alone, SHARED):
        params = {"url": "http://198.51.100.9:8080/", "httpVersion": "2", "timeout": 60}
        opened = result(alone.wire.call("stream.open", params))
        # the response has begun, and stays
        assert read(alone.wire, opened["stream"])[0].startswith(b"198.51.100.7:")
        moves(alone, httpVersion="2")


def moves(place, **more):
    """The next request after a change of the address leaves from the new address, without a wait for the old one."""
    first, again = [asked(place.wire, **more) for _ in range(2)]
    assert first == again and first.startswith("198.51.100.7:"), (first, again)
    ip(place, "addr", "del", "198.51.100.7/24", "dev", "way0")
    ip(place, "addr", "add", "198.51.100.8/24", "dev", "way0")
    began = time.monotonic()
    assert asked(place.wire, **more).startswith("198.51.100.8:")
    assert time.monotonic() - began < 5


def asked(wire, **more):
    """The address that the server saw."""
    response = result(wire.call("data.send", {"url": "http://198.51.100.9:8080/", "timeout": 20, **more}, 25))
    assert response["ok"], response
    return response["body"]["text"]


def test_nothing_wakes_up_while_nothing_watches(wire):
    """The service listens to the kernel only while something waits. [3.T.13]"""
    def listens():
        folder = f"/proc/{wire.process.pid}"
        with open(f"{folder}/net/netlink") as sockets:
            inodes = {row.split()[-1] for row in sockets.readlines()[1:]}
        held = {os.readlink(f"{folder}/fd/{one}") for one in os.listdir(f"{folder}/fd")}
        return any(f"socket:[{inode}]" in held for inode in inodes)

    result(wire.call("reachability.status"))
    assert not listens()
    watching = result(wire.call("reachability.watch"))
    assert listens()
    result(wire.call("events.unsubscribe", {"subscription": watching["subscription"]}))
    for _ in range(100):
        if not listens():
            break
        time.sleep(0.02)
    assert not listens()


def test_in_a_shell(tmp_path):
    """[X3]"""
    done = outrider("reachability", "--stdio", "localhost")
    assert done.returncode == 0 and b'"status":"reachable"' in done.stdout.replace(b" ", b""), done
    done = outrider("reachability", "--stdio", "--connect", f"http://127.0.0.1:{free_port()}/")
    assert done.returncode == 7 and b"unreachable" in done.stdout, done
    assert outrider("reachability", "--connect", "example.org").returncode == 2
