# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The protocol without input and output: parameters, messages, exceptions and values."""
