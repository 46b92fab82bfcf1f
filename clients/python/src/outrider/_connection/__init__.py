# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Connections to the service: where it is, and how bytes get there and back."""
