# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The awaiting client, and the source of the blocking client: see ``clients/python/unasync.py``."""
