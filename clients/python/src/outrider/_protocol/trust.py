# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Which certificates are believed and shown, in the words of the service. Loaded when a program says so."""

from __future__ import annotations

from .files import absolute

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
