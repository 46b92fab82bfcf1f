# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""The Python client: which of its modules may import which, and that its blocking variant is what the other one says.

Every import statement counts: of a module, of a function, and for type checkers only.
"""

import ast
import sys

from .circles import circles
from .tree import CHECKOUT, Check, Tree, run

ROOT = "clients/python/src/outrider/"
# package -> packages that it may import; the modules beside the packages may import all of them
LOWER = {
    "_protocol": set(),
    "_connection": {"_protocol"},
    "_resources": {"_protocol"},
    "_async": {"_protocol", "_connection", "_resources"},
    "_sync": {"_protocol", "_connection", "_resources"},
    "_dropins": {"_protocol", "_connection", "_resources", "_async", "_sync"},
}


def _module(name: str) -> str:
    """`_sync/client.py` as `_sync.client`; the package itself as the empty text."""
    parts = name[len(ROOT) :].rpartition(".")[0].split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(node: "ast.ImportFrom", here: str, is_package: bool, known: "set[str]") -> "list[str]":
    """The modules of the client that one statement imports."""
    if node.level == 0:
        if (node.module or "").split(".")[0] != "outrider":
            return []
        base = (node.module or "").split(".")[1:]
    else:
        parts = here.split(".") if here else []
        parts = parts if is_package else parts[:-1]
        base = parts[: len(parts) - node.level + 1] + (node.module.split(".") if node.module else [])
    found = []
    for alias in node.names:
        submodule = ".".join([*base, alias.name])
        found.append(submodule if submodule in known else ".".join(base))
    return [name for name in found if name in known]


def imports(tree: Tree) -> "dict[str, dict[str, str]]":
    """For each module of the client the modules that it imports, each with the place of the statement."""
    names = tree.matching(ROOT + "*.py", ROOT + "*.pyi")
    known = {_module(name) for name in names}
    found: "dict[str, dict[str, str]]" = {}
    for name in names:
        here = _module(name)
        edges = found.setdefault(here, {})
        for node in ast.walk(ast.parse(tree.text(name))):
            if isinstance(node, ast.ImportFrom):
                for module in _imported(node, here, "/__init__." in name, known):
                    edges.setdefault(module, f"{name}:{node.lineno}")
    return found


def _client(tree: Tree) -> "list[str]":
    stands = imports(tree)
    found = []
    for way in circles(stands):
        found.append("circle: " + " → ".join([*way, way[0]]))
        found += [f"    {stands[here][there]}" for here, there in zip(way, [*way[1:], way[0]])]
    for here, edges in stands.items():
        room = here.split(".")[0]
        for there, place in edges.items():
            other = there.split(".")[0]
            if room in LOWER and other != room and other not in LOWER[room]:
                found.append(f"{place}: {room} must not import {there or 'outrider'}")
    for name in tree.matching(ROOT + "*.py"):
        # the package loads public names when they are used; each has an import statement in its stub
        if name == ROOT + "__init__.py":
            continue
        for node in ast.walk(ast.parse(tree.text(name))):
            if isinstance(node, ast.Name) and node.id == "__import__":
                found.append(f"{name}:{node.lineno}: __import__ hides an import; use an import statement")
    return found


def _unasync(tree: Tree) -> "list[str]":
    script = str(CHECKOUT / "clients/python/unasync.py")
    status, said = run(tree, sys.executable, "-B", script, "--check", f"--package={tree.root / ROOT}")
    return (said or ["it failed and said nothing"]) if status != 0 else []


CLIENT = Check(
    name="client",
    summary="modules of the Python client import lower packages only, and never in a circle",
    mend="move the code that both modules need into the lower package; take a class of `calls` for a type",
    run=_client,
)
UNASYNC = Check(
    name="unasync",
    summary="the blocking variant and the stub of the Python client are what their sources say",
    mend="change the source, then run clients/python/unasync.py",
    run=_unasync,
)
