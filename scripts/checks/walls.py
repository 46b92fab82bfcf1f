# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The walls between targets: what each may import. docs/internals/architecture.md draws them."""

import re

from . import swift
from .tree import Check, Tree

SYSTEM = {"Glibc", "Musl", "Synchronization"}

# target: what it may import besides SYSTEM, lowest floor first
MAY_IMPORT = {
    # the contract, embedded
    "CContract": set(),
    "OutriderFiles": set(),
    "OutriderJSON": {"CJansson"},
    "OutriderYAML": {"CYaml", "OutriderJSON"},
    "OutriderRPC": {"OutriderJSON"},
    "OutriderHTTP": {"Crypto", "CryptoExtras", "OutriderJSON"},
    "OutriderTransport": {
        "CBrotli",
        "CLinux",
        "CZlib",
        "CZstd",
        "OutriderFiles",
        "OutriderHTTP",
        # the dates of swift-certificates
        "FoundationEssentials",
        "NIOCore",
        "NIOPosix",
        "NIOSSL",
        "NIOTLS",
        "SwiftASN1",
        "X509",
    },
    "OutriderServer": {"OutriderFiles", "OutriderJSON", "OutriderRPC", "Logging", "NIOCore", "NIOPosix"},
    "OutriderEngine": {
        "CLinux",
        "CSQLite",
        "Crypto",
        "OutriderFiles",
        "OutriderHTTP",
        "OutriderTransport",
        "Logging",
        "NIOCore",
    },
    "OutriderMethods": {"CContract", "OutriderEngine", "OutriderHTTP", "OutriderJSON", "OutriderRPC", "OutriderYAML"},
    "outrider": {
        "ArgumentParser",
        "Logging",
        "NIOCore",
        "NIOPosix",
        "OutriderEngine",
        "OutriderFiles",
        "OutriderHTTP",
        "OutriderJSON",
        "OutriderMethods",
        "OutriderRPC",
        "OutriderServer",
        "OutriderTransport",
        "OutriderYAML",
    },
}


def _imports(tree: Tree) -> "list[str]":
    found = []
    for name in tree.matching("Sources/*.swift"):
        target = name.split("/")[1]
        if target not in MAY_IMPORT:
            found.append(f"{name}: the target {target} has no row in the table of walls")
            continue
        for line, module in swift.imports(swift.code(tree.text(name))):
            if module not in MAY_IMPORT[target] | SYSTEM:
                found.append(f"{name}:{line}: {target} must not import {module}")
    return found


_TARGET = re.compile(r"\.(?:executableTarget|target)\(\s*name:\s*\"(\w+)\"(.*?)\n        \)", re.DOTALL)
_DEPENDENCY = re.compile(r"^\s+(?:\.product\(name: )?\"(\w+)\"", re.MULTILINE)


def _manifest(tree: Tree) -> "list[str]":
    if "Package.swift" not in tree.files:
        return ["Package.swift is not here"]
    found = []
    for target, body in _TARGET.findall(tree.text("Package.swift")):
        may = MAY_IMPORT.get(target)
        if may is None:
            found.append(f"Package.swift: the target {target} has no row in the table of walls")
            continue
        listed = _DEPENDENCY.findall(body)
        for module in listed:
            if module not in may:
                found.append(f"Package.swift: {target} must not depend on {module}")
        own = [module for module in listed if f'name: "{module}"' not in body]
        products = [module for module in listed if module not in own]
        if own != sorted(own) or products != sorted(products):
            found.append(f"Package.swift: the dependencies of {target} are not in alphabetical order")
    return found


IMPORTS = Check(
    name="imports",
    summary="no file imports what its target must not know",
    mend="move the code to the target that may know both (docs/internals/architecture.md), or the wall: walls.py",
    run=_imports,
)
MANIFEST = Check(
    name="manifest",
    summary="no target lists a dependency that its row in the table of walls does not have",
    mend="take it out of Package.swift, or move the wall in walls.py and docs/internals/architecture.md",
    run=_manifest,
)
