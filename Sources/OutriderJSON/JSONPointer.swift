// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A place in a JSON document (RFC 6901): `/retry/limit`; the empty pointer is the whole document.
package struct JSONPointer: Sendable, Hashable, CustomStringConvertible {
    package private(set) var description: String

    /// The whole document.
    package static let root = JSONPointer()

    package init() { description = "" }

    /// A text that is a pointer already, escapes included.
    package init(canonical text: String) { description = text }

    package init(member name: String) { description = Self.token(name) }

    package init(index: Int) { description = "/\(index)" }

    /// The same place, relative to the enclosing level.
    ///
    /// Complaints grow this way while they are thrown upwards, so that valid input costs nothing on the way down.
    package func under(member name: String) -> JSONPointer {
        var pointer = self
        pointer.description = Self.token(name) + description
        return pointer
    }

    package func under(index: Int) -> JSONPointer {
        var pointer = self
        pointer.description = "/\(index)" + description
        return pointer
    }

    package func appending(_ other: JSONPointer) -> JSONPointer {
        var pointer = self
        pointer.description += other.description
        return pointer
    }

    private static func token(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else {
            return "/" + name
        }
        var token = "/"
        for scalar in name.unicodeScalars {
            switch scalar {
            case "~": token += "~0"
            case "/": token += "~1"
            default: token.unicodeScalars.append(scalar)
            }
        }
        return token
    }
}
