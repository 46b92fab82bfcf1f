# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the WebSocket suite: messages come as records of the side channel."""

from websocket_ways import Channel as Socket

__all__ = ["Socket"]
