# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""WebSockets through the service, against a server of the tests that speaks RFC 6455."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import outrider
import pytest
from outrider import AsyncClient, Client
from peers import Scripted, serve, until

Serve = Callable[[Callable[[socket.socket], None]], Scripted]


@pytest.fixture
def stdio(binary: str) -> Iterator[Client]:
    """A client of a service of its own, without a socket for the messages."""
    with Client(command=[binary, "serve", "--stdio"]) as made:
        yield made


def frame(opcode: int, payload: bytes) -> bytes:
    """A final frame of a server, which is not masked (RFC 6455 section 5.2)."""
    length = len(payload)
    head = bytes([0x80 | opcode])
    if length < 126:
        return head + bytes([length]) + payload
    return head + (struct.pack("!BH", 126, length) if length < 65536 else struct.pack("!BQ", 127, length)) + payload


def _exactly(stream: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = stream.recv(size - len(found))
        if not piece:
            raise OSError("the end")
        found += piece
    return found


def _received(stream: socket.socket) -> tuple[int, bytes]:
    first, second = _exactly(stream, 2)
    length = second & 0x7F
    if length > 125:
        length = int.from_bytes(_exactly(stream, 2 if length == 126 else 8), "big")
    mask = _exactly(stream, 4)
    return first & 0x0F, bytes(byte ^ mask[index % 4] for index, byte in enumerate(_exactly(stream, length)))


def shake(stream: socket.socket, frames: bytes = b"") -> None:
    """Accepts the handshake; the frames follow in the same segment."""
    seen = b""
    while b"\r\n\r\n" not in seen:
        seen += stream.recv(65536)
    fields = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in seen.decode().split("\r\n")[1:] if line)
    }
    key = fields["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    chosen = "Sec-WebSocket-Protocol: chat\r\n" if "chat" in fields.get("sec-websocket-protocol", "") else ""
    stream.sendall(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Accept: {accept}\r\n{chosen}\r\n".encode() + frames
    )


def echoing(stream: socket.socket) -> None:
    """Sends each message back; ``close`` is closed with 4001, and ``cut`` ends the connection."""
    shake(stream)
    while True:
        opcode, payload = _received(stream)
        if opcode == 9:
            stream.sendall(frame(10, payload))
        elif opcode == 8:
            stream.sendall(frame(8, payload))
            return
        elif payload == b"close":
            stream.sendall(frame(8, struct.pack("!H", 4001) + b"enough"))
        elif payload == b"cut":
            return
        elif opcode in (1, 2):
            stream.sendall(frame(opcode, payload))


def address(server: Scripted) -> str:
    return server.url.replace("http:", "ws:")


def test_messages_of_both_kinds(client: Client, scripted: Serve) -> None:
    with client.websocket(address(scripted(echoing)), protocols=["chat"], headers={"X-A": "1"}) as ws:
        assert (ws.protocol, ws.response.status, ws.close_code) == ("chat", 101, None)
        ws.send("naïve 🐺")
        ws.send(b"\x00\xff")
        ws.send_json({"a": [1]})
        ws.send("nul \x00")
        assert [ws.recv() for _ in range(4)] == ["naïve 🐺", b"\x00\xff", '{"a":[1]}', "nul \x00"]
        ws.send("x" * 300_000)
        assert len(ws.recv(timeout=10)) == 300_000
        assert 0 <= ws.ping() < 10
        with pytest.raises(outrider.RequestTimeout, match="nothing came"):
            ws.recv(timeout=0.05)
        with pytest.raises(TypeError, match="must be str or bytes, not int"):
            ws.send(7)  # type: ignore[arg-type]
    assert ws.close_code == 1000 and "closed" in repr(ws)
    with pytest.raises(outrider.WebSocketClosed):
        ws.send("late")
    with pytest.raises(outrider.WebSocketClosed):
        ws.recv()
    ws.close()


def test_an_iteration_ends_when_the_server_closes(client: Client, scripted: Serve) -> None:
    with client.session().websocket(address(scripted(echoing))) as ws:
        ws.send("one")
        ws.send("close")
        assert ws.recv() == "one"
        with pytest.raises(outrider.WebSocketClosed, match="4001: enough"):
            list(ws)
        assert (ws.close_code, ws.close_reason) == (4001, "enough")
        with pytest.raises(outrider.WebSocketClosed, match="4001: enough") as closed:
            ws.recv()
        assert (closed.value.close_code, closed.value.close_reason) == (4001, "enough")


def test_a_close_that_no_frame_can_carry_is_refused(client: Client, stdio: Client, scripted: Serve) -> None:
    for one in (client, stdio):
        with one.websocket(address(scripted(echoing))) as ws:
            with pytest.raises(ValueError, match="code must be 1000 to 1003"):
                ws.close(1005)
            with pytest.raises(ValueError, match="at most 123 bytes"):
                ws.close(4000, "é" * 62)
            # and it is still open
            ws.send("one")
            assert ws.recv(timeout=10) == "one"
            with pytest.raises(TypeError, match="must be str or bytes, not dict"):
                ws.send({"text": "two"})  # type: ignore[arg-type]
            with pytest.raises(outrider.InvalidCall, match="/text: the text holds a lone surrogate") as refused:
                ws.send("two \ud800")
            assert refused.value.pointer == "/text"
            ws.close(4000, "é" * 61)
            assert ws.close_code == 4000


def test_a_wait_may_be_longer_than_a_call_can_wait(client: Client, stdio: Client, scripted: Serve) -> None:
    for one in (client, stdio):
        with one.websocket(address(scripted(echoing))) as ws:
            ws.send("one")
            assert ws.recv(timeout=3600) == "one"
            with pytest.raises(outrider.RequestTimeout):
                ws.recv(timeout=-1)


def test_a_state_among_the_messages_is_no_end_of_the_wait(stdio: Client, scripted: Serve) -> None:
    with stdio.websocket(address(scripted(echoing)), reconnect={"delay": 0.01}, greeting=["hello"]) as ws:
        assert ws.recv(timeout=20) == "hello"
        ws.send("cut")
        # the loss and the next connection are told before the greeting comes back
        assert ws.recv(timeout=20) == "hello"


def test_a_default_of_requests_for_http2_is_not_one_of_handshakes(service: str, scripted: Serve) -> None:
    with Client(socket=service, http2="prior") as client, client.websocket(address(scripted(echoing))) as ws:
        ws.send("one")
        assert ws.recv(timeout=10) == "one"


def test_a_connection_that_is_cut_raises(client: Client, scripted: Serve) -> None:
    with client.websocket(address(scripted(echoing))) as ws:
        ws.send("cut")
        with pytest.raises(outrider.ExchangeError):
            list(ws)


def test_a_connection_that_is_lost_is_replaced_where_the_program_says_so(client: Client, scripted: Serve) -> None:
    with client.websocket(address(scripted(echoing)), reconnect=True, greeting=["hello", b"bytes"]) as ws:
        assert [ws.recv(timeout=10), ws.recv(timeout=10)] == ["hello", b"bytes"]
        ws.send("cut")
        assert [ws.recv(timeout=20), ws.recv(timeout=20)] == ["hello", b"bytes"]


def test_a_message_that_meets_a_lost_connection_can_be_sent_again(client: Client, scripted: Serve) -> None:
    with client.websocket(address(scripted(echoing)), reconnect={"delay": 2}) as ws:
        ws.send("cut")
        with pytest.raises(outrider.HandleError, match="send again") as lost:
            for _ in range(500):
                ws.send("later")
                time.sleep(0.002)
        assert type(lost.value) is outrider.HandleError
        for _ in range(500):
            try:
                ws.send("again")
                break
            except outrider.HandleError:
                time.sleep(0.02)
        assert ws.recv(timeout=10) == "again"


def listening(got: list[bytes]) -> Callable[[socket.socket], None]:
    """Notes each message and the Close frame, and replies to the latter."""

    def act(stream: socket.socket) -> None:
        shake(stream)
        while True:
            opcode, payload = _received(stream)
            got.append(payload)
            if opcode == 8:
                stream.sendall(frame(8, payload))
                return

    return act


@pytest.mark.parametrize("stdio", [False, True])
def test_all_that_was_sent_goes_before_the_close(binary: str, service: str, scripted: Serve, stdio: bool) -> None:
    got: list[bytes] = []
    made = Client(command=[binary, "serve", "--stdio"]) if stdio else Client(socket=service)
    with made as client, client.websocket(address(scripted(listening(got))), compression=False) as ws:
        for index in range(1000):
            ws.send(str(index))
        ws.send_json([1000])
        # longer than what is taken from the server
        ws.send(b"x" * 2_000_000)
    assert got[:1001] == [str(index).encode() for index in range(1000)] + [b"[1000]"]
    assert (len(got[1001]), got[1002]) == (2_000_000, struct.pack("!H", 1000))


def test_a_server_that_takes_nothing_holds_no_close_up(
    service: str, scripted: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that of another thread, nor that of a cancelled task."""
    monkeypatch.setattr("outrider._sync.websockets._LEAVING", 0.3)
    monkeypatch.setattr("outrider._async.websockets._LEAVING", 0.3)
    over, ended = threading.Event(), threading.Event()
    sent: list[int] = []

    def deaf(stream: socket.socket) -> None:
        shake(stream)
        over.wait(60)

    url = address(scripted(deaf))

    def send(ws: outrider.WebSocket) -> None:
        with pytest.raises(outrider.WebSocketClosed):
            while True:
                ws.send(b"x" * 1_000_000)
                sent.append(1)
        ended.set()

    def is_stuck() -> bool:
        before = len(sent)
        return before > 0 and not ended.wait(0.1) and len(sent) == before

    async def work() -> None:
        async with AsyncClient(socket=service) as client, client.websocket(url, ping=False, compression=False) as ws:
            while True:
                await ws.send(b"x" * 1_000_000)

    async def impatient() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(work(), 0.5)

    try:
        with Client(socket=service) as client, client.websocket(url, ping=False, compression=False) as ws:
            threading.Thread(target=send, args=(ws,), daemon=True).start()
            until(is_stuck)
            closer = threading.Thread(target=ws.close, daemon=True)
            closer.start()
            closer.join(20)
            assert not closer.is_alive() and ended.wait(20)
        asyncio.run(asyncio.wait_for(impatient(), 20))
    finally:
        over.set()


def bursting(stream: socket.socket) -> None:
    """Sends messages of many lengths at once, and closes."""
    shake(stream)
    sizes = [0, 1, 125, 126, 70_000, 3, 600_000]
    frames = b"".join(frame(1 + index % 2, b"m" * sizes[index % 7]) for index in range(700))
    stream.sendall(frames + frame(8, struct.pack("!H", 1001)))
    stream.recv(65536)


def test_a_burst_arrives_whole_and_in_order(client: Client, service: str, scripted: Serve) -> None:
    wanted = [(str, bytes)[index % 2] for index in range(700)]
    sizes = [0, 1, 125, 126, 70_000, 3, 600_000] * 100
    with client.websocket(address(scripted(bursting))) as ws:
        time.sleep(0.2)
        first = next(iter(ws))
        found = [first, *ws]
        assert [(type(one), len(one)) for one in found] == list(zip(wanted, sizes))
        assert ws.close_code == 1001

    async def work() -> None:
        awaiting = AsyncClient(socket=service)
        async with awaiting, awaiting.websocket(address(scripted(bursting))) as ws:
            await asyncio.sleep(0.2)
            assert [(type(one), len(one)) async for one in ws] == list(zip(wanted, sizes))
            with pytest.raises(outrider.WebSocketClosed):
                await ws.send("late")

    asyncio.run(work())


def test_a_server_that_closes_at_once(client: Client, scripted: Serve) -> None:
    def act(stream: socket.socket) -> None:
        shake(stream, frame(1, b"bye") + frame(8, struct.pack("!H", 4000)))

    for _ in range(20):
        with client.websocket(address(scripted(act))) as ws:
            assert ws.recv() == "bye"
            with pytest.raises(outrider.WebSocketClosed, match="4000"):
                next(ws)


def test_a_service_that_dies_ends_the_messages(binary: str, directory: str, scripted: Serve) -> None:
    path = f"{directory}/dies.sock"
    child = serve(binary, path)
    with Client(socket=path) as client, client.websocket(address(scripted(echoing))) as ws:
        ws.send("one")
        assert ws.recv() == "one"
        child.kill()
        child.wait()
        with pytest.raises(outrider.ServerGone):
            ws.recv()
        with pytest.raises(outrider.WebSocketClosed):
            for _ in range(10):
                ws.send("x" * 100_000)


def test_a_handshake_that_is_refused(client: Client, origin: str) -> None:
    with pytest.raises(outrider.ExchangeError) as refused:
        client.websocket(f"{origin}/status/403")
    assert refused.value.response.status == 403
    with pytest.raises(TypeError, match="a WebSocket has no option json"):
        client.websocket(origin, json={})
    with pytest.raises(TypeError, match="no option protocol"):
        client.websocket(origin, protocol=["x"])


def test_the_awaiting_client_does_the_same(service: str, scripted: Serve) -> None:
    server = scripted(echoing)

    async def work() -> None:
        client = AsyncClient(socket=service)
        async with client, client.websocket(address(server), greeting=["hello"]) as ws:
            assert await ws.recv() == "hello"
            await ws.send(b"two")
            await ws.send("close")
            found = []
            with pytest.raises(outrider.WebSocketClosed, match="4001"):
                async for message in ws:
                    found.append(message)
            assert found == [b"two"] and ws.close_code == 4001

    asyncio.run(work())


def test_a_websocket_that_was_not_begun_says_so(service: str, scripted: Serve) -> None:
    async def calls() -> None:
        async with AsyncClient(socket=service) as client:
            made = client.websocket(address(scripted(echoing)))
            for call in (made.recv(), made.send("a"), made.send_json(1), made.ping(), made.__anext__()):
                with pytest.raises(ValueError, match="begin with async with"):
                    await call
            async with made:
                assert await made.ping() > 0

    asyncio.run(calls())


def test_a_dropped_websocket_ends(client: Client, origin: str, binary: str) -> None:
    def is_open(by: Client) -> bool:
        return any(one["state"] == "responded" for one in by.call("request.list")["requests"])

    # with a connection of its own for the messages, and without
    with Client(command=[binary, "serve", "--stdio"]) as alone:
        for by in (client, alone):
            ws = by.websocket(f"{origin.replace('http', 'ws')}/websocket")
            ws.send("hello")
            assert ws.recv(timeout=10) == "hello"
            assert is_open(by)
            del ws
            until(lambda one=by: not is_open(one))  # type: ignore[misc]
