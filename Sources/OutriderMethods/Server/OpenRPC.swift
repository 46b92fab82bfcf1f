// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import CContract
import Glibc

/// The contract: the OpenRPC document that `schema/` describes, embedded by the build.
package enum OpenRPC {
    /// `schema/openrpc.json`, byte for byte: ASCII, one member on each line, a line feed at its end.
    package static var document: UnsafeBufferPointer<UInt8> {
        let bytes = UnsafeRawPointer(outrider_contract()).assumingMemoryBound(to: UInt8.self)
        return UnsafeBufferPointer(start: bytes, count: outrider_contract_length())
    }

    /// The same value on a single line, for messages. A string in JSON holds no line feed (RFC 8259, section 7).
    package static func line() -> [UInt8] {
        var line: [UInt8] = []
        line.reserveCapacity(document.count)
        for part in document.split(separator: UInt8(ascii: "\n")) {
            line += part.drop { $0 == UInt8(ascii: " ") }
        }
        return line
    }

    /// The offset of a text in the document.
    package static func place(of wanted: String) -> Int? {
        let document = outrider_contract()
        return strstr(document, wanted).map { UnsafePointer($0) - document }
    }
}
