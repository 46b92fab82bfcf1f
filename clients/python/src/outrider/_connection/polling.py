# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Whether a reader polls its socket for a moment before it sleeps.

Sleeping and waking up cost more than a small call, on both sides. The event loop of the service polls while calls
follow each other closely, and sleeps where other processes need the processor; readers here follow the same rule.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

PATIENCE: Final = 200e-6
"""The longest poll, in seconds."""

CLOSE: Final = 400e-6
"""The longest sleep that counts as close, in seconds. It includes the wake-ups of both sides, which polls save."""

FEWEST: Final = 8
"""Close messages before the first poll."""

MOST: Final = 2048
"""Upper limit of close messages before a poll."""

PRICE: Final = 4
"""The price of a vain poll, in successful polls: at most every fifth poll is in vain."""


class BusyPolling:
    """Counts close messages and successful polls.

    ``credit`` above zero allows a poll. A late message takes back ``FEWEST`` close ones, a vain poll ``PRICE``
    successful ones. Each time that the credit is used up, twice as many close messages are needed before the next poll;
    a success with full credit halves that number again.
    """

    __slots__ = ("credit", "wanted")

    def __init__(self, processors: int | None = None) -> None:
        self.wanted = FEWEST
        # a poll on the only processor would delay the service, so the credit stays out of reach
        self.credit = -FEWEST if (processors or os.cpu_count() or 1) > 1 else -(1 << 62)

    def slept(self, seconds: float) -> None:
        """A message came after a sleep."""
        if seconds <= CLOSE:
            self.credit += 1
        elif self.credit > -self.wanted:
            self.credit = max(-self.wanted, self.credit - FEWEST)

    def came(self) -> None:
        """A message came during a poll."""
        if self.credit < FEWEST:
            self.credit += 1
        elif self.wanted > FEWEST:
            self.wanted >>= 1
            self.credit = 1

    def missed(self) -> None:
        """A poll ended without a message."""
        self.credit -= PRICE
        if self.credit <= 0:
            self.wanted = min(2 * self.wanted, MOST)
            self.credit = -self.wanted
