# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A client that leaves large payloads in a service, and waits to be killed: PATH URL STAGE."""

import json
import socket
import sys
import threading
import time

path, url, stage = sys.argv[1:]
text, number, open_ones = "x" * (3 << 20), 0, []


def connect():
    made = socket.socket(socket.AF_UNIX)
    made.connect(path)
    open_ones.append(made)
    return made


def line(method, /, **params):
    global number
    number += 1
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


def call(method, /, **params):
    service.sendall(line(method, **params))
    return json.loads(lines.readline())


def send(bytes):
    threading.Thread(target=service.sendall, args=(bytes,), daemon=True).start()


service = connect()
lines = service.makefile("rb")
waiting = line("data.send", method="POST", url=url + "/hold", body={"text": text})
if stage == "partial message":
    send(b'{"a": "' + text.encode())
elif stage == "partial batch":
    send(b"[" + waiting[:-1] + b"," + waiting[:-5])
elif stage == "batch":
    send(b"[" + waiting[:-1] + b"," + line("data.send", url=url + "/hold")[:-1] + b"]\n")
elif stage == "waiting request":
    send(waiting)
elif stage == "unread reply":
    send(line("data.send", url=url + "/size/3000000", maxInline=8 << 20))
elif stage == "stored body":
    send(line("data.send", url=url + "/size/3000000", bodyTo="stored"))
elif stage == "kept content":
    endpoints = {"e%d" % index: {"path": "/" + "x" * 1400} for index in range(700)}
    send(line("router.define", name="r", baseUrl=url, endpoints=endpoints))
else:
    stream = call("upload.open")["result"]["stream"]
    if stage == "attached stream":
        service = connect()
        send(line("stream.attach", stream=stream, direction="write") + text.encode())
        service = connect()
        send(line("diagnostics.echo", value=text))
    elif stage == "fed request":
        body = {"stream": stream}
        send(line("upload.send", url=url + "/hold", body=body) + line("stream.write", stream=stream, text=text))
    else:
        send(line("stream.write", stream=stream, text=text, wait=600))
print("ready", flush=True)
time.sleep(60)  # clock: lives until the test kills it
