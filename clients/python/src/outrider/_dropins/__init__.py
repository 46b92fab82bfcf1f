# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What the drop-ins for requests and httpx share; see :mod:`outrider.requests` and :mod:`outrider.httpx`."""
