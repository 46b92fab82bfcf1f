# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The blocking client. Most files here are generated from ``_async``; their first line says so."""
