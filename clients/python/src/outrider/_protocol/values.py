# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Values of parameters that JSON has no form for. Loaded when the first request has parameters."""

from __future__ import annotations

from .frames import in_base64

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def tagged(value: Any) -> Any:
    """A value for ``parameters``: values without a form in JSON become tagged values."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return {"$decimal": str(int(value))}
    if isinstance(value, (str, int, float)):
        return value
    if hasattr(value, "items"):
        return {str(key): tagged(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [tagged(item) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$data": in_base64(value)}
    if hasattr(value, "timestamp"):
        return {"$date": value.timestamp()}
    if hasattr(value, "as_tuple"):
        return {"$decimal": str(value)}
    return value
