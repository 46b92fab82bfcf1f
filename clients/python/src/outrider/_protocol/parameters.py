# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pure: the keywords of Python become the parameters of the protocol.

Both clients use these builders, so a request means the same in both. Nothing here is sent.
"""

from __future__ import annotations

from .arguments import (
    absolute_url, as_object, header_list, laid, meant, member, named, phases, present, replaced, text_of, timeout_of,
)  # fmt: skip
from .frames import encode, quote
from .hints import Any, Callable, Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from .options import Item, Timeout

    Writer = Callable[[dict[str, Any], Any], None]

    class SessionPlan(Protocol):
        """The part of a session that belongs to each of its requests."""

        callbacks: dict[str, dict[str, Any]]

        def template(self, handle: str, defaults: Defaults) -> Built | None: ...

        def options(self, given: Mapping[str, Any], inherited: Mapping[str, Any]) -> dict[str, Any]: ...


GRACE = 2.0
"""Seconds that the service gets, after a request's own timeout, to name the late phase."""

UNTIMED_GUARD = 600.0
"""Seconds after which a call without any timeout is given up: the service ends such a call much earlier."""

FOREVER = 1e6
"""Seconds in place of an infinite timeout."""

EXACT = '"serialize":{"as":"base64"}'
"""The default ``serialize``: the unchanged bytes of the body. Text and JSON are then made of them here."""

CONTENT = "$content"
"""The id of the handler that has the body's bytes, where ``serialize`` asks for another form."""

BYTES = {"id": CONTENT, "serialize": {"as": "base64", "ignoreError": True}}


def _put_params(spec: dict[str, Any], value: Any) -> None:
    if isinstance(value, str):
        if value:
            url, mark, fragment = spec["url"].partition("#")
            spec["url"] = url + ("&" if "?" in url else "?") + value.lstrip("?") + mark + fragment
        return
    query = named(value, "params")
    if query:
        spec["query"] = query


def _put_http2(spec: dict[str, Any], value: Any) -> None:
    versions = {True: "auto", False: "1.1", "prior": "2"}
    if value not in versions:
        raise ValueError(f"http2 must be True, False or 'prior', not {value!r}")
    spec["httpVersion"] = versions[value]


def _put_timeout(spec: dict[str, Any], value: Any) -> None:
    timeout = timeout_of(value)
    if timeout is not None and timeout != float("inf"):
        spec["timeout"] = timeout


def _put_events(spec: dict[str, Any], value: Any) -> None:
    if not (isinstance(value, bool) or hasattr(value, "__iter__")):
        raise TypeError(f"events must be a boolean or kinds of events, not {type(value).__name__}")
    spec["events"] = value if isinstance(value, (bool, str)) else list(value)


def _refuse_progress(spec: dict[str, Any], value: Any) -> None:
    if value:
        raise TypeError("progress goes with one request that is waited for; elsewhere ask for events")


def _later(name: str, is_body: bool) -> Writer:
    def put(spec: dict[str, Any], value: Any) -> None:
        if is_body:
            from .forms import WRITERS

            # the next ones need no look at the loaded modules
            _WRITERS.update(WRITERS)
        else:
            # not so here: a warning counts the calls to the program
            from .access import WRITERS
        WRITERS[name](spec, value)

    return put


def _following(value: Any) -> str:
    return "follow" if value else "none"


def camel(name: str) -> str:
    """``token_url`` in the protocol's form: ``tokenUrl``."""
    if "_" not in name:
        return name
    first, *rest = name.split("_")
    return first + "".join([word[:1].upper() + word[1:] for word in rest])


