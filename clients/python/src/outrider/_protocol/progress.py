# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pickles of earlier versions name the progress of a transfer in this module."""

from .models import Progress as Progress
