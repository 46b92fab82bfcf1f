# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Credentials of requests, in the form of the service. Loaded with the first ``auth``."""

from __future__ import annotations

from .arguments import text_of
from .frames import in_base64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
            'auth must be a tuple of user name and password, {"bearer": token}, or a credential of client.oauth'
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
