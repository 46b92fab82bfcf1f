# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the WebSocket suite: messages come as results of stream.read."""

from websocket_ways import Reads as Socket

__all__ = ["Socket"]
