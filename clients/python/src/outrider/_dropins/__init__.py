# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The common parts of the drop-ins for requests and httpx; see :mod:`outrider.requests` and :mod:`outrider.httpx`."""
