# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Adapter of the JSON-RPC suite: the service on a Unix socket."""

import atexit
import os
import shutil
import tempfile

import wire
from adapt_jsonrpc_stdio import FEATURES, HANDSHAKE, ROLES

__all__ = ["COMMANDS", "FEATURES", "HANDSHAKE", "ROLES"]

_folder = tempfile.mkdtemp(prefix="outrider-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
_path = os.path.join(_folder, "s")
_serve = {"argv": [wire.BINARY, "serve", "--socket", _path], "unix": _path}
COMMANDS = {"newline": _serve, "content-length": _serve}
