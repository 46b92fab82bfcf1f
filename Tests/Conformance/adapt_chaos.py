# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the misbehaving-server suite: each session is a service of its own, asked through data.send."""

import base64
import os
import tempfile

import wire

IDLE = 5
TOTAL = 60
# what fits into one message with room to spare; more goes through a file
MOST_INLINE = 4 << 20


class Session:
    """One service; its connections stay open between fetches."""

    def __init__(self, total_timeout=None, idle_timeout=None, max_body=None, follow=True, max_redirects=None):
        idle = idle_timeout or IDLE
        self.timeout = {"firstByte": idle, "idle": idle, "total": total_timeout or TOTAL}
        self.max_body = max_body
        self.redirect = "none" if not follow else {"max": max_redirects} if max_redirects is not None else "follow"
        self.wire = wire.Wire()

    def fetch(self, method, url, headers=(), body=None):
        params = {
            "url": url,
            "method": method,
            "headers": [{"name": name, "value": value} for name, value in headers],
            "timeout": self.timeout,
            "maxInline": 8 << 20,
            "serialize": {"as": "base64"},
            "redirect": self.redirect,
        }
        with tempfile.NamedTemporaryFile() as file:
            if body is not None and len(body) > MOST_INLINE:
                file.write(body)
                file.flush()
                params["body"] = {"file": file.name}
            elif body is not None:
                params["body"] = {"base64": base64.b64encode(body).decode()}
            response = self.send(params)
        if not response["ok"]:
            raise RuntimeError(f"{response['error']['code']} {response['error']['message']}")
        return {
            "status": response["status"],
            "headers": [(field["name"], field["value"]) for field in response["headers"]],
            "body": self.body(response["body"]),
            "url": response["url"],
            "history": [hop["url"] for hop in response["redirects"]],
        }

    def send(self, params):
        """The response; a limit is kept by watching the progress, and cancelling."""
        if self.max_body is None:
            return self.wire.call("data.send", params, seconds=TOTAL + 10)
        request = self.wire.call("data.start", {**params, "events": ["progress", "finish"]})["request"]
        while True:
            event = self.wire.receive(TOTAL + 10)
            if event["method"] == "event.finish":
                return event["params"]["response"]
            if event["params"]["completed"] > self.max_body:
                self.wire.call("request.cancel", {"request": request})
                raise RuntimeError(f"more than {self.max_body} bytes")

    def body(self, body):
        if body["kind"] == "stored":
            pieces, offset, end = [], 0, False
            while not end:
                piece = self.wire.call("response.read", {"response": body["response"], "offset": offset})
                pieces.append(base64.b64decode(piece["base64"]))
                offset, end = offset + len(pieces[-1]), piece["end"]
            return b"".join(pieces)
        return base64.b64decode(body.get("base64", ""))

    def pid(self):
        return self.wire.process.pid

    def close(self):
        self.wire.close()


def _no_proxy():
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            del os.environ[name]


_no_proxy()
