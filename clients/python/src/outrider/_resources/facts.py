# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What a response says about itself: everything except its body and its failure."""

from __future__ import annotations

from .._protocol.frames import in_base64, unpack
from .._protocol.hints import Any, timedelta
from .._protocol.models import Headers, told
from .._protocol.parameters import CONTENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._protocol.models import Told


class Facts:
    """The Response object of the service, by property. Its bytes are parsed on first access."""

    __slots__ = ("_content", "_headers", "_raw", "_seconds")

    def __init__(self, raw: dict[str, Any] | bytes | tuple[bytes, bytes]) -> None:
        self._content: bytes | None = None
        if type(raw) is tuple:
            raw, self._content = raw
        self._raw: Any = raw
        self._headers: Headers | None = None
        self._seconds: float | None = None

    @property
    def raw(self) -> dict[str, Any]:
        """The Response object of the service."""
        told = self._told
        body = told.get("body") or {}
        if body.get("kind") == "base64" and not isinstance(body.get("base64"), str):
            body["base64"] = in_base64(body.get("base64") or self._content or b"")
        return told

    @property
    def _told(self) -> dict[str, Any]:
        """The same, without the bytes of a body that came raw: writing them in base64 takes time."""
        raw = self._raw
        if type(raw) is bytes:
            raw = unpack(raw)
            if (raw.get("body") or {}).get("kind") == "raw":
                raw["body"]["kind"] = "base64"
            self._raw = raw
        return raw  # type: ignore[no-any-return]

    @property
    def _body(self) -> dict[str, Any]:
        return self._told.get("body") or {"kind": "none", "size": 0}

    # The head

    status: Told[int] = told("status", "The status code; 0 when no head arrived, which ``check=False`` permits.", 0)
    status_code = status
    url: Told[str] = told("url", "The URL of the response, after redirects.")
    method: Told[str] = told("method", "The method of the last attempt.")
    http_version: Told[str | None] = told("httpVersion", "Such as ``1.1`` or ``2``.")

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
        return self._told.get("ok") is True and 0 < self.status < 400

    @property
    def headers(self) -> Headers:
        """The fields of the head; empty when none arrived."""
        if self._headers is None:
            self._headers = Headers(self._told.get("headers") or ())
        return self._headers

    @property
    def trailers(self) -> Headers:
        """The fields that came behind the body; empty when there were none."""
        return Headers(self._told.get("trailers") or ())

    @property
    def _declared(self) -> int | None:
        """The length of the body by its head; ``None`` if the head tells none, or the length of an encoding."""
        length = self.headers.get("Content-Length") or ""
        return int(length) if length.isdecimal() and self.headers.get("Content-Encoding") is None else None

    @property
    def links(self) -> dict[str, dict[str, str]]:
        """The links of the field Link (RFC 8288), by their ``rel``: ``r.links["next"]["url"]``."""
        from .lines import links

        return links(self.headers.get("Link") or "")

    @property
    def cookies(self) -> dict[str, str]:
        """The cookies that this response set, by their names."""
        pairs = [field.partition(";")[0].partition("=") for field in self.headers.get_all("Set-Cookie")]
        return {name.strip(): value.strip() for name, _, value in pairs if name.strip()}

    # The exchange

    attempts: Told[int] = told("attempts", "How often the request was sent.", 0)
    metrics: Told[dict[str, Any] | None] = told("metrics", "How long each phase took, when ``metrics=True`` was given.")
    remote: Told[str | None] = told(
        "remote", "The peer of the last attempt: address and port, such as ``127.0.0.1:8080``, or the path of a Unix"
        " socket.",
    )  # fmt: skip
    tls: Told[dict[str, Any] | None] = told(
        "tls", "The secure connection, for ``https``: ``version``, ``cipher``, ``verified`` and so on."
    )
    tag: Told[str | None] = told("tag", "The label that the request was given.")

    @property
    def redirects(self) -> list[dict[str, Any]]:
        """The redirects that were followed: ``status`` and ``url`` of each."""
        return self._told.get("redirects") or []

    @property
    def cache(self) -> dict[str, Any]:
        """The use of the cache: ``status`` such as ``hit``, ``miss`` or ``bypass``, ``age``, ``ttl``, ``reason``."""
        told = self._told.get("cache") or "bypass"
        return {"status": told} if isinstance(told, str) else told

    @property
    def elapsed(self) -> timedelta:
        """The time from the call to its result. A response of ``many``, or of a started request, has this time only
        with ``metrics=True``."""
        from datetime import timedelta

        seconds = (self.metrics or {}).get("total", self._seconds)
        if seconds is None:
            raise RuntimeError("this response was not timed: ask for metrics=True")
        return timedelta(seconds=seconds)

    # The body

    body_kind: Told[str] = told(
        "kind", "``none``, ``json``, ``text``, ``base64``, ``file``, ``stored`` or ``stream``.", "none", of="_body"
    )
    size: Told[int] = told("size", "The size of the body in bytes, after decoding of Content-Encoding.", 0, of="_body")
    case: Told[str | None] = told("case", "The name of the case of ``serialize`` that the body came by.", of="_body")
    path: Told[str | None] = told("path", 'The private file that holds the body, with ``body_to="file"``.', of="_body")
    _stored: Told[str | None] = told("response", "The handle of a body that the service keeps.", of="_body")

    @property
    def body(self) -> dict[str, Any]:
        """The body object of the service: ``kind``, ``size``, ``contentType`` and so on."""
        return self.raw.get("body") or {"kind": "none", "size": 0}

    @property
    def complete(self) -> bool:
        """Whether the whole body arrived."""
        return self._body.get("complete") is not False

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """The results of the ``handlers``, by id: ``ok``, and ``body`` or ``error``."""
        return {one["id"]: one for one in self._told.get("results", ()) if one["id"] != CONTENT}
