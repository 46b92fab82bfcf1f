# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Words that do not occur: what could crash the service, stray output, unfinished work, empty names."""

import fnmatch
import re

from . import swift
from .tree import Check, Tree

# what is looked for in Swift code (comments and strings aside), why not, and the files where it is right
FORBIDDEN = [
    (r"(?<![\w.])(?:print|debugPrint|dump)\(", "stdout belongs to the protocol", "Sources/outrider/*Command.swift"),
    (r"\btry!", "a crash here is an outage for all clients", ""),
    (r"\bas!", "a crash here is an outage for all clients", ""),
    (r"\bfatalError\b", "a crash here is an outage for all clients", ""),
    (r"\bnonisolated\(unsafe\)", "shared state is a Mutex", ""),
    (r"^\s*(?:\w+\s+)?import\s+Foundation\b", "Foundation is not linked", ""),
    (r"^\s*(?:package\s+|final\s+)*actor\s+[A-Z]", "shared state is a Mutex", ""),
    (r"\b(?:answer|question)(?:s|ed)?\b", "say response, reply, result or callback: docs/internals/words.md", ""),
    (r"^\s*(?:public|open)\s", "outrider sells a protocol, not a library: use `package`", ""),
]
UNCHECKED = re.compile(r"@unchecked\s+Sendable")
PROOF = re.compile(r"proof:", re.IGNORECASE)
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")

BANNED = {"Utils", "Util", "Utilities", "Helpers", "Helper", "Base", "Common", "Misc", "Internal", "New", "Manager"}
BANNED_FIRST = {"Common", "Misc", "Internal", "New"}
# a term of the field, as in git and docker: the process that alone sees secrets
TERMS = ("CredentialHelper",)
# a library demands the word of what conforms to its protocol
DEMANDED = re.compile(r":[^{]*\b(?:Channel(?:Inbound|Outbound|Duplex)?Handler|LogHandler)\b")

# where bytes from outside become numbers
PARSERS = (
    "Sources/OutriderRPC/Framing/*.swift",
    "Sources/OutriderJSON/JSONParser*.swift",
    "Sources/OutriderJSON/JSONScanner*.swift",
    "Sources/OutriderJSON/JSONTree*.swift",
    "Sources/OutriderHTTP/HTTP2/*.swift",
    "Sources/OutriderHTTP/Parameters/*.swift",
    "Sources/OutriderHTTP/Values/*.swift",
    "Sources/OutriderHTTP/Response/*.swift",
    "Sources/OutriderTransport/*.swift",
)
CONVERSION = re.compile(
    r"(?<![\w.])(U?Int(?:8|16|32|64)?)\((?!\s*(?:\w+:|\)|0?x?[\dA-F_]+\)|\"))([^()]*(?:\([^()]*\)[^()]*)*)\)"
)
# a single byte fits into everything wider, the length of what is in memory into the widest
BYTE = re.compile(r"(?i)byte|octet|digit|nibble|hex|ascii|character|\w\[[^\]]*\]$")
# reading a text gives nil where it does not fit, and traps never
TEXT = re.compile(r"(?i)text|label|string|radix:")
FAILABLE = re.compile(r"(?:\b(?:guard|if|while)\b|,)\s+(?:let|var)\s+\w+\s*=\s*$")
LENGTH = re.compile(r"(?i)^[\w.]*(?:count|utf8\.count|readableBytes|scalar\.value)$")
CONSTANTS = re.compile(r"^[A-Z0-9_| ]+$")
WIDEST = {"Int", "Int64", "UInt64"}
SAFE = re.compile(r"//.*\bsafe: \S")


