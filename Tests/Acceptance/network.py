#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""How soon the service notices that the network has changed, in a network namespace of its own.

network.py [--quick] [NAME…]

    events       an address comes and goes: `event.reachability` within 150 ms
    requests     requests that wait offline go on within 150 ms of the address
    links        the same, for a server beyond a link that comes up
    routes       the same, for a server to which a route appears
    reconnects   a WebSocket that waits 60 s to reconnect goes on within 150 ms of the address
    pings        open WebSockets are pinged within 150 ms of a change
    blind        without netlink a change is noticed within 2.5 s
    rest         no thread of the service wakes up while nothing watches, with and without netlink

$OUTRIDER names the binary, else `outrider` on the path. Needs `unshare` and `ip`. Each run prints what it measured, and
fails where a bound is broken. `--quick` is the form that the tests run, with a bound of 900 ms: below the second after
which waiting requests look again without a ring. Standard library only.
"""

import contextlib
import ctypes
import http.server
import json
import os
import platform
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from frames import PING, PONG, Client, Server, Service, frame, received, shake, until  # noqa: E402

BOUND = 0.9 if "--quick" in sys.argv else 0.150
NEAR, FAR = "198.51.100.7", "198.51.100.9"
HERE, THERE = "203.0.113.7", "203.0.113.9"
BLIND = (sys.executable, os.path.abspath(__file__), "--without-netlink")


def ip(*words):
    """The moment at which the command began: what follows counts from there."""
    began = time.monotonic()
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL)
    return began


def told(name, times, bound=BOUND):
    assert max(times) < bound, f"{name}: {max(times) * 1000:.0f} ms"
    return f"{len(times)} times, median {statistics.median(times) * 1000:.0f} ms, at most {max(times) * 1000:.0f} ms"


def way(rounds, change):
    """Switches the address of an interface that many times; `change` waits until the service has noticed."""
    times = []
    for number in range(rounds):
        began = ip("addr", "add" if number % 2 == 0 else "del", f"{NEAR}/24", "dev", "way0")
        change(number % 2 == 0)
        times.append(time.monotonic() - began)
        time.sleep(1.1)  # clock: one change is told in 250 ms, and one a second while the state flaps
    return times


def next_event(client, method):
    while True:
        event = json.loads(client.file.readline())
        if event.get("method") == method:
            return event["params"]


def events(quick):
    with Service() as service, Client(service.path) as client:
        client.call("reachability.watch", host=FAR)

        def change(comes):
            assert next_event(client, "event.reachability")["status"] == ("reachable" if comes else "unreachable")

        return told("an event", way(2 if quick else 20, change))


def blind(quick):
    with Service(BLIND) as service, Client(service.path) as client:
        client.call("reachability.watch", host=FAR)

        def change(comes):
            assert next_event(client, "event.reachability")["status"] == ("reachable" if comes else "unreachable")

        return told("an event without netlink", way(2 if quick else 8, change), 2.5)


class Listener(http.server.ThreadingHTTPServer):
    request_queue_size = 128


class Origin(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def requests(quick):
    with Listener(("", 0), Origin) as origin:
        threading.Thread(target=origin.serve_forever, daemon=True).start()
        address = ("addr", "{}", f"{NEAR}/24", "dev", "way0")
        found = offline(quick, f"http://{NEAR}:{origin.server_port}/", address, ("add", "del"))
        origin.shutdown()
    return found


def links(quick):
    with beyond("24") as url:
        ip("link", "set", "far0", "down")
        return offline(quick, url, ("link", "set", "far0", "{}"), ("up", "down"))


def routes(quick):
    with beyond("32") as url:
        return offline(quick, url, ("route", "{}", f"{THERE}/32", "dev", "far0"), ("add", "del"))


def offline(quick, url, way, words):
    """The way comes with the first word, and goes with the second; it is not there at first."""
    coming, going = (tuple(part.replace("{}", word) for part in way) for word in words)
    times = []
    with Service() as service, Client(service.path) as client:
        for _ in range(2 if quick else 20):
            waiting = [
                client.call("data.start", url=url, interceptors=[{"offline": {"wait": 60}}])["request"]
                for _ in range(4)
            ]
            while any(client.call("request.get", request=one)["attempts"] == 0 for one in waiting):
                time.sleep(0.01)
            time.sleep(0.2)  # clock: until all of them wait
            began = ip(*coming)
            for one in waiting:
                assert client.call("request.wait", request=one)["ok"]
            times.append(time.monotonic() - began)
            ip(*going)
    return "4 requests each, " + told("a request", times)


@contextlib.contextmanager
def beyond(prefix):
    """A server in a namespace of its own, at the other end of a link."""
    command = ("unshare", "--net", sys.executable, os.path.abspath(__file__), "--beyond")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout.readline() == "here\n"
            ip("link", "add", "far0", "type", "veth", "peer", "name", "far1", "netns", str(server.pid))
            ip("addr", "add", f"{HERE}/{prefix}", "dev", "far0")
            ip("link", "set", "far0", "up")
            server.stdin.write("serve\n")
            server.stdin.flush()
            port = int(server.stdout.readline())
            time.sleep(1.5)  # clock: until the new interfaces have announced themselves
            yield f"http://{THERE}:{port}/"
        finally:
            # the namespace takes its end of the link with it
            server.kill()


def serve_beyond():
    print("here", flush=True)
    sys.stdin.readline()
    for words in (("addr", "add", f"{THERE}/24", "dev", "far1"), ("link", "set", "far1", "up")):
        ip(*words)
    with Listener(("", 0), Origin) as origin:
        print(origin.server_port, flush=True)
        origin.serve_forever()


def reconnects(quick):
    times, connected = [], threading.Semaphore(0)

    def act(connection):
        shake(connection)
        connected.release()
        until(connection, PONG)

    with Server(act, "") as server, Service() as service, Client(service.path) as client:
        url = f"ws://{NEAR}:{server.port}/"
        for _ in range(2 if quick else 10):
            ip("addr", "add", f"{NEAR}/24", "dev", "way0")
            reconnect = {"delay": 60, "maxDelay": 60}
            stream = client.open(url, mode="push", credit=1 << 20, reconnect=reconnect, ping=False)
            assert connected.acquire(timeout=10)
            server.connections.pop().shutdown(socket.SHUT_RDWR)
            while next_event(client, "event.socket")["kind"] != "reconnecting":
                pass
            ip("addr", "del", f"{NEAR}/24", "dev", "way0")
            time.sleep(0.2)  # clock: beyond the quiet after the address went
            began = ip("addr", "add", f"{NEAR}/24", "dev", "way0")
            while next_event(client, "event.socket")["kind"] != "open":
                pass
            times.append(time.monotonic() - began)
            client.call("stream.close", stream=stream)
            ip("addr", "del", f"{NEAR}/24", "dev", "way0")
    return told("a reconnection", times)


def pings(quick):
    heard, many = threading.Semaphore(0), 4 if quick else 200

    def act(connection):
        shake(connection)
        while True:
            opcode, payload = received(connection)
            if opcode == PING:
                heard.release()
                connection.sendall(frame(PONG, payload))

    def change(_):
        for _ in range(many):
            assert heard.acquire(timeout=5), "no ping came"

    with Server(act) as server, Service() as service, Client(service.path) as client:
        for _ in range(many):
            client.open(server.url, ping={"interval": 300, "timeout": 30})
        quiet = client.open(server.url, ping=False)
        times = way(2 if quick else 10, change)
        client.call("stream.close", stream=quiet)
        assert not heard.acquire(blocking=False), "a WebSocket without pings was pinged, or another one twice"
    return f"{many} WebSockets each, " + told("pings", times)


def rest(quick):
    seconds, found = 1 if quick else 10, []
    for under in ((), BLIND):
        with Service(under) as service, Server(lambda one: (shake(one), until(one, PONG))) as server:
            with Client(service.path) as client:
                client.call("reachability.status")
                time.sleep(0.3)  # clock: the last timers of the call
                # its own timers, without any change of the network
                usual = wakes(service, seconds, lambda: None)
                watch = client.call("reachability.watch", host=FAR)["subscription"]
                stream = client.open(server.url)
                client.call("events.unsubscribe", subscription=watch)
                client.call("websocket.close", stream=stream, wait=0)
                # clock: the last sample of the watch without netlink
                time.sleep(2.2 if under else 0.3)
                found.append(wakes(service, seconds, flap) - usual)
    assert max(found) <= 1, f"{found} wake-ups in {seconds} s"
    return f"in {seconds} s of changes as many wake-ups as without, with netlink and without it: {found} more"


def wakes(service, seconds, act):
    before, began = service.wakes, time.monotonic()
    act()
    # clock: a loaded machine may have taken longer for the changes
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    return service.wakes - before


def flap():
    for word in ("add", "del") * 3:
        ip("addr", word, f"{NEAR}/24", "dev", "way0")
        time.sleep(0.1)


def without_netlink(command):
    """Runs a command whose sockets of netlink are refused, as service managers and sandboxes do."""
    call = {"x86_64": 41, "aarch64": 198}[platform.machine()]
    # seccomp_data: the number at 0, the lower half of the first argument at 16; AF_NETLINK is 16, EAFNOSUPPORT 97
    steps = [
        (0x20, 0, 0, 0), (0x15, 0, 3, call), (0x20, 0, 0, 16), (0x15, 0, 1, 16), (0x06, 0, 0, 0x50000 | 97),
        (0x06, 0, 0, 0x7FFF0000),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        sys.exit(f"no filter of system calls: {os.strerror(ctypes.get_errno())}")
    os.execvp(command[0], command)


RUNS = {
    "events": events, "requests": requests, "links": links, "routes": routes, "reconnects": reconnects, "pings": pings,
    "blind": blind, "rest": rest,
}


def main(words):
    if words[:1] == ["--without-netlink"]:
        return without_netlink(words[1:])
    if words[:1] == ["--beyond"]:
        return serve_beyond()
    if words[:1] != ["--inside"]:
        alone = ["unshare", "--user", "--map-root-user", "--net", "--"]
        os.execvp(alone[0], [*alone, sys.executable, os.path.abspath(__file__), "--inside", *words])
    words = words[1:]
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    ip("link", "set", "lo", "up")
    ip("link", "add", "way0", "type", "veth", "peer", "name", "way1")
    for name in ("way0", "way1"):
        ip("link", "set", name, "up")
    time.sleep(1.5)  # clock: until the new interfaces have announced themselves
    quick = "--quick" in words
    for name in [word for word in words if word != "--quick"] or RUNS:
        began = time.perf_counter()
        found = RUNS[name](quick)
        print(f"{name}: {found} ({time.perf_counter() - began:.1f} s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
