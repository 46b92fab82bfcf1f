// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Why bytes are not accepted as JSON text, and where.
package struct JSONFailure: Error, Equatable {
    /// A sentence for a person, naming the byte position.
    package var reason: String
    /// Bytes from the start of the text to the place of the fault.
    package var offset: Int
    /// The innermost value that had begun there.
    package var pointer: JSONPointer

    /// The beginning of the reason, for bytes behind the value.
    package static let trailing = "unexpected text after the value"

    package init(reason: String, offset: Int, pointer: JSONPointer = .root) {
        self.reason = reason
        self.offset = offset
        self.pointer = pointer
    }
}

/// Why a well-formed JSON value is not accepted, and where.
package struct JSONComplaint: Error, Equatable {
    package var pointer: JSONPointer
    /// A sentence for a person, naming the member and the remedy.
    package var message: String
    /// The accepted names, if the complaint is about an unknown name.
    package var known: [String]?

    package init(_ message: String, at pointer: JSONPointer = .root, known: [String]? = nil) {
        self.message = Excerpt.sentence(message)
        self.pointer = pointer
        self.known = known
    }

    package func under(member name: String) -> JSONComplaint {
        JSONComplaint(message, at: pointer.under(member: name.excerpt), known: known)
    }

    package func under(index: Int) -> JSONComplaint {
        JSONComplaint(message, at: pointer.under(index: index), known: known)
    }
}

extension JSONComplaint {
    /// Whether the complaint is about a name that no member may have.
    package func isUnknown(_ name: String) -> Bool { message == "unknown parameter \(name)" }

    /// The message with the path of a nested member, as "serialize.as must be …" for a complaint that begins with
    /// "as", and with the path as the subject of a complaint without one.
    ///
    /// - Parameter root: the subject of a complaint about the whole value.
    package func placed(orUnder root: String? = nil) -> String {
        let path = pointer.names
        let lacksSubject = message.hasPrefix("must ") || message.hasPrefix("names ")
        guard let name = path.last else { return lacksSubject ? (root.map { "\($0) " } ?? "") + message : message }
        if lacksSubject, name != "must", name != "names" { return "\(Self.written(path[...])) \(message)" }
        let parent = Self.written(path.dropLast())
        if isUnknown(name) { return parent.isEmpty ? message : "\(parent) has no member \(name)" }
        guard !parent.isEmpty, message.hasPrefix(name + " ") else { return message }
        return Self.written(path[...]) + message.dropFirst(name.count)
    }

    /// A path in the notation of programs: `handlers[0].serialize.as`.
    private static func written(_ path: ArraySlice<String>) -> String {
        var text = ""
        for part in path {
            let isIndex = !text.isEmpty && !part.isEmpty && part.utf8.allSatisfy { (0x30...0x39).contains($0) }
            text += isIndex ? "[\(part)]" : text.isEmpty ? part : ".\(part)"
        }
        return text
    }
}
