# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the WebSocket suite: messages come as events within credit."""

from websocket_ways import Events as Socket

__all__ = ["Socket"]
