# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The part of each resource that both clients share: parameters, results and state, without any call."""
