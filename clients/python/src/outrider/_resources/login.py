# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Logging in to credentials of OAuth 2."""

from __future__ import annotations

from .._protocol.exceptions import OutriderError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


LOGIN = 1900.0
"""Seconds after which waiting for a login is given up, unless said otherwise: codes of devices last half an hour."""


class LoginFailed(OutriderError):
    """A login that failed: ``reason`` is a word, such as ``access_denied``, ``state_mismatch`` or ``expired_token``;
    the text is a sentence for people."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error["message"], kind=error["kind"], reason=error["reason"])


class Login:
    """A login that has begun: open ``url`` in a browser, then wait for the end.

    With ``open=True``, ``opened`` says whether the service opened a browser, and ``open_error`` why not."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.url: str = result["url"]
        self.redirect: str = result["redirect"]
        self.state: str = result["state"]
        self.expires_in: float = result["expiresIn"]
        self.opened: bool | None = result.get("opened")
        error = result.get("openError")
        self.open_error: str | None = None if error is None else error["message"]

    def __repr__(self) -> str:
        return f"<Login {self.redirect}>"


class DeviceLogin:
    """A login on another device: show ``user_code`` and ``verification_uri``, then wait for the end."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.user_code: str = result["userCode"]
        self.verification_uri: str = result["verificationUri"]
        self.verification_uri_complete: str | None = result.get("verificationUriComplete")
        self.expires_in: float = result["expiresIn"]

    def __repr__(self) -> str:
        return f"<DeviceLogin {self.user_code} at {self.verification_uri}>"
