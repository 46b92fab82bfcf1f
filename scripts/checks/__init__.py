# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The checks, in the order in which they are run: the quick ones first."""

from .circles import CIRCLES
from .client import CLIENT, UNASYNC
from .docs import DOCS, LINKS, SCHEMA
from .methods import METHODS
from .prose import PROSE
from .rows import ROWS
from .shape import HEADERS, SIZES, TRACKED
from .tools import FORMAT, LINKAGE, LINT, TYPES
from .tree import Check
from .waits import WAITS
from .walls import IMPORTS, MANIFEST
from .words import CONVERSIONS, NAMES, WORDS

ALL: "list[Check]" = [
    TRACKED,
    HEADERS,
    SIZES,
    NAMES,
    WORDS,
    CONVERSIONS,
    WAITS,
    MANIFEST,
    IMPORTS,
    CIRCLES,
    CLIENT,
    UNASYNC,
    PROSE,
    LINKS,
    SCHEMA,
    DOCS,
    METHODS,
    ROWS,
    LINKAGE,
    LINT,
    TYPES,
    FORMAT,
]
