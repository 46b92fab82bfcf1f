# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""What other programs judge: format, Python lint and types, what the binary is linked with."""

import re

from .tree import CHECKOUT, Check, Skipped, Tree, run

NOT_LINKED = re.compile(r"lib_?Foundation(?:\.so|ICU|Internationalization|Networking|XML)|libcurl")
# how names of that module begin, in a binary that it is linked into
FOUNDATION_SYMBOL = b"$s10Foundation"
RUFF = ["check", "--isolated", "--no-cache", "--line-length=120", "--target-version=py39", "--select=E,F,W,I,B"]


def _tool(name: str) -> str:
    """A tool of the tests' own Python; this checkout's, whatever tree is looked at."""
    path = CHECKOUT / ".build/venv/bin" / name
    if not path.exists():
        raise Skipped(f"{name} is not here; scripts/setup --test brings it")
    return str(path)


def _format(tree: Tree) -> "list[str]":
    files = tree.matching("*.swift")
    if not files:
        return []
    status, said = run(tree, "swift", "format", "lint", "--strict", "--parallel", *files)
    return (said or ["it failed and said nothing"]) if status != 0 else []


def _lint(tree: Tree) -> "list[str]":
    candidates = tree.matching("*.py", "scripts/*")
    files = [name for name in candidates if _is_python(tree, name) and not tree.is_generated(name)]
    # the client is a package with rules of its own, in its pyproject.toml
    client = [name for name in files if name.startswith("clients/python/")]
    others = [name for name in files if name not in client]
    found = []
    for options, part in ((RUFF, others), (["check", "--no-cache"], client)):
        status, said = run(tree, _tool("ruff"), *options, "--output-format=concise", *part) if part else (0, [])
        found += said if status != 0 else []
    return found


def _is_python(tree: Tree, name: str) -> bool:
    return name.endswith(".py") or (tree.lines(name) or [""])[0] == "#!/usr/bin/env python3"


def _types(tree: Tree) -> "list[str]":
    if not tree.matching("clients/python/src/*.py"):
        return ["clients/python/src is not here"]
    strict = ["--strict", "--no-error-summary", "--cache-dir=/dev/null", "--python-version=3.9"]
    if tree.matching("clients/python/pyproject.toml"):
        strict.append("--config-file=clients/python/pyproject.toml")
    status, said = run(tree, _tool("mypy"), *strict, "clients/python/src")
    return (said or ["it failed and said nothing"]) if status != 0 else []


def _loading(name: str, dynamic: "list[str]") -> "list[str]":
    """Faults of how the release is loaded: docs/internals/security.md, "The process"."""
    found = [f"{name} looks for libraries beside itself: {line.strip()}" for line in dynamic if "$ORIGIN" in line]
    if not any("BIND_NOW" in line or "Flags: NOW" in line for line in dynamic):
        found.append(f"{name} is linked without -z now: its table of functions stays writable")
    return found


def _linkage(tree: Tree) -> "list[str]":
    binaries = [f".build/{kind}/outrider" for kind in ("release", "debug")]
    built = [name for name in binaries if (tree.root / name).exists()]
    if not built:
        raise Skipped("nothing is built; make build builds it")
    found = []
    for name in built:
        status, said = run(tree, "readelf", "--dynamic", name)
        needed = [line.partition("[")[2].rstrip("]") for line in said if "(NEEDED)" in line]
        if status != 0 or not needed:
            found.append(f"{name}: readelf finds no libraries in it")
        found += [f"{name} is linked with {library}" for library in needed if NOT_LINKED.search(library)]
        if "/release/" in name:
            found += _loading(name, said)
        if FOUNDATION_SYMBOL in (tree.root / name).read_bytes():
            found.append(f"{name} holds symbols of full Foundation")
    return found


FORMAT = Check(
    name="format",
    summary="Swift files are formatted as .swift-format says",
    mend="make format; what remains is to be mended by hand",
    run=_format,
)
LINT = Check(
    name="lint",
    summary="Python files have no findings of ruff",
    mend=f".build/venv/bin/ruff {' '.join(RUFF)} --fix FILE; what remains by hand",
    run=_lint,
)
TYPES = Check(
    name="types",
    summary="the Python client is typed, strictly",
    mend="correct the annotations; mypy says where: .build/venv/bin/mypy --strict clients/python/src",
    run=_types,
)
LINKAGE = Check(
    name="linkage",
    summary="the binary is linked neither with full Foundation nor with libcurl, and the release is hardened",
    mend="find the `import Foundation` that came in, here or in a dependency: swift package show-dependencies;"
    " build the release with make build",
    run=_linkage,
)
