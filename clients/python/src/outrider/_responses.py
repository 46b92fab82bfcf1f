# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pickles of earlier versions name their responses in this module."""

from ._async.responses import AsyncResponse as AsyncResponse
from ._sync.responses import Response as Response
