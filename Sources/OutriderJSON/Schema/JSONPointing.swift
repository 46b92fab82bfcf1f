// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Walking a document by pointer.
extension JSONPointer {
    /// A pointer as somebody wrote it; nil unless it is empty or begins with a slash, and each `~` means something.
    package init?(written text: String) {
        self.init()
        guard !text.isEmpty else { return }
        guard text.hasPrefix("/") else { return nil }
        for token in text.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            guard let name = Self.name(token) else { return nil }
            self = appending(JSONPointer(member: name))
        }
    }

    /// The names along the way, with nothing escaped.
    package var names: [String] {
        description.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { Self.name($0) ?? "" }
    }

    private static func name(_ token: Substring) -> String? {
        guard token.utf8.contains(UInt8(ascii: "~")) else { return String(token) }
        var name = ""
        var rest = token.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            guard scalar == "~" else {
                name.unicodeScalars.append(scalar)
                continue
            }
            switch rest.popFirst() {
            case "0": name += "~"
            case "1": name += "/"
            default: return nil
            }
        }
        return name
    }
}

extension JSONValue {
    /// The value at that place; nil if there is none.
    package subscript(pointer: JSONPointer) -> JSONValue? {
        var value = self
        for name in pointer.names {
            switch value {
            case .object(let object):
                guard let inner = object[name] else { return nil }
                value = inner
            case .array(let values):
                guard let index = Int(name), values.indices.contains(index), index.description == name else {
                    return nil
                }
                value = values[index]
            default: return nil
            }
        }
        return value
    }
}
