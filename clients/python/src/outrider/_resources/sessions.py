# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Sessions: the objects that functions of a session get, and the parameters of ``session.create``."""

from __future__ import annotations

from .._protocol.arguments import absolute, header_list, laid, left_out, meant, present
from .._protocol.access import credential
from .._protocol.hints import Any, Callable, Mapping
from .._protocol.models import Headers
from .._protocol.parameters import OPTIONS, SHARED, Built, Defaults, camel, instead, template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .events import Code, Functions


class Attempt:
    """The attempt before sending; an adapter changes this object in place.

    ``method``, ``url`` and ``headers`` belong to the attempt; ``json`` and ``text``, when set, become its body.
    ``attempt`` counts from 1, ``retries`` from 0.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.method: str = params["method"]
        self.url: str = params["url"]
        self.headers: dict[str, str] = {one["name"]: one["value"] for one in params["headers"]}
        self.attempt: int = params["attempt"]
        self.retries: int = params.get("retries", 0)
        self.tag: str | None = params.get("tag")
        self.json: Any = None
        self.text: str | None = None
        self._before = (self.method, self.url, dict(self.headers))

    def changes(self) -> dict[str, Any]:
        """The changes so far."""
        method, url, headers = self._before
        found: dict[str, Any] = {}
        if self.method != method:
            found["method"] = self.method
        if self.url != url:
            found["url"] = self.url
        given = {name: value for name, value in self.headers.items() if headers.get(name) != value}
        if given:
            found["headers"] = given
        gone = [name for name in headers if name not in self.headers]
        if gone:
            found["removeHeaders"] = gone
        if self.json is not None:
            found["body"] = {"json": self.json}
        elif self.text is not None:
            found["body"] = {"text": self.text}
        return found


class Answered:
    """The response to an attempt, as far as received: for validators, serializers and retriers.

    ``status`` and ``headers`` are ``None`` and empty without a response; ``content``, ``text`` and ``json()`` are the
    body, if the callback has a body.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        head = params.get("response") or {}
        self.status: int | None = head.get("status")
        self.headers = Headers(head.get("headers", []))
        self.url: str = params.get("url", "")
        self.method: str = params.get("method", "")
        self.attempt: int = params["attempt"]
        self.retries: int = params.get("retries", 0)
        self.error: dict[str, Any] | None = params.get("error")
        self.tag: str | None = params.get("tag")
        self._body: Mapping[str, Any] = params.get("body") or {}

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        if "text" in self._body:
            return str(self._body["text"]).encode()
        if "base64" in self._body:
            from binascii import a2b_base64

            return a2b_base64(self._body["base64"])
        if "path" in self._body:
            with open(self._body["path"], "rb") as file:
                return file.read()
        return b""

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON."""
        from json import loads

        return loads(self.content)


class Redirect:
    """A redirect: ``status``, ``source`` and ``target``, and the attempt that would follow."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.status: int = params["status"]
        self.source: str = params["from"]
        self.target: str = params["to"]
        self.next = Attempt(params)


class Arrived:
    """The file of a download that is complete: its present ``path``, ``size`` and ``suggested_filename``; with the
    ``status``, the ``headers`` and the ``url`` of its response."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        head = params.get("response") or {}
        self.status: int = head.get("status", 0)
        self.headers = Headers(head.get("headers", []))
        self.url: str = params["url"]
        self.path: str = params["path"]
        self.size: int = params["size"]
        self.suggested_filename: str = params["suggestedFilename"]
        self.tag: str | None = params.get("tag")


class Encoded(Attempt):
    """Parameters that are to be encoded: ``parameters``, and the attempt, of which an encoder sets ``url``, ``json``
    or ``text``."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        super().__init__(params)
        self.parameters: Any = params["parameters"]


class Challenge:
    """A server that asks for authentication: its ``status``, ``headers``, ``url`` and its ``realm``.

    ``offers`` are its schemes, the strongest first; ``failures`` is the number of refused credentials of this request,
    ``username`` the user of the last. ``proxy`` is the URL of the proxy, if a proxy asks.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.url: str = params["url"]
        self.method: str = params["method"]
        self.status: int = params["response"]["status"]
        self.headers = Headers(params["response"]["headers"])
        self.offers: list[dict[str, Any]] = params["offers"]
        self.realm: str = self.offers[0]["realm"] if self.offers else ""
        self.failures: int = params["failures"]
        self.username: str | None = params.get("username")
        self.proxy: str | None = params.get("proxyUrl")
        self.tag: str | None = params.get("tag")


class PresentedServer:
    """A server in the handshake: ``host``, ``port``, and its certificates in ``chain``, the server's own first.

    ``trusted`` is whether the default verification believes the server; ``reason`` why not.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.host: str = params["host"]
        self.port: int = params["port"]
        self.trusted: bool = params["trusted"]
        self.reason: str | None = params.get("reason")
        self.chain: list[dict[str, Any]] = params["chain"]


