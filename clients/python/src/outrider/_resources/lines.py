# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Text that comes in pieces, as lines. Loaded when a body is read by lines."""

from __future__ import annotations


class LineSplitter:
    """Splits pieces of a text into lines, which end in LF, CR LF or CR."""

    def __init__(self, charset: str) -> None:
        from codecs import getincrementaldecoder

        try:
            self._decoder = getincrementaldecoder(charset)("replace")
        except LookupError:
            self._decoder = getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def lines(self, piece: bytes, end: bool = False) -> list[str]:
        """The lines that are complete with this piece; with ``end`` also the last one."""
        text = self._rest + self._decoder.decode(piece, end)
        # an LF that follows may belong to a CR at the end
        held = "" if end else "\r" if text.endswith("\r") else ""
        lines = text[: len(text) - len(held)].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + held
        if end and self._rest:
            lines.append(self._rest)
        return lines
