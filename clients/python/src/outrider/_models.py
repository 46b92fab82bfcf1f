# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pickles of earlier versions name header fields, events and copies of responses in this module."""

from ._protocol.models import Event as Event
from ._protocol.models import Headers as Headers
from ._resources.responses import _copied as _copied
