// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The id of a call: a string or an integer, echoed unchanged (JSON-RPC 2.0 section 4). Fractions and null are not ids.
package enum RequestID: Sendable {
    case string(String)
    case integer(Int64)

    /// The ids of callbacks: above the ids that clients count up to, since Vim cannot reply to string ids, and small
    /// integers collide with its own ids; up to 2^31 - 1, for clients with 32-bit integers.
    static let callbacks: ClosedRange<Int64> = 1_000_000_001...2_147_483_647
}

/// Strings are the same id if they have the same characters (RFC 8259 section 8.3). The strings of Swift are also equal
/// in different normal forms, which are different ids.
extension RequestID: Hashable {
    package static func == (one: RequestID, other: RequestID) -> Bool {
        switch (one, other) {
        case (.string(let one), .string(let other)): one.utf8.elementsEqual(other.utf8)
        case (.integer(let one), .integer(let other)): one == other
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .string(var text): text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .integer(let number): hasher.combine(number)
        }
    }
}

extension RequestID: JSONEncodable {
    package func encode(to writer: inout JSONWriter) {
        switch self {
        case .string(let text): writer.value(text)
        case .integer(let number): writer.value(number)
        }
    }
}
