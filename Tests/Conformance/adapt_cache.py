# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the cache suite: one service on a socket, a connection for each client, a session for its cache."""

import atexit
import base64
import os
import shutil
import subprocess
import tempfile
import threading
import time

import wire
from adapter import Response

MODES = {
    "no-cache": "noCache",
    "reload": "reload",
    "no-store": "noStore",
    "force-cache": "forceCache",
    "only-if-cached": "onlyIfCached",
}
_folder = tempfile.mkdtemp(prefix="outrider-")
_path = os.path.join(_folder, "s")
_lock = threading.Lock()
_process = None


def _service():
    """The path of the service's socket; the service is started when first asked for."""
    global _process
    with _lock:
        if _process is None:
            caches = os.path.join(_folder, "caches")
            command = [wire.BINARY, "serve", "--socket", _path, "--idle-exit", "30", "--caches", caches]
            quiet = subprocess.DEVNULL
            _process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
            atexit.register(_end)
            while not os.path.exists(_path) and _process.poll() is None:
                time.sleep(0.01)
    return _path


def _end():
    _process.terminate()
    _process.wait(10)
    shutil.rmtree(_folder, ignore_errors=True)


class Cache:
    """A client with a cache of its own, or one that it shares under a name."""

    def __init__(self, profile, name=None):
        self.wire = wire.SocketWire(_service())
        self.lock = threading.Lock()
        self.spare = []
        self.cache = {"name": name} if name else {}
        self.session = self.wire.call("session.create", {"cache": self.cache or True})["session"]

    def fetch(self, method, url, headers, body, redirect, timeout, cache=None):
        params = {
            "url": url,
            "method": method,
            "headers": [{"name": name, "value": value} for name, value in headers],
            "timeout": timeout,
            "maxInline": 8 << 20,
            "serialize": {"as": "base64"},
            "redirect": "follow" if redirect == "follow" else "none",
            "session": self.session,
        }
        if cache is not None:
            params["cache"] = {"mode": MODES[cache]}
        if body is not None:
            params["body"] = {"base64": base64.b64encode(body).decode()}
        with self.lock:
            found = self.spare.pop() if self.spare else None
        if found is None:
            # several requests at once: each has a connection, and all have the session's cache
            found = self._more()
        connection, session, subscription = found
        result = connection.call("data.send", {**params, "session": session}, seconds=timeout + 20)
        interim = self._interim(connection, subscription)
        with self.lock:
            self.spare.append(found)
        if not result["ok"]:
            raise RuntimeError(f"{result['error']['code']} {result['error']['message']}")
        fields = [(field["name"], field["value"]) for field in result["headers"]]
        return Response(result["status"], fields, base64.b64decode(result["body"].get("base64", "")), interim)

    def _interim(self, connection, subscription):
        """The informational responses of the request that has just got its response."""
        found = []
        while True:
            for event in connection.call("events.next", {"subscription": subscription})["events"]:
                detail = event["params"]["detail"]
                if event["params"]["topic"] == "request.finished":
                    return found
                found.append((detail["status"], [(field["name"], field["value"]) for field in detail["headers"]]))

    def _more(self):
        with self.lock:
            connection, self.wire = self.wire, None
        session = self.session
        if connection is None:
            connection = wire.SocketWire(_service())
            session = connection.call("session.create", {"cache": self.cache or True})["session"]
        topics = {"topics": ["attempt.informed", "request.finished"], "pull": True}
        return connection, session, connection.call("events.subscribe", topics)["subscription"]

    def close(self):
        for connection, *_ in self.spare:
            connection.close()
        if self.wire is not None:
            self.wire.close()