_PLAIN = (
    "compress", "expect_continue", "encoding", "connect_to", "cache", "validate", "handlers", "max_body",
    "expected_size", "body_to", "max_inline", "redirect", "session", "interceptors", "disposition", "challenge",
    "priority", "start_immediately", "metrics", "tag", "detach", "name", "addresses", "allow_get_body",
    "default_headers", "decode", "content_type", "check",
)  # fmt: skip
_WRITERS: dict[str, Writer] = {
    "params": _put_params,
    "headers": member("headers", header_list),
    **{name: _later(name, True) for name in ("json", "data", "file", "files", "parameters")},
    "timeout": _put_timeout,
    **{name: _later(name, False) for name in ("auth", "proxy", "verify", "cert", "cookies")},
    "http2": _put_http2,
    "serialize": member("serialize", lambda value: {"as": value} if isinstance(value, str) else dict(value)),
    "events": _put_events,
    "progress": _refuse_progress,
    "allow_redirects": member("redirect", _following),
    "follow_redirects": member("redirect", _following),
    "retry": member("retry", lambda value: {"limit": value} if type(value) is int else value),
    **{name: member(camel(name)) for name in _PLAIN},
}

SHARED: dict[str, Writer] = {
    name: _WRITERS[name]
    for name in ("timeout", "proxy", "addresses", "redirect", "challenge", "verify", "cert", "http2", "connect_to",
                 "cache", "start_immediately")
}  # fmt: skip
"""Options that the service keeps for a whole session."""

OPTIONS: tuple[str, ...] = ("base_url", *_WRITERS)
"""The names of all options of a request."""


def instead(name: str) -> str:
    """A hint for an option of requests or httpx."""
    from .habits import OPTIONS as HABITS

    return f"; {HABITS[name]}" if name in HABITS else ""


def _unknown(name: str) -> TypeError:
    hint = instead(name) or meant(name, OPTIONS, f"; there are {', '.join(OPTIONS)}")
    return TypeError(f"a request has no option {name}{hint}")


class Built:
    """A request, ready to be sent: its parameters as JSON text, how long to wait, whether a failure raises, and where
    its body is wanted."""

    __slots__ = ("body_to", "check", "guard", "params")

    def __init__(self, params: str, guard: float, check: bool, body_to: str | None = None) -> None:
        self.body_to = body_to
        self.params = params
        self.guard = guard
        self.check = check


# how something was opened, and the result
Opened = tuple[Built, dict[str, Any]]


class Defaults:
    """The defaults of every request of a client; ``template`` is a request without options."""

    __slots__ = ("check", "options", "sessions", "template")

    def __init__(self, **options: Any) -> None:
        self.sessions: dict[str, SessionPlan] = {}
        self.options = present(**options)
        members = {"url", "headers", "auth", "timeout", "proxy", "trust", "tls", "httpVersion"}
        self.template = template(self.options, members, "the options of the client")
        self.check = bool(self.options.get("check", True))


def template(options: Mapping[str, Any], members: set[str], what: str) -> Built | None:
    """A GET request with these options, from behind its URL: most requests are built by joining such strings. ``None``
    if the parameters depend on more than the URL, or have other ``members``."""
    spec, guard, check = spec_for("GET", "", options)
    if spec["url"] or not spec.keys() <= members:
        return None
    return Built(encode(spec, what)[len('{"url":""') : -1] + "," + EXACT + "}", guard, check)


def guard_for(timeout: Timeout | None) -> float:
    """How many seconds to wait for the reply to a call with this timeout."""
    given = timeout_of(timeout)
    if isinstance(given, (int, float)):
        return min(given + GRACE, FOREVER)
    total = None if given is None else given.get("total")
    return UNTIMED_GUARD if total is None else float(total) + GRACE


def _handle_of(session: Any) -> str:
    """The handle of a Session, which can be given directly."""
    handle = getattr(session, "handle", None)
    if isinstance(handle, str):
        return handle
    raise TypeError(
        f"session must be a Session, its handle or a name, not {type(session).__name__}"
        " (of an AsyncSession: await session.handle(), or call the session's own methods)"
    )


def merged(options: Mapping[str, Any], defaults: Defaults) -> dict[str, Any]:
    """The options of a request with the options of its session, if this client made the session, and of its client."""
    own = present(**options)
    session = own.get("session", "")
    if not isinstance(session, str):
        own["session"] = _handle_of(session)
    plan = defaults.sessions.get(own.get("session", ""))
    return laid(defaults.options, own) if plan is None else plan.options(own, defaults.options)


