# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""nginx on a free port of the loopback: with nginx(folder) as port. Serves the files of the folder."""

import contextlib
import shutil
import socket
import subprocess
import time

import pytest
from listeners import free_port

CONF = """
daemon off; master_process off; pid {folder}/pid; error_log stderr; user root;
events {{}}
http {{ access_log off; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port}; root {folder}; {more} }} }}
"""

needs_nginx = pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not here")


@contextlib.contextmanager
def nginx(folder, more=""):
    """Yields its port once it listens. `more` belongs to its server."""
    port = free_port()
    (folder / "conf").write_text(CONF.format(folder=folder, port=port, more=more))
    with subprocess.Popen(["nginx", "-c", str(folder / "conf")], stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                assert process.poll() is None, "nginx did not start"
            yield port
        finally:
            process.terminate()
