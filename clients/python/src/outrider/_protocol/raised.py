# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Exceptions of functions of the program, on their way through the service to the request that raises them."""

from __future__ import annotations

_raised: dict[str, Exception] = {}


def keep_raised(request: str, problem: Exception) -> None:
    """Keeps the exception of a program's function until its request raises the exception."""
    _raised[request] = problem
    if len(_raised) > 64:
        _raised.pop(next(iter(_raised)), None)


def raised_for(request: str | None) -> Exception | None:
    """The exception of a program's function for the request; returned once."""
    return _raised.pop(request, None) if _raised and request is not None else None