def merged_but(names: tuple[str, ...], what: str, options: Mapping[str, Any], defaults: Defaults) -> dict[str, Any]:
    """As :func:`merged`, for ``what`` that has no such options: those of the client are for its requests."""
    for name in names:
        if options.get(name) is not None:
            raise TypeError(f"{what} has no option {name}")
    return {name: value for name, value in merged(options, defaults).items() if name not in names}


def build(method: str, url: str, options: Mapping[str, Any], defaults: Defaults) -> Built:
    """The parameters of ``data.send`` or ``data.start`` for a request."""
    known: Built | None = None
    # other text is checked for lone surrogates with the rest
    if text_of(url, "url").isascii() and method == "GET":
        if not options:
            known = defaults.template
        elif len(options) == 1 and type(options.get("session")) is str:
            plan = defaults.sessions.get(options["session"])
            known = None if plan is None else plan.template(options["session"], defaults)
    if known is not None:
        return Built(f'{{"url":{quote(url)}{known.params}', known.guard, known.check)
    return build_merged(method, url, merged(options, defaults))


def build_merged(method: str, url: str, options: Mapping[str, Any]) -> Built:
    """As :func:`build`, with options that already include the session's and the client's."""
    spec, guard, check = spec_for(method, url, options)
    ending = "," + EXACT + "}"
    if "serialize" in spec:
        ending = "}"
        if spec.get("bodyTo") is None and spec["serialize"].get("as") not in ("base64", "none"):
            spec["handlers"] = [*spec.get("handlers", ()), BYTES]
    return Built(encode(spec, "the request")[:-1] + ending, guard, check, spec.get("bodyTo"))


def spec_for(method: str, url: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], float, bool]:
    """The parameters of a request, how long to wait for its result, and whether a failure raises."""
    options = dict(options)
    spec: dict[str, Any] = {"url": absolute_url(options.pop("base_url", None), text_of(url, "url"))}
    if method != "GET" and text_of(method, "method").upper() != "GET":
        spec["method"] = method.upper()
    if options.get("files") is not None:
        from .forms import with_form

        options = with_form(options)
    for name, value in options.items():
        writer = _WRITERS.get(name)
        if writer is None:
            raise _unknown(name)
        if value is not None:
            writer(spec, value)
    _finish_headers(spec)
    _finish_body(spec)
    guard = guard_for(options.get("timeout"))
    if spec.get("bodyTo") == "stream":
        spec["timeout"] = phases(spec.get("timeout"))
    if spec.get("retry") or spec.get("startImmediately") is False:
        # each attempt has the whole timeout, and the service its own limits
        guard = FOREVER
    return spec, guard, bool(spec.pop("check", True))


def _finish_headers(spec: dict[str, Any]) -> None:
    fields: list[tuple[str, str]] = spec.pop("headers", [])
    if isinstance(spec.get("auth"), str):
        fields = replaced(fields, [("Authorization", spec.pop("auth"))])
    if fields:
        spec["headers"] = as_object(fields)


def _finish_body(spec: dict[str, Any]) -> None:
    content_type = spec.pop("contentType", None)
    if content_type is None:
        return
    if "body" not in spec:
        raise TypeError("content_type needs one of json, data, file and files")
    spec["body"]["contentType"] = text_of(content_type, "content_type")


def build_item(item: Item, options: Mapping[str, Any], defaults: Defaults) -> Built:
    """An entry of ``many``: a URL, a pair of method and URL, or a mapping with ``url`` and options."""
    if isinstance(item, str):
        return build("GET", item, options, defaults)
    if isinstance(item, tuple) and len(item) == 2:
        return build(item[0], item[1], options, defaults)
    if hasattr(item, "items"):
        own = {**options, **item}
        if "url" not in own:
            raise TypeError("a request given as a mapping needs url")
        url = own.pop("url")
        return build(own.pop("method", "GET"), url, own, defaults)
    raise TypeError(f"a request must be a URL, (method, URL) or a mapping, not {type(item).__name__}")


def own_timeout(params: Mapping[str, Any]) -> Timeout | None:
    """The time limit among a method's own parameters, so that this client waits a little longer than that."""
    timeout = params.get("timeout")
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        return None
    return timeout