def adapted(attempt: Attempt, given: Any) -> dict[str, Any]:
    """The result of an adapter, for the service."""
    return attempt.changes() if given is None or given is attempt else dict(given)


def decided(_: Answered, given: Any) -> dict[str, Any]:
    """The result of a retrier, for the service: true, seconds to wait, false, or a text that says why not."""
    if isinstance(given, bool) or given is None:
        return {"retry": bool(given)}
    if isinstance(given, (int, float)):
        return {"retry": True, "delay": given}
    return {"retry": False, "error": str(given)}


def judged(_: Answered, given: Any) -> dict[str, Any]:
    """The result of a validator, for the service: true or nothing, false, or a text that says why not."""
    if given is None or given is True:
        return {"valid": True}
    return {"valid": False} if given is False else {"valid": False, "reason": str(given)}


def read(_: Answered, given: Any) -> dict[str, Any]:
    """The result of a serializer, for the service."""
    return {"value": given}


def led(redirect: Redirect, given: Any) -> dict[str, Any]:
    """The result of a redirector, for the service: true, a URL to follow to, or anything else for no."""
    if isinstance(given, str):
        redirect.next.url = given
    if not given:
        return {"follow": False}
    changes = redirect.next.changes()
    return {"follow": True, "request": changes} if changes else {"follow": True}


def placed(_: Arrived, given: Any) -> dict[str, Any]:
    """Where a file goes: a path, or a mapping with ``path``, ``replace`` and ``createDirectories``."""
    said = dict(given) if hasattr(given, "items") else {"path": given}
    return {**said, "path": absolute(said["path"], "the destination")}


def believed(_: PresentedServer, given: Any) -> dict[str, Any]:
    """Whether a server is believed: true, false, in words why not, or a mapping with ``trust`` and ``remember``."""
    if hasattr(given, "items"):
        return dict(given)
    return {"trust": False, "reason": given} if isinstance(given, str) else {"trust": bool(given)}


def named(_: Challenge, given: Any) -> dict[str, Any]:
    """The result for a challenge: a user name and a password as a tuple or a mapping, the whole result, or nothing."""
    if not given:
        return {}
    given = credential(given)
    return {"credential": given} if "username" in given else given


KINDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], dict[str, Any]]]] = {
    "adapt": (Attempt, adapted),
    "retry": (Answered, decided),
    "validate": (Answered, judged),
    "serialize": (Answered, read),
    "redirect": (Redirect, led),
    "challenge": (Challenge, named),
    "trust": (PresentedServer, believed),
    "destination": (Arrived, placed),
    "encode": (Encoded, adapted),
}
"""For each kind of callback: the argument of the function, and the conversion of its result for the service."""


_OWN = ("connections_per_host", "name", "shared", "headers", "limits", "credentials", "cookies", "hsts")
_SETTINGS = {*_OWN, *SHARED}
"""The settings of a session in the service. Other settings are options, which this client gives to each request."""


