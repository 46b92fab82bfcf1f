# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Fills lists of the contract into pages that people write, so that no page counts differently.

A page holds `<!-- list: NAME -->` and `<!-- end of list -->`; the words between them are written by the assembler.
"""

import re

LIST = re.compile(r"<!-- list: ([a-z ]+) -->(.*?)<!-- end of list -->", re.DOTALL)
LISTS = {
    "body kinds": lambda sources: sources["types"]["Body"]["exactlyOne"],
    "response body kinds": lambda sources: sources["types"]["ResponseBody"]["properties"]["kind"]["enum"],
    "event kinds": lambda sources: sources["types"]["EventKind"]["enum"],
    "features": lambda sources: sorted(sources["info"]["features"]),
}


def sentence(words):
    """`a`, `b` and `c`."""
    marked = ["`%s`" % word for word in words]
    return " and ".join([", ".join(marked[:-1]), marked[-1]] if len(marked) > 1 else marked)


def pages(root, sources):
    """Every page with a list, by its path, as it must be."""
    found = {}
    for path in sorted((root / "docs").rglob("*.md")):
        text = path.read_text("utf-8")

        def fill(match, path=path):
            if match.group(1) not in LISTS:
                raise ValueError("%s: no list is called %s; schema/lists.py names them" % (path.name, match.group(1)))
            words = sentence(LISTS[match.group(1)](sources))
            return "<!-- list: %s -->%s<!-- end of list -->" % (match.group(1), words)

        if LIST.search(text):
            found[path.relative_to(root).as_posix()] = LIST.sub(fill, text)
    return found
