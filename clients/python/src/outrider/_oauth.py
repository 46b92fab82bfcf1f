# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Pickles of earlier versions name access tokens in this module."""

from ._resources.oauth import AccessToken as AccessToken
