# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Connections to the service: discovery, and the transport of bytes."""
