# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Responses: everything that both kinds have in common except the calls that read a body."""

from __future__ import annotations

from binascii import a2b_base64

from .._protocol.exceptions import ExchangeError, StatusError, from_failure
from .._protocol.frames import decode, json_text, packed_body, rewritten, unpack
from .._protocol.models import Headers
from .._protocol.parameters import CONTENT
from .._protocol.raised import raised_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from typing import Any, TypeVar

    from .caller import Leaver
    from .reading import Reading

    Kind = TypeVar("Kind", bound="ResponseData")

BYTE_ORDER_MARK = "\ufeff"

class ResponseData:
    """The common part of both kinds of response: everything except reading a body that the service keeps."""

    __slots__ = ("_call", "_content", "_headers", "_pipe", "_raw", "_reading", "_released", "_seconds")

    def __init__(self, raw: dict[str, Any] | bytes, call: Callable[..., Any]) -> None:
        self._raw = raw
        self._call = call
        self._content: bytes | None = None
        self._headers: Headers | None = None
        self._released = False
        self._reading: Reading | None = None
        self._seconds: float | None = None
        self._pipe: Any = None

    def __reduce__(self) -> Any:
        # a copy has no client: what the service keeps stays with the one it was made of
        return _copied, (type(self), self._raw, self._content)

    def __repr__(self) -> str:
        return f"<Response [{self.status}] {self.method} {self.url}>"

    @property
    def raw(self) -> dict[str, Any]:
        """The Response object of the service."""
        raw = self._raw
        if type(raw) is bytes:
            raw = self._raw = unpack(raw)
        return raw  # type: ignore[return-value]

    @property
    def status(self) -> int:
        """The status code; 0 when no head arrived, which ``check=False`` permits."""
        return self.raw.get("status", 0)  # type: ignore[no-any-return]

    status_code = status

    @property
    def reason(self) -> str:
        """The phrase that belongs to the status, such as ``Not Found``; a server's own words are not passed on."""
        from http import HTTPStatus

        try:
            return HTTPStatus(self.status).phrase
        except ValueError:
            return ""

    @property
    def ok(self) -> bool:
        """Whether the exchange succeeded *and* the status is below 400."""
        return self.raw.get("ok") is True and 0 < self.status < 400

    @property
    def elapsed(self) -> timedelta:
        """The time from the call to its result. A response of ``many``, or of a started request, has this time only
        with ``metrics=True``."""
        from datetime import timedelta

        seconds = (self.metrics or {}).get("total", self._seconds)
        if seconds is None:
            raise RuntimeError("this response was not timed: ask for metrics=True")
        return timedelta(seconds=seconds)

    @property
    def headers(self) -> Headers:
        """The fields of the head; empty when none arrived."""
        if self._headers is None:
            self._headers = Headers(self.raw.get("headers") or ())
        return self._headers

    @property
    def url(self) -> str:
        """The URL that answered, after redirects."""
        return self.raw["url"]  # type: ignore[no-any-return]

    @property
    def method(self) -> str:
        """The method of the last attempt."""
        return self.raw["method"]  # type: ignore[no-any-return]

    @property
    def http_version(self) -> str | None:
        """Such as ``1.1`` or ``2``."""
        return self.raw.get("httpVersion")

    @property
    def trailers(self) -> Headers:
        """The fields that came behind the body; empty when there were none."""
        return Headers(self.raw.get("trailers") or ())

    @property
    def attempts(self) -> int:
        """How often the request was sent."""
        return self.raw.get("attempts", 0)  # type: ignore[no-any-return]

    @property
    def redirects(self) -> list[dict[str, Any]]:
        """The redirects that were followed: ``status`` and ``url`` of each."""
        return self.raw.get("redirects") or []

    @property
    def history(self: Kind) -> list[Kind]:
        """The responses that redirected, oldest first, each with its ``status``, its ``url`` and a ``Location``."""
        found = []
        for place, one in enumerate(self.redirects):
            head = {"headers": [{"name": "Location", "value": one["url"]}], "status": one["status"]}
            url = one.get("from", "") if place == 0 else self.redirects[place - 1]["url"]
            found.append(type(self)({"ok": True, "url": url, "method": self.method, **head}, _elsewhere))
        return found

    @property
    def links(self) -> dict[str, dict[str, str]]:
        """The links of the field Link (RFC 8288), by their ``rel``: ``r.links["next"]["url"]``."""
        from .lines import links

        return links(self.headers.get("Link") or "")

    @property
    def cache(self) -> dict[str, Any]:
        """The use of the cache: ``status`` such as ``hit``, ``miss`` or ``bypass``, ``age``, ``ttl``, ``reason``."""
        told = self.raw.get("cache") or "bypass"
        return {"status": told} if isinstance(told, str) else told

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies that this response set, by their names."""
        pairs = [field.partition(";")[0].partition("=") for field in self.headers.get_all("Set-Cookie")]
        return {name.strip(): value.strip() for name, _, value in pairs if name.strip()}

    @property
    def metrics(self) -> dict[str, Any] | None:
        """How long each phase took, when ``metrics=True`` was given."""
        return self.raw.get("metrics")

    @property
    def remote(self) -> str | None:
        """The peer of the last attempt: address and port, such as ``127.0.0.1:8080``, or the path of a Unix socket."""
        return self.raw.get("remote")

    @property
    def tls(self) -> dict[str, Any] | None:
        """The secure connection, for ``https``: ``version``, ``cipher``, ``verified`` and so on."""
        return self.raw.get("tls")

    @property
    def request(self) -> str | None:
        """The request's handle."""
        return self.raw.get("request")

    @property
    def tag(self) -> str | None:
        """The label that the request was given."""
        return self.raw.get("tag")

    @property
    def body(self) -> dict[str, Any]:
        """The body object of the service: ``kind``, ``size``, ``contentType`` and so on."""
        return self.raw.get("body") or {"kind": "none", "size": 0}

    @property
    def case(self) -> str | None:
        """The name of the case of ``serialize`` that the body came by."""
        return self.body.get("case")

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """The results of the ``handlers``, by id: ``ok``, and ``body`` or ``error``."""
        return {one["id"]: one for one in self.raw.get("results", ()) if one["id"] != CONTENT}

    @property
    def body_kind(self) -> str:
        """``none``, ``json``, ``text``, ``base64``, ``file``, ``stored`` or ``stream``."""
        return self.body.get("kind", "none")  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """The size of the body in bytes, after decoding of Content-Encoding."""
        return self.body.get("size", 0)  # type: ignore[no-any-return]

    @property
    def complete(self) -> bool:
        """Whether the whole body arrived."""
        return self.body.get("complete") is not False

    @property
    def path(self) -> str | None:
        """The private file that holds the body, with ``body_to="file"``."""
        return self.body.get("path")

    @property
    def handle(self) -> str | None:
        """The handle of a body that the service keeps."""
        return self.body.get("response")

    @property
    def error(self) -> ExchangeError | None:
        """Why the exchange failed, as the exception for the failure; ``None`` after success."""
        if type(self._raw) is bytes:
            return None
        failure = self.raw.get("error")
        return None if failure is None else from_failure(failure, self)

    def raise_for_error(self) -> None:
        """Raises :attr:`error` if the exchange failed."""
        error = self.error
        if error is not None:
            own = raised_for(self.request)
            if own is not None:
                raise own from error
            raise error

    def raise_for_status(self: Kind) -> Kind:
        """Raises :class:`~outrider.StatusError` for a status of 400 and above, and :attr:`error` after a failure.

        Otherwise returns the response itself: ``client.get(url).raise_for_status().json()``.
        """
        self.raise_for_error()
        status = self.status
        if status >= 400:
            raise StatusError(
                f"the server answered {status} ({self.method} {self.url})",
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
        body = self.body
        if "charset" in body:
            return str(body["charset"])
        for part in str(body.get("contentType") or "").split(";")[1:]:
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
            return self.body["json"]
        return self._json(self.content)

    def _fetched(self) -> bytes:
        """The bytes of a body that did not come with the response."""
        raise NotImplementedError

    def _inline(self) -> bytes | None:
        """The body's bytes if they came with the answer, else ``None``."""
        packed = self._packed()
        if packed is not None:
            return packed
        for one in self.raw.get("results", ()):
            if one["id"] == CONTENT and one.get("body", {}).get("kind") == "base64":
                return a2b_base64(one["body"]["base64"])
        body = self.body
        kind = body.get("kind")
        if kind == "base64":
            return a2b_base64(body["base64"])
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
            from .reading import Reading

            self._reading = Reading({"request": self.request, "stream": self.body["stream"]})
            self._reading.begin("bytes")
        return self._reading

    def _follow(self, client: Leaver) -> None:
        """Lets ``client`` cancel the stream of the body, if any, when this response is dropped."""
        reading = self._flow()
        if reading is not None:
            reading.client = client

    def _flows_long(self, reading: Reading) -> bool:
        """Whether the body of a stream is longer than 64 KiB, by its head or by the bytes that have come."""
        declared = self.headers.get("Content-Length") or ""
        return reading.count > 1 << 16 or (declared.isdecimal() and int(declared) > 1 << 16)

    def _whole_or_raise(self) -> None:
        """A stream that was read from has not all of the body any more."""
        if self._reading is not None and self._reading.moved:
            raise RuntimeError('with body_to="stream" the body can be read once, and has been read from')

    def _leavings(self) -> list[tuple[str, dict[str, Any]]]:
        """The calls after which the service keeps nothing of the body."""
        if self.handle is not None:
            return [("response.release", {"response": self.handle})]
        reading = self._flow()
        if reading is None:
            return []
        from .reading import closing

        return closing(reading)

    def _text(self, content: bytes) -> str:
        body = self.body
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
            text = json_text(content)
        except UnicodeDecodeError:
            if self.encoding.lower() in ("utf-8", "utf8"):
                raise
            text = self._text(content)
        return decode(text[1:] if text[:1] == BYTE_ORDER_MARK else text)


def _copied(kind: Callable[..., ResponseData], raw: Any, content: bytes | None) -> ResponseData:
    made = kind(raw, _elsewhere)
    made._content = content
    made._released = True
    return made


def _elsewhere(*_: Any, **__: Any) -> Any:
    raise RuntimeError("a copied response has no client: read its body before it is copied or pickled")
