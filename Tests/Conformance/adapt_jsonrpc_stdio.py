# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the JSON-RPC suite: the service on standard input and output."""

import wire

COMMANDS = {
    "newline": [wire.BINARY, "serve", "--stdio"],
    "content-length": [wire.BINARY, "serve", "--stdio"],
}
ROLES = {
    # one object in an array is what libraries send that know only positions
    "positional": ("diagnostics.echo", [{"a": 1}], {"a": 1}),
    "named": ("diagnostics.echo", {"a": 1, "b": "x"}, {"a": 1, "b": "x"}),
    "bare": ("diagnostics.echo", {}),
    "note": ("diagnostics.echo", {"a": 1}),
    "liveness": ("diagnostics.echo", {"alive": True}),
    "badparams": ("diagnostics.sleep", {"seconds": "soon"}),
}
FEATURES = {"batch": True}
HANDSHAKE = []
