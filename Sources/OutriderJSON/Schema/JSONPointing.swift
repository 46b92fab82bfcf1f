// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Walking a document by pointer.
extension JSONPointer {
    /// Parses a pointer; nil unless the text is empty or begins with a slash, and each `~` is followed by 0 or 1.
    ///
    /// A valid text is the pointer's own description. Takes time in proportion to its length.
    package init?(written text: String) {
        self.init()
        guard !text.isEmpty else { return }
        let bytes = text.utf8
        guard bytes.first == UInt8(ascii: "/") else { return nil }
        var isEscaping = false
        for byte in bytes {
            if isEscaping, byte != UInt8(ascii: "0"), byte != UInt8(ascii: "1") { return nil }
            isEscaping = byte == UInt8(ascii: "~")
        }
        if isEscaping { return nil }
        self.init(canonical: text)
    }

    /// The unescaped names along the way.
    package var names: [String] {
        description.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { Self.name($0) ?? "" }
    }

    /// Unescapes a token; nil if a `~` is not followed by 0 or 1.
    static func name(_ token: Substring) -> String? {
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
