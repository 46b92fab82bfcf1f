# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Responses: everything that both kinds have in common except the calls that read a body."""

from __future__ import annotations

from binascii import a2b_base64

from .._protocol.exceptions import ExchangeError, StatusError, from_failure
from .._protocol.frames import decode, packed_body, rewritten
from .._protocol.hints import Any, Callable, Leaver, Mapping, Self
from .._protocol.openings import Dropped, ended_by
from .._protocol.parameters import CONTENT
from .facts import Facts
from .reading import Reading, closing, data_of

BYTE_ORDER_MARK = "\ufeff"


def _json_text(content: bytes) -> str:
    """JSON as text: UTF-8, or the encoding of its first bytes. Raises :class:`UnicodeDecodeError`."""
    head = content[:4]
    if 0 not in head and head[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-8")
    from json import detect_encoding

    return content.decode(detect_encoding(content))


class Kept(Dropped):
    """A body that the service keeps for a response, or a started request. ``calls`` drop it with this object."""

    __slots__ = ("calls", "client")

    def __init__(self, client: Leaver, calls: list[tuple[str, dict[str, Any]]]) -> None:
        self.client: Leaver | None = client
        self.calls = calls

    def _drop(self) -> None:
        if self.client is not None:
            self.client._leave(self.calls)


_raised: dict[str, Exception] = {}


def keep_raised(request: str, problem: Exception) -> None:
    """Keeps the exception of a program's function, on its way through the service, until its request raises it."""
    _raised[request] = problem
    if len(_raised) > 64:
        _raised.pop(next(iter(_raised)), None)


def raised_for(request: str | None) -> Exception | None:
    """The exception of a program's function for the request; returned once."""
    return _raised.pop(request, None) if _raised and request is not None else None


def is_kept(result: Mapping[str, Any]) -> bool:
    """Whether the service holds something of the response that is still to be fetched."""
    return (result.get("body") or {}).get("kind") in ("stored", "file")


class ResponseData(Facts):
    """The common part of both kinds of response: everything except reading a body that the service keeps."""

    __slots__ = ("_call", "_kept", "_origin", "_pipe", "_reading", "_released")

    def __init__(self, raw: dict[str, Any] | bytes | tuple[bytes, bytes], call: Callable[..., Any]) -> None:
        Facts.__init__(self, raw)
        self._call = call
        self._released = False
        self._reading: Reading | None = None
        self._kept: Kept | None = None
        # the started request that has the body
        self._origin: Kept | None = None
        self._pipe: Any = None

    def __reduce__(self) -> Any:
        # a copy has no client: what the service keeps stays with the one it was made of
        return _copied, (type(self), self._raw, self._content, self._seconds)

    def __repr__(self) -> str:
        return f"<Response [{self.status}] {self._line}>"

    @property
    def _line(self) -> str:
        """The method and the URL, without the password of a URL that was refused."""
        scheme, mark, rest = self.url.partition("://") if "://" in self.url else ("", "", self.url)
        place, slash, path = rest.partition("/")
        return f"{self.method} {scheme}{mark}{place.rpartition('@')[2]}{slash}{path}"

    @property
    def handle(self) -> str | None:
        """The handle of a body that the service keeps: for ten minutes, or until :meth:`close`. Without a look at the
        handle the service drops the body together with the response."""
        self._unkeep()
        if self._origin is not None:
            self._origin.client = None
        return self._stored

    @property
    def request(self) -> str | None:
        """The request's handle. After a look at the handle, the service keeps a started request as long as others."""
        if self._origin is not None:
            self._origin.client = None
        return self._told.get("request")

    def _unkeep(self) -> None:
        if self._kept is not None:
            self._kept.client = None

    @property
    def history(self) -> list[Self]:
        """The responses that redirected, oldest first, each with its ``status``, its ``url`` and a ``Location``."""
        found = []
        for place, one in enumerate(self.redirects):
            head = {"headers": [{"name": "Location", "value": one["url"]}], "status": one["status"]}
            url = one.get("from", "") if place == 0 else self.redirects[place - 1]["url"]
            found.append(type(self)({"ok": True, "url": url, "method": self.method, **head}, _elsewhere))
        return found

    @property
    def error(self) -> ExchangeError | None:
        """Why the exchange failed, as the exception for the failure; ``None`` after success."""
        if type(self._raw) is bytes:
            return None
        failure = self._told.get("error")
        return None if failure is None else from_failure(failure, self)

    def raise_for_error(self) -> Self:
        """Raises :attr:`error` if the exchange failed; otherwise returns the response itself."""
        error = self.error
        if error is not None:
            own = raised_for(self._told.get("request"))
            if own is not None:
                raise own from error
            raise error
        return self

    def raise_for_status(self) -> Self:
        """Raises :class:`~outrider.StatusError` for a status of 400 and above, and :attr:`error` after a failure.

        Otherwise returns the response itself: ``client.get(url).raise_for_status().json()``.
        """
        self.raise_for_error()
        status = self.status
        if status >= 400:
            raise StatusError(
                f"the server responded with status {status} ({self.method} {self.url})",
                code=1600,
                kind="responseValidationFailed",
                reason="unacceptableStatusCode",
                retryable=status in (408, 425, 429, 500, 502, 503, 504),
                response=self,
            )
        return self

    @property
    def encoding(self) -> str:
        """The charset of :attr:`text`: from the Content-Type, else UTF-8."""
        body = self._body
        if "charset" in body:
            return str(body["charset"])
        for part in str(body.get("contentType") or self.headers.get("content-type") or "").split(";")[1:]:
            name, _, value = part.partition("=")
            if name.strip().lower() == "charset":
                return value.strip().strip("\"'") or "utf-8"
        return "utf-8"

    @property
    def content(self) -> bytes:
        """The body's bytes.

        The blocking client reads a body that the service keeps when this is first used. The awaiting client has read
        the body before, unless ``body_to`` was given: then ``await r.read()`` first.
        """
        if self._content is None:
            inline = self._inline()
            self._content = self._fetched() if inline is None else inline
        return self._content

    @property
    def text(self) -> str:
        """The body as text, by its charset; bytes that cannot be decoded become U+FFFD."""
        return self._text(self.content)

    def json(self) -> Any:
        """The body as a JSON value. Raises :class:`ValueError` for other bodies."""
        if self._packed() is None and self.body_kind == "json":
            return self._body["json"]
        return self._json(self.content)

    def _fetched(self) -> bytes:
        """The bytes of a body that did not come with the response."""
        raise NotImplementedError

    def _inline(self) -> bytes | None:
        """The body's bytes if they came with the response, else ``None``."""
        packed = self._packed()
        if packed is not None:
            return packed
        for one in self._told.get("results", ()):
            if one["id"] == CONTENT and one.get("body", {}).get("kind") == "base64":
                return a2b_base64(one["body"]["base64"])
        body = self._body
        kind = body.get("kind")
        if kind == "base64":
            return data_of(body)
        if kind == "text":
            try:
                return str(body["text"]).encode(self.encoding)
            except (LookupError, ValueError):
                return str(body["text"]).encode("utf-8", "surrogatepass")
        if kind == "json":
            return rewritten(body["json"]).encode("ascii")
        return b"" if body.get("response") is None and kind != "stream" else None

    def _flow(self) -> Reading | None:
        """The stream of the body, with ``body_to="stream"``, at its present position."""
        if self._reading is None and self._packed() is None and self.body_kind == "stream":
            self._reading = Reading({"request": self._told.get("request"), "stream": self._body["stream"]})
            self._reading.begin("bytes")
        return self._reading

    def _follow(self, client: Leaver) -> None:
        """Lets ``client`` cancel the stream of the body, or release a body that the service keeps, when this response
        is dropped."""
        reading, stored = self._flow(), self._stored
        if reading is not None:
            reading.client = client
        elif stored is not None:
            self._kept = Kept(client, ended_by(response=stored))

    def _flows_long(self, reading: Reading) -> bool:
        """Whether the body of a stream is longer than 256 KiB, by its head or by the bytes that have come: a shorter
        body comes with a call or two, which cost less than a connection."""
        declared = self.headers.get("Content-Length") or ""
        return reading.count > 1 << 18 or (declared.isdecimal() and int(declared) > 1 << 18)

    def _whole_or_raise(self) -> None:
        """A stream that was read from has not all of the body any more."""
        if self._reading is not None and self._reading.moved:
            raise RuntimeError('with body_to="stream" the body can be read once, and has been read from')

    def _leavings(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls after which the service keeps nothing of the body."""
        if self._stored is not None:
            return ended_by(response=self._stored)
        reading = self._flow()
        return [] if reading is None else closing(reading)

    def _text(self, content: bytes) -> str:
        body = self._body
        if body.get("kind") == "text":
            return str(body["text"])
        try:
            text = content.decode(self.encoding, "replace")
        except (LookupError, ValueError):
            # not a charset, or one that decodes nothing: such as "undefined"
            text = content.decode("utf-8", "replace")
        return text[1:] if text[:1] == BYTE_ORDER_MARK else text

    def _packed(self) -> bytes | None:
        """The body's bytes, if they came with the result, and nothing else of the result has been read."""
        if type(self._raw) is not bytes:
            return None
        if self._content is None:
            self._content = packed_body(self._raw)
        return self._content

    def _json(self, content: bytes) -> Any:
        try:
            text = _json_text(content)
        except UnicodeDecodeError:
            if self.encoding.lower() in ("utf-8", "utf8"):
                raise
            text = self._text(content)
        return decode(text[1:] if text[:1] == BYTE_ORDER_MARK else text)


def _copied(
    kind: Callable[..., ResponseData], raw: Any, content: bytes | None, seconds: float | None = None
) -> ResponseData:
    made = kind(raw, _elsewhere)
    made._content = content
    made._seconds = seconds
    made._released = True
    return made


def _elsewhere(*_: Any, **__: Any) -> Any:
    raise RuntimeError("a copied response has no client: read its body before it is copied or pickled")
