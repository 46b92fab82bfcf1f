# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pickles of earlier versions name their exceptions in this module."""

from ._protocol.exceptions import *  # noqa: F403
