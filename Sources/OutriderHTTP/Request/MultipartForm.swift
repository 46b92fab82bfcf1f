// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A multipart body (RFC 7578) as given by the caller, not yet checked.
package struct MultipartForm: Sendable {
    package struct Part: Sendable {
        package enum Content: Sendable {
            case bytes([UInt8])
            /// The absolute path of a regular file.
            case file(path: String)
            /// A part from the client, by the name of its handle; the feed is resolved before the request is built.
            case stream(String, (any BodyFeed)?, length: Int64?)
        }

        package var name: String
        package var filename: String?
        /// The part's Content-Type; nil for the implied type.
        package var mimeType: String?
        /// More fields of its own, behind Content-Disposition and Content-Type, which they replace if they name them.
        package var fields: HTTPFields = []
        /// Whether the fields were given as a list, for pointers.
        package var listsFields = false
        package var content: Content
        /// The key under which the content was given, for pointers.
        package var key: String
        /// The Content-Type of this kind of content, unless set otherwise.
        package var impliedType: String?

        package init(_ name: String, _ content: Content, key: String) {
            self.name = name
            self.content = content
            self.key = key
        }
    }

    /// How names and file names are written.
    package enum Escaping: String, Sendable, CaseIterable {
        /// `"` becomes `%22`, CR `%0D` and LF `%0A`, as in browsers (WHATWG HTML section 4.10.21.8).
        case percent
        /// Unescaped; names that would break the line are refused.
        case none
    }

    package var parts: [Part]
    /// 1 to 70 characters of RFC 2046 section 5.1.1.
    package var boundary: String
    package var escaping = Escaping.percent
    /// The pointer to the list of parts in the caller's params.
    package var place: String
    /// The pointer to the caller's boundary, if given.
    package var boundaryPlace: String?

    package init(_ parts: [Part], boundary: String, place: String) {
        self.parts = parts
        self.boundary = boundary
        self.place = place
    }

    /// 19 characters and 16 hexadecimal digits.
    package static func boundary(random: UInt64) -> String {
        let digits = String(random, radix: 16)
        return "outrider.form-data." + String(repeating: "0", count: 16 - digits.count) + digits
    }

    package var contentType: String { "multipart/form-data; \(boundaryParameter)" }

    package var boundaryParameter: String {
        FieldRules.isToken(boundary) ? "boundary=\(boundary)" : "boundary=\"\(boundary)\""
    }

    /// Why a string cannot be a boundary, or nil.
    package static func fault(inBoundary boundary: String) -> String? {
        let allowed = { (byte: UInt8) in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: " '()+_,-./:=?".utf8.contains(byte)
            }
        }
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy(allowed),
            boundary.utf8.last != UInt8(ascii: " ")
        else { return "boundary must be 1 to 70 letters, digits and '()+_,-./:=? or spaces, and not end in a space" }
        return nil
    }
}