class Plan:
    """The settings of a session, and the functions that decide about its requests."""

    def __init__(self, codes: Functions, settings: Mapping[str, Any]) -> None:
        given = present(**settings)
        self.codes = codes
        self.functions: dict[str, Callable[[Any], Any]] = {}
        self.interceptors: list[Any] = list(given.pop("interceptors", ()))
        # one place to connect to is for the URL of a request; the service has places for URLs
        place = {"connect_to": given.pop("connect_to")} if isinstance(given.get("connect_to"), str) else {}
        self.settings = {name: given.pop(name) for name in _SETTINGS if name in given}
        given.update(place)
        self.layer = given
        cookies = self.settings.get("cookies")
        self.jar = cookies if hasattr(cookies, "add_cookie_header") else None
        if self.jar is not None and not given.get("base_url") and not all(one.domain for one in self.jar):
            raise ValueError("the jar has cookies without a domain, which need a host: give the session a base_url")
        unknown = next((name for name in given if name not in OPTIONS), None)
        if unknown is not None:
            known = sorted({*_SETTINGS, "interceptors", *OPTIONS})
            raise TypeError(f"a session has no setting {unknown}{instead(unknown) or meant(unknown, known)}")
        self.validators: list[dict[str, Any]] = []
        self.callbacks: dict[str, dict[str, Any]] = {}
        self._version = 0
        self._template: tuple[str, int, Built | None] | None = None

    def add(self, kind: str, function: Code, options: Mapping[str, Any]) -> Code:
        """Adds a function. Adapters, retriers and validators add up; of the other kinds the last function counts."""
        name = self.codes.add(function)
        self.functions[name] = function
        spec: dict[str, Any] = {"callback": name}
        if options.get("timeout") is not None:
            spec["timeout"] = options["timeout"]
        if kind in ("adapt", "retry"):
            spec["asks"] = [kind]
            if options.get("once"):
                spec["askPer"] = "request"
            self.interceptors.append(spec)
        elif kind == "validate":
            self.validators.append(spec)
        else:
            self.callbacks[kind] = spec
        # last, so that a template of another thread without the function is not used
        self._version += 1
        return function

    def forget(self) -> None:
        """The service calls no function of the session any more, until the session is made again."""
        for name in list(self.functions):
            self.codes.functions.pop(name, None)

    def has_functions(self) -> bool:
        """Whether the service may call functions for requests of the session."""
        return self._version > 0

    def params(self) -> dict[str, Any]:
        """The parameters of ``session.create`` and ``session.update``."""
        params: dict[str, Any] = {"url": ""}
        for name, value in self.settings.items():
            if name in SHARED:
                SHARED[name](params, value)
            else:
                params[camel(name)] = value
        del params["url"]
        if hasattr(params.get("credentials"), "items"):
            params["credentials"] = [{"url": url, **credential(one)} for url, one in params["credentials"].items()]
        if self.jar is not None:
            params["cookies"] = True
        if "trust" in self.callbacks:
            params["trust"] = self.callbacks["trust"]
        if self.interceptors:
            params["interceptors"] = self.interceptors
        return params

    def template(self, handle: str, defaults: Defaults) -> Built | None:
        """A GET request without options, from behind its URL; None if its parameters depend on more than the URL."""
        made, version = self._template, self._version
        if made is None or made[:2] != (handle, version):
            options = self.options({"session": handle}, defaults.options)
            # header fields of the client may change at any time
            built = template(options, {"url", "session", "timeout"}, "the options of the session")
            self._template = made = (handle, version, built)
        return made[2]

    def options(self, given: Mapping[str, Any], inherited: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a request on top of the session's, on top of the client's.

        Validators add up. A mapping for ``redirect`` or ``challenge`` keeps the function of the session, unless the
        mapping names another. The session's settings in the service are not repeated, unless the client has an option
        in that place, which the service would take for the request's own.
        """
        apart = ("encode", "destination", "trust")
        callbacks = {kind: spec for kind, spec in self.callbacks.items() if kind not in apart}
        encoder = self.callbacks.get("encode")
        if encoder is not None and given.get("parameters") is not None:
            callbacks["encoding"] = {"kind": "custom", **encoder}
        own = {**callbacks, **given}
        for kind in ("redirect", "challenge"):
            if kind in callbacks and hasattr(own[kind], "items"):
                own[kind] = {**callbacks[kind], **own[kind]}
        if self.validators:
            rules = given.get("validate", self.layer.get("validate", inherited.get("validate")))
            listed = list(rules) if isinstance(rules, (list, tuple)) else [rules] if rules else []
            own["validate"] = [*self.validators, *listed]
        layer = dict(self.layer)
        if "timeout" in self.settings:
            layer["timeout"] = self.settings["timeout"]
        if "headers" in self.settings:
            fields = self.settings["headers"]
            if "headers" in inherited or "auth" in inherited:
                layer["headers"] = fields
            if without := left_out(given.get("headers")) & {name.lower() for name, _ in header_list(fields)}:
                raise ValueError(
                    f"headers: {min(without)} is None, but the service sends the fields of a session with each request:"
                    " give another value, or the field to the client or the requests in place of the session"
                )
        under = {name: value for name, value in inherited.items() if name == "headers" or name not in self.settings}
        return laid(laid(under, layer), own)