def _words(tree: Tree) -> "list[str]":
    found = []
    for name in tree.matching("Sources/*.swift"):
        lines, stripped = tree.lines(name), swift.code(tree.text(name)).splitlines()
        for number, line in enumerate(stripped, 1):
            for pattern, why, allowed in FORBIDDEN:
                if re.search(pattern, line) and not (allowed and fnmatch.fnmatch(name, allowed)):
                    found.append(f"{name}:{number}: {lines[number - 1].strip()}  ({why})")
            if UNCHECKED.search(line) and not PROOF.search(swift.comment_above(lines, number - 1)):
                found.append(f"{name}:{number}: @unchecked Sendable needs a comment above it: `// proof: …`")
    for name in tree.matching("*.swift", "*.py", "*.sh", "Makefile", "scripts/*", "*.md", "schema/*.json"):
        if name.startswith(("scripts/checks/", "Tests/Checks/")):
            continue
        for number, line in enumerate(tree.lines(name), 1):
            if UNFINISHED.search(line):
                found.append(f"{name}:{number}: {line.strip()}  (unfinished)")
    return found


def _names(tree: Tree) -> "list[str]":
    found = []
    for name in tree.matching("Sources/*", "Tests/*", "clients/*", "schema/*", "scripts/*", "docs/*"):
        if " " in name:
            found.append(f"{name}: a space in a path")
        for part in name.split("/")[1:]:
            if _is_banned(part.split(".")[0]):
                found.append(f"{name}: {part} says nothing")
    for name in tree.matching("Sources/*.swift", "Tests/*.swift"):
        source = swift.code(tree.text(name))
        for match in re.finditer(r"\b(?:struct|enum|class|actor|protocol)\s+([A-Z]\w*)([^{\n]*)", source):
            number = source.count("\n", 0, match.start()) + 1
            if _is_banned(match.group(1)):
                found.append(f"{name}:{number}: the name {match.group(1)} says nothing")
            elif match.group(1).endswith("Handler") and not DEMANDED.search(match.group(2) + "{"):
                found.append(f"{name}:{number}: the name {match.group(1)} says nothing; no library demands it")
    return found


def _is_banned(name: str) -> bool:
    for term in TERMS:
        name = name.replace(term, "Term")
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|\d+", name)
    capitals = [word[:1].upper() + word[1:] for word in words]
    if not capitals:
        return False
    return capitals[-1] in BANNED or (len(capitals) > 1 and capitals[0] in BANNED_FIRST)


def _conversions(tree: Tree) -> "list[str]":
    found = []
    for name in tree.matching(*PARSERS):
        if "/Shapes/" in name:
            continue
        lines = tree.lines(name)
        for number, line in enumerate(swift.code(tree.text(name)).splitlines(), 1):
            for match in CONVERSION.finditer(line):
                can_fail = TEXT.search(match.group(2)) or FAILABLE.search(line[: match.start()])
                fits = can_fail or _widens(match.group(1), match.group(2))
                if not fits and not _is_said_safe(lines, number - 1):
                    found.append(f"{name}:{number}: {lines[number - 1].strip()}")
    return found


def _widens(kind: str, argument: str) -> bool:
    if kind in WIDEST and (LENGTH.match(argument) or CONSTANTS.match(argument)):
        return True
    return kind not in ("Int8", "UInt8") and BYTE.search(argument) is not None


def _is_said_safe(lines: "list[str]", index: int) -> bool:
    return bool(SAFE.search(lines[index]) or SAFE.search(swift.comment_above(lines, index)))


WORDS = Check(
    name="words",
    summary="nothing that crashes on a peer's mistake, prints to stdout, or says it is unfinished",
    mend="throw, return a value or use `exactly:`; write to the log; finish it",
    run=_words,
)
NAMES = Check(
    name="names",
    summary="no folder, file or type has a name that says nothing (Utils, Manager, …)",
    mend="name it after the one idea in it",
    run=_names,
)
CONVERSIONS = Check(
    name="conversions",
    summary="where bytes from outside are read, no number conversion can trap",
    mend="use Int(exactly:), (clamping:) or (truncatingIfNeeded:), or say in a comment why it fits: `// safe: reason`",
    run=_conversions,
)
