# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Text that comes in pieces, as lines, and the field Link. Loaded when a body is read by lines."""

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
        """The lines that are complete with this piece; with ``end`` also the last line."""
        text = self._rest + self._decoder.decode(piece, end)
        # an LF that follows may belong to a CR at the end
        held = "" if end else "\r" if text.endswith("\r") else ""
        lines = text[: len(text) - len(held)].replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + held
        if end and self._rest:
            lines.append(self._rest)
        return lines


def links(field: str) -> dict[str, dict[str, str]]:
    """The links of a field (RFC 8288 section 3), by the value of ``rel``, or by the URL if there is none."""
    from re import findall

    found: dict[str, dict[str, str]] = {}
    for url, rest in findall(r'<([^>]*)>((?:[^,"<]|"(?:[^"\\]|\\.)*")*)', field):
        link = {"url": url}
        for name, quoted, token in findall(r';\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;]*))', rest):
            link.setdefault(name.lower(), quoted or token)
        found.setdefault(link.get("rel", url), link)
    return found
