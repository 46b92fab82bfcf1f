# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Outrider authors
"""Tables for Swift: every method of the contract with its type, and the features."""

import re

import marks
from writers import MADE_BY, quoted

HEAD = [
    "// " + MADE_BY,
    "// SPDX-License-Identifier: Apache-2.0",
    "// SPDX-FileCopyrightText: The Outrider authors",
    "",
]
# The words of method names that Swift writes otherwise than with one capital.
WORDS = {
    "har": "HAR", "json": "JSON", "mime": "MIME", "oauth": "OAuth", "rpc": "RPC", "sse": "SSE", "tcp": "TCP",
    "tls": "TLS", "websocket": "WebSocket",
}  # fmt: skip
FOLDERS = {"initialize": "Server", "shutdown": "Server"}


def words(name):
    """`startTls` in Swift: `StartTLS`."""
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    return "".join(WORDS.get(part.lower(), part[0].upper() + part[1:]) for part in parts)


def swift_type(method):
    """`tcp.startTls` is run by `TCPStartTLS`."""
    return "".join(words(part) for part in method.split("."))


def swift_file(method):
    """Where a stranger looks for a method: `Sources/OutriderMethods/<Namespace>/<Namespace><Method>.swift`."""
    folder = words(method.split(".")[0]) if "." in method else FOLDERS[method]
    return "Sources/OutriderMethods/%s/%s.swift" % (folder, swift_type(method))


def swift_methods(sources):
    lines = [*HEAD, "package import OutriderRPC", "", "/// Every method of the protocol."]
    lines += ["package enum Methods {", "    package static let table: MethodTable<ClientScope> = {"]
    lines += ["        var table = MethodTable<ClientScope>()", "        table.secrets = .marked"]
    lines += ["        table.ownerRules = .marked"]
    lines += ["        table.add(%s.self)" % swift_type(one["name"]) for one in sources["methods"]]
    return "\n".join([*lines, "        return table", "    }()", "}", ""])


def swift_features(sources):
    lines = [*HEAD, "extension Features {", "    /// The names of `features` in `schema/info.json`."]
    lines += ["    package static let names: [StaticString] = ["]
    lines += ["        %s," % quoted(name) for name in sorted(sources["info"]["features"])]
    return "\n".join([*lines, "    ]", "}", ""])


OUTPUTS = {
    "Sources/OutriderMethods/LockedMembers.swift": lambda sources, document: marks.swift_locked(sources),
    "Sources/OutriderMethods/Methods.swift": lambda sources, document: swift_methods(sources),
    "Sources/OutriderMethods/OwnerMembers.swift": lambda sources, document: marks.swift_owner(sources),
    "Sources/OutriderMethods/Server/FeatureNames.swift": lambda sources, document: swift_features(sources),
}
