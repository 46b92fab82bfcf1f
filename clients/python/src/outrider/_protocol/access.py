# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Credentials, proxies, certificates and cookies of requests, in the words of the service. Loaded with the first of
them."""

from __future__ import annotations

from .arguments import absolute, member, text_of
from .frames import in_base64
from .hints import Any, Cookie, CookieJar, Mapping, Sequence


def basic(auth: object) -> str:
    """The value of an Authorization field for a user name and a password (RFC 7617, in UTF-8)."""
    if not isinstance(auth, tuple) or len(auth) != 2:
        raise TypeError("auth must be a tuple of user name and password")
    user, password = text_of(auth[0], "the user name in auth"), text_of(auth[1], "the password in auth")
    if ":" in user:
        raise ValueError("the user name in auth must not contain a colon (RFC 7617)")
    return "Basic " + in_base64(f"{user}:{password}".encode())


def credential(given: Any) -> dict[str, Any]:
    """A user name and a password, as a tuple or as a mapping, in the words of the service."""
    if hasattr(given, "items"):
        return dict(given)
    basic(given)
    return {"username": given[0], "password": given[1]}


def auth_parameter(value: Any) -> Any:
    """``auth`` in the form of the service; for a tuple the value of the field."""
    if not hasattr(value, "items"):
        if isinstance(value, tuple):
            return basic(value)
        raise TypeError(
            'auth must be a tuple of user name and password, {"bearer": token}, {"oauth": name},'
            " or a credential of client.oauth"
        )
    wrapped = {"basic", "digest"}
    return {name: credential(given) if name in wrapped else given for name, given in value.items()}


class Named:
    """A credential by its name; for ``auth=`` of a request."""

    def __init__(self, name: str) -> None:
        self.name = name

    def items(self) -> Any:
        """``auth`` in the form of the service."""
        return {"oauth": self.name}.items()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


def proxy_parameter(value: Any) -> Any:
    """``proxy`` in the form of the service; the environment is this program's, not the service's."""
    if value is True or value == "environment":
        from os import environ

        return environment(environ)
    if not hasattr(value, "items"):
        return value
    proxy = dict(value)
    if proxy.get("credential") is not None:
        proxy["credential"] = credential(proxy["credential"])
    return proxy


def environment(variables: Mapping[str, str]) -> dict[str, Any]:
    """The proxies of the environment, by the rules of curl: ``HTTP_PROXY`` does not count, as web servers put a field
    of a request there; of the others the lower case wins."""

    def variable(*names: str) -> str | None:
        return next(filter(None, map(variables.get, names)), None)

    everything = variable("all_proxy", "ALL_PROXY")
    proxy: dict[str, Any] = {}
    for name, own in (("http", variable("http_proxy")), ("https", variable("https_proxy", "HTTPS_PROXY"))):
        text = own or everything
        if text:
            # a redirect to that scheme fails, and is not followed around the proxy
            broken = f"http://{name if own else 'all'}-proxy-cannot-be-used.invalid"
            proxy[name] = text if _is_proxy(text) else broken
    items = (variable("no_proxy", "NO_PROXY") or "").replace(",", " ").split()
    if items:
        proxy["bypass"] = list(filter(_is_bypass, items))
    return proxy


def _is_proxy(text: str) -> bool:
    """Whether the service takes the text for a proxy, but for its host."""
    from re import IGNORECASE, fullmatch

    return fullmatch(r"((https?|socks5h?)://)?[^/?#\s]+/?", text, IGNORECASE) is not None


def _is_bypass(item: str) -> bool:
    """Whether the service takes an item of ``no_proxy``; others are left out, as curl leaves them out."""
    if item == "*" or _is_place(item):
        return True
    host, _, port = item.rpartition(":")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= 65535):
        return False
    return (":" not in host or host.startswith("[")) and _is_place(host)


def _is_place(text: str) -> bool:
    """A host, a domain, an address or a network."""
    from ipaddress import ip_address
    from re import ASCII, fullmatch

    address, slash, bits = text.partition("/")
    if address.startswith("[") and address.endswith("]"):
        address = address[1:-1]
    try:
        size = ip_address(address).max_prefixlen
    except ValueError:
        # a last label that starts like a number would be an address
        name = r"(\*?\.)?([\w-]{1,63}\.)*[a-z_-][\w-]{0,62}\.?"
        return not slash and len(text) <= 250 and fullmatch(name, text.lower(), ASCII) is not None
    return "%" not in address and (not slash or (bits.isascii() and bits.isdigit() and int(bits[:4]) <= size))


_warned: set[str] = set()


class UnverifiedWarning(Warning):
    """A program asked for ``verify=False``: the server may be any."""


def roots(path: Any) -> dict[str, str]:
    """The roots in a file, or in the files of a directory."""
    from os.path import isdir

    place = absolute(path, "verify")
    return {"directory" if isdir(place) else "file": place}


def identity(cert: Any) -> dict[str, str]:
    """``cert`` in the form of the service: a path, a tuple of certificate, key and passphrase, or a mapping."""
    if hasattr(cert, "items"):
        paths = ("certificate", "key", "pkcs12")
        return {name: absolute(value, f"cert[{name!r}]") if name in paths else value for name, value in cert.items()}
    given = cert if isinstance(cert, (tuple, list)) else (cert,)
    if not 1 <= len(given) <= 3:
        raise ValueError("cert must be a path, (certificate, key) or (certificate, key, passphrase)")
    found = {name: absolute(path, f"the {name} in cert") for name, path in zip(("certificate", "key"), given) if path}
    return found if len(given) < 3 or given[2] is None else {**found, "passphrase": given[2]}


def put_verify(spec: dict[str, Any], value: Any) -> None:
    """``verify``: ``True``, ``False``, the path of roots, or a policy."""
    if value is False:
        _warn(spec["url"])
    if isinstance(value, bool):
        spec["trust"] = "default" if value else "none"
    elif hasattr(value, "items"):
        spec["trust"] = dict(value)
    else:
        spec["trust"] = "default"
        spec["tls"] = {**spec.get("tls", {}), "roots": roots(value)}


def put_cert(spec: dict[str, Any], value: Any) -> None:
    """``cert``: the client certificate, for servers that request certificates."""
    spec["tls"] = {**spec.get("tls", {}), "identity": identity(value)}


def _warn(url: str) -> None:
    """Tells once for each host that nothing is verified."""
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0].rpartition("@")[2]
    if scheme.lower() == "http" or host in _warned:
        return
    _warned.add(host)
    import warnings

    where = f"of {host}" if host else "of any host"
    text = f"verify=False: the certificate {where} is not verified (name a file of roots: verify='ca.pem')"
    warnings.warn(text, UnverifiedWarning, stacklevel=8)


_OPTIONS = {"send", "accept", "extra", "site", "navigation"}


def cookies_parameter(value: Any, url: str) -> Any:
    """``cookies`` of a request: names and values to send beside the jar's, a jar of ``http.cookiejar``, or the form of
    the service."""
    if isinstance(value, bool):
        return value
    if hasattr(value, "add_cookie_header"):
        return {"extra": _of_jar(value, url) if url else []}
    if not hasattr(value, "items"):
        raise TypeError(f"cookies must be a mapping, a CookieJar or a boolean, not {type(value).__name__}")
    if set(value) <= _OPTIONS and value:
        return dict(value)
    # None leaves a name out, as of headers and params
    pairs = [(str(name), one) for name, one in value.items() if one is not None]
    return {"extra": [{"name": name, "value": _value(name, one)} for name, one in pairs]}


def _value(name: str, value: Any) -> str:
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"cookies[{name!r}] must be text or a number, not {type(value).__name__}")


def _of_jar(jar: CookieJar, url: str) -> list[dict[str, str]]:
    from urllib.request import Request

    request = Request(url)
    jar.add_cookie_header(request)
    found = [pair.strip().partition("=") for pair in (request.get_header("Cookie") or "").split(";")]
    return [{"name": name, "value": value} for name, _, value in found if name]


def specs_of(cookies: Any) -> list[dict[str, Any]]:
    """The cookies of a jar of ``http.cookiejar``, or mappings of the service, for ``cookies.set``."""
    return [dict(one) if hasattr(one, "items") else _spec(one) for one in cookies]


# the last second of the year 9999, after which no date has four digits; the service keeps 400 days at most
_LATEST = 253_402_300_799


def _spec(cookie: Cookie) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": cookie.name,
        "value": cookie.value or "",
        "domain": cookie.domain.lstrip("."),
        "hostOnly": not cookie.domain_specified or not cookie.domain.startswith("."),
        "path": cookie.path or "/",
        "secure": bool(cookie.secure),
    }
    if not found["domain"]:
        # requests makes such cookies for any host: they belong to the host of the call's URL
        del found["domain"], found["hostOnly"]
    elif found["domain"].endswith(".local") and "." not in found["domain"][: -len(".local")]:
        # http.cookiejar calls hosts without a dot so
        found["domain"] = found["domain"][: -len(".local")]
    if cookie.has_nonstandard_attr("HttpOnly"):
        found["httpOnly"] = True
    if cookie.expires is not None:
        from datetime import datetime, timezone

        moment = datetime.fromtimestamp(min(max(cookie.expires, 0), _LATEST), timezone.utc)
        found["expiresAt"] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return found


def jar_of(cookies: Sequence[Mapping[str, Any]]) -> CookieJar:
    """Cookies of the service as a jar of ``http.cookiejar``."""
    from http.cookiejar import Cookie, CookieJar

    jar = CookieJar()
    for one in cookies:
        domain, end = one["domain"], one.get("expiresAt")
        if not one["hostOnly"]:
            domain = "." + domain
        elif "." not in domain:
            domain += ".local"
        rest = {"HttpOnly": ""} if one["httpOnly"] else {}
        expires = None if end is None else _timestamp(end)
        jar.set_cookie(
            Cookie(
                0, one["name"], one["value"], None, False, domain, not one["hostOnly"], domain.startswith("."),
                one["path"], True, one["secure"], expires, end is None, None, None, rest,
            )
        )  # fmt: skip
    return jar


def _timestamp(text: str) -> int:
    from datetime import datetime

    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def _put_cookies(spec: dict[str, Any], value: Any) -> None:
    spec["cookies"] = cookies_parameter(value, spec["url"])


WRITERS = {
    "auth": member("auth", auth_parameter), "proxy": member("proxy", proxy_parameter), "verify": put_verify,
    "cert": put_cert, "cookies": _put_cookies,
}  # fmt: skip
"""The options of a request that are about these."""
