# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Whether a reader polls its socket for a moment before it sleeps.

Sleeping and waking up cost more than a small call, on both sides. The event loop of the service polls while calls
follow each other closely, and sleeps where other processes need the processor; readers here follow the same rule.
"""

from __future__ import annotations

import os

PATIENCE = 500e-6
"""The longest poll, in seconds. A close message ends a poll in time."""

CLOSE = PATIENCE
"""The longest sleep that counts as close, in seconds. It includes the wake-ups of both sides, which polls save."""

SHORT = 200e-6
"""The longest poll that saves much, in seconds."""

TOLERANCE = 16
"""Long polls before polling ends; a short poll makes up for one."""

FEWEST = 8
"""Close messages before the first poll."""

MOST = 4096
"""Upper limit of close messages before a poll."""

PRICE = 4
"""The price of a vain poll, in successful polls: at most every fifth poll is in vain."""


class BusyPolling:
    """Counts close messages and successful polls.

    ``credit`` above zero allows a poll. A late message takes back ``FEWEST`` close ones, a vain poll ``PRICE``
    successful ones. Each time that the credit is used up, twice as many close messages are needed before the next poll;
    a success with full credit halves that number again.

    The first polls may take long: the service still sleeps, and begins to poll when the gaps become shorter. If most
    polls stay long, they save little, and end.
    """

    __slots__ = ("credit", "tolerance", "wanted")

    def __init__(self, processors: int | None = None) -> None:
        self.wanted = FEWEST
        self.tolerance = TOLERANCE
        # a poll on the only processor would delay the service, so the credit stays out of reach
        self.credit = -FEWEST if (processors or os.cpu_count() or 1) > 1 else -(1 << 62)

    def slept(self, seconds: float) -> None:
        """A message came after a sleep."""
        if seconds <= CLOSE:
            self.credit += 1
            self.tolerance = TOLERANCE
        elif self.credit > -self.wanted:
            self.credit = max(-self.wanted, self.credit - FEWEST)

    def came(self, seconds: float = 0.0) -> None:
        """A message came during a poll, after so many seconds."""
        if seconds > SHORT:
            self.tolerance -= 1
            if self.tolerance <= 0:
                self._end()
            return
        if self.tolerance < TOLERANCE:
            self.tolerance += 1
        if self.credit < FEWEST:
            self.credit += 1
        elif self.wanted > FEWEST:
            self.wanted >>= 1
            self.credit = 1

    def missed(self) -> None:
        """A poll ended without a message."""
        self.credit -= PRICE
        if self.credit <= 0:
            self._end()

    def _end(self) -> None:
        self.wanted = min(2 * self.wanted, MOST)
        self.credit = -self.wanted
