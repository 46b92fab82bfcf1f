// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The value of a field, or a part of it, with the bytes that a server sent: what goes back to the server, as a cookie
/// or the realm of Digest does, goes back byte for byte.
package struct FieldText: Sendable, Equatable {
    package var text: String
    /// Whether the bytes are ISO 8859-1, since they were no UTF-8 (RFC 9110 section 5.5).
    package var isLatin1: Bool

    package init(_ text: String, isLatin1: Bool = false) {
        (self.text, self.isLatin1) = (text, isLatin1)
    }

    /// The bytes on the wire.
    package var bytes: [UInt8] {
        isLatin1 ? text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } : Array(text.utf8)
    }

    /// A text with the bytes of all parts in order.
    package static func joined(_ parts: [FieldText], by separator: String) -> FieldText {
        guard parts.contains(where: \.isLatin1) else {
            return FieldText(parts.map(\.text).joined(separator: separator))
        }
        return FieldText(parts.map(\.byteText).joined(separator: separator), isLatin1: true)
    }

    /// The same bytes as ISO 8859-1.
    package var asLatin1: FieldText { FieldText(byteText, isLatin1: true) }

    /// A scalar for each byte.
    private var byteText: String {
        if isLatin1 || text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        var scalars = String.UnicodeScalarView()
        for byte in text.utf8 { scalars.append(Unicode.Scalar(byte)) }
        return String(scalars)
    }
}
