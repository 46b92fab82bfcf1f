# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""TCP connections and the way out of this machine: parameters and results, without any call."""

from __future__ import annotations

from .._protocol.exceptions import RequestTimeout, from_failure
from .._protocol.parameters import timeout_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

def build_tcp(host: str | None, port: int | None, path: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of ``tcp.open``."""
    spec: dict[str, Any] = {"path": path} if path is not None else {"host": host, "port": port}
    for name, value in options.items():
        if name not in ("tls", "proxy", "session", "timeout", "addresses", "retry", "tag"):
            raise TypeError(f"a TCP connection has no option {name}")
        if value is not None:
            spec[name] = value
    if "timeout" in spec:
        spec["timeout"] = timeout_of(spec["timeout"])
    if "proxy" in spec:
        from .._protocol.proxies import proxy_parameter

        spec["proxy"] = proxy_parameter(spec["proxy"])
    return {**spec, "mode": "pull", "as": "bytes"}


def opened(result: dict[str, Any]) -> dict[str, Any]:
    """The result of ``tcp.open`` or ``tcp.startTls``; raises its failure."""
    if result.get("ok") is False or "error" in result:
        raise from_failure(result["error"], None)
    return result


def late(what: str, seconds: float) -> RequestTimeout:
    """What is raised when nothing came in time."""
    return RequestTimeout(f"{what}: nothing came within {seconds:g} seconds", code=1405, kind="sessionTaskFailed",
                          reason="timedOut", retryable=True)  # fmt: skip


class Reachability:
    """Whether a way leads there: ``status`` is ``reachable``, ``unreachable`` or ``unknown``; ``interface`` is the name
    of the interface at its begin, ``kind`` what that is (``ethernet``, ``wifi``, ``loopback``…)."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        interface = result.get("interface") or {}
        self.status: str = result["status"]
        self.interface: str | None = interface.get("name")
        self.kind: str | None = interface.get("kind")
        self.ipv4: bool = result.get("ipv4", False)
        self.ipv6: bool = result.get("ipv6", False)

    def __bool__(self) -> bool:
        return self.status != "unreachable"

    def __repr__(self) -> str:
        return f"<Reachability {self.status}>"
