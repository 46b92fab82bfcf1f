# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""A plugin of pytest: every session of requests goes through the service."""

import requests
from outrider.requests import Adapter

_init = requests.Session.__init__


def _mounted(self):
    _init(self)
    for prefix in ("http://", "https://"):
        self.mount(prefix, Adapter())


requests.Session.__init__ = _mounted
