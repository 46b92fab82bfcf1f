# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Text that comes in pieces, as lines, and the field Link. Loaded when a body is read by lines."""

from __future__ import annotations

from io import IncrementalNewlineDecoder


def usable(charset: str) -> str:
    """The charset, or UTF-8 in place of a name that decodes no text, as for :attr:`Response.text`: a server may name
    anything."""
    from codecs import getincrementaldecoder

    try:
        b"x".decode(charset, "replace")
        getincrementaldecoder(charset)("replace")
    except (LookupError, ValueError):
        return "utf-8"
    return charset


class LineSplitter:
    """Splits pieces of a text into lines, which end in LF, CR LF or CR."""

    def __init__(self, charset: str) -> None:
        from codecs import getincrementaldecoder

        self._charset = usable(charset)
        self._decoder = getincrementaldecoder(self._charset)("replace")
        # gives LF for each end, and holds a CR back until the next piece, which may begin with an LF
        self._ends = IncrementalNewlineDecoder(None, translate=True)
        self._rest = ""
        self._at_start = True

    def lines(self, piece: bytes, end: bool = False) -> list[str]:
        """The lines that are complete with this piece; with ``end`` also the last line."""
        text = self._text(piece, end)
        if self._at_start and text:
            self._at_start, text = False, text.removeprefix("\ufeff")
        lines = (self._rest + self._ends.decode(text, end)).split("\n")
        self._rest = lines.pop()
        if end and self._rest:
            lines.append(self._rest)
        return lines

    def _text(self, piece: bytes, end: bool) -> str:
        try:
            return self._decoder.decode(piece, end)
        except ValueError:
            # UTF-16 or UTF-32 without a byte order mark, which has the order of this machine, as for bytes.decode
            from codecs import getincrementaldecoder, lookup
            from sys import byteorder

            name, held = lookup(self._charset).name, self._decoder.getstate()[0]
            native = f"{name}-{byteorder[0]}e" if name in ("utf-16", "utf-32") else "utf-8"
            self._decoder = getincrementaldecoder(native)("replace")
            return self._decoder.decode(held + piece, end)


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
