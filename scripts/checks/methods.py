# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Whether each method of the protocol stands in the file that its name says."""

from .tree import Check, Tree

_TARGET = "Sources/OutriderMethods/"


def _methods(tree: Tree) -> "list[str]":
    files = {name.lower() for name in tree.matching(_TARGET + "*.swift")}
    bare = {name.rpartition("/")[2] for name in files}
    found = []
    for place in tree.matching("schema/methods/*.json"):
        method = place[len("schema/methods/") : -len(".json")]
        folder, _, _ = method.rpartition(".")
        name = method.replace(".", "") + ".swift"
        stands = f"{_TARGET}{folder}/{name}".lower() in files if folder else name.lower() in bare
        if files and not stands:
            found.append(f"{method}: no file {_TARGET}{folder or '*'}/{name}, in capitals of your choice")
    return found


METHODS = Check(
    name="methods",
    summary="each method of the schema has a file of its own, in the folder of its namespace",
    mend="move the method to the file that the line names",
    run=_methods,
)
