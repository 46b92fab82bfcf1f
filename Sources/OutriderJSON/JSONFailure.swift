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
