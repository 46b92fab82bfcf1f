# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the event-stream suite: each source is a service of its own, whose stream is pushed."""

import base64
import itertools
import json
import threading

import wire

CAPABILITIES = [
    "bom", "headers", "last-event-id", "post", "report", "read-timeout", "restart", "server-directed-shutdown-request",
]
RECONNECTS = True
CREDIT = 1 << 20
PATIENCE = 600


class Source:
    """An event stream; a thread hands over what comes."""

    def __init__(self, url, on_event, on_error=None, on_comment=None, headers=None, method="GET", body=None,
                 last_event_id=None, initial_delay_ms=None, read_timeout_ms=None):
        self.on_event, self.on_error = on_event, on_error
        # the suite's sources reconnect whatever the method
        again = {"enabled": True} if initial_delay_ms is None else {"enabled": True, "delay": initial_delay_ms / 1000}
        self.params = {
            "url": url,
            "method": method,
            "headers": headers or {},
            "mode": "push",
            "credit": CREDIT,
            "reconnect": again,
        }
        if body is not None:
            content = body.encode() if isinstance(body, str) else body
            self.params["body"] = {"base64": base64.b64encode(content).decode()}
        if read_timeout_ms is not None:
            self.params["timeout"] = {"idle": read_timeout_ms / 1000}
        self.numbers = itertools.count()
        self.last_event_id = last_event_id
        self.wire = None
        self.restart()

    def restart(self):
        """Connects anew, and continues after the last event."""
        if self.wire is not None:
            self.close()
        self.number = number = next(self.numbers)
        self.wire = wire.Wire()
        params = self.params if self.last_event_id is None else {**self.params, "lastEventId": self.last_event_id}
        stream = self.wire.call("sse.open", params)["stream"]
        self.thread = threading.Thread(target=self.follow, args=(number, self.wire, stream), daemon=True)
        self.thread.start()

    def follow(self, number, service, stream):
        while number == self.number:
            try:
                message = service.receive(PATIENCE)
            except (wire.Gone, OSError, ValueError):
                return
            params = message.get("params", {})
            if number != self.number or params.get("stream") != stream:
                continue
            if message["method"] == "event.sse":
                grant = {"stream": stream, "bytes": params["bytes"]}
                service.send(json.dumps({"jsonrpc": "2.0", "method": "stream.credit", "params": grant}).encode())
                self.last_event_id = params.get("id")
                self.on_event(params["event"], params["data"], params.get("id", ""))
            elif message["method"] == "event.end":
                if "error" in params and self.on_error:
                    self.on_error(params["error"]["message"])
                return

    def close(self):
        self.number = None
        # the end of its input ends the service, and the service's end ends the thread
        self.wire.process.stdin.close()
        if threading.current_thread() is not self.thread:
            self.thread.join(5)
        self.wire.close()
