# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the cookie suite: jars of sessions, and exchanges through a proxy."""

import atexit
import datetime
import itertools
import threading

import wire

_wire = wire.Wire()
atexit.register(_wire.close)
_lock = threading.Lock()
_names = itertools.count(1)


def _call(method, params):
    with _lock:
        return _wire.call(method, params)


def _text(latin):
    """The suite writes bytes as Latin-1; the service takes UTF-8."""
    return latin.encode("latin-1").decode("utf-8", "replace")


class Jar:
    """The jar of a session of its own."""

    def __init__(self, **more):
        self.session = _call("session.create", {"name": f"s{next(_names)}", "cookies": True, **more})["session"]

    def set(self, url, set_cookie):
        fields = [_text(field) for field in set_cookie]
        _call("cookies.set", {"session": self.session, "url": url, "setCookie": fields})

    def get(self, url):
        value = _call("cookies.header", {"session": self.session, "url": url}).get("value")
        return value and value.encode().decode("latin-1")

    def load(self, path):
        _call("cookies.import", {"session": self.session, "path": path})

    def save(self, path):
        _call("cookies.export", {"session": self.session, "file": path, "replace": True})

    def close(self):
        _call("session.close", {"session": self.session})


class Client(Jar):
    """A session that sends real requests."""

    def __init__(self, proxy):
        super().__init__(proxy={"url": proxy})

    def get(self, url):
        _call("data.send", {"url": url, "session": self.session, "handles": False})


_dates = Jar()


def expires(text):
    """Seconds since 1970, as the service reads the attribute."""
    params = {"session": _dates.session, "url": "https://dates.example/", "setCookie": [f"a=1; Expires={text}"]}
    found = _call("cookies.explain", params)["received"][0].get("expiresAt")
    return found and int(datetime.datetime.fromisoformat(found.replace("Z", "+00:00")).timestamp())
