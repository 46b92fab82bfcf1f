// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// What a request shall carry.
package struct BodySpec: Sendable {
    package enum Content: Sendable {
        case none
        /// Encoded with the charset: `utf-8`, `iso-8859-1` or `us-ascii`.
        case text(String, charset: String)
        case bytes([UInt8])
        /// Sent as it was written.
        case json(JSONText)
        /// Names and values in order; see FormEncoding.
        case form(JSONObject)
        /// The absolute path of a regular file.
        case file(path: String)
    }

    package var content: Content
    /// The Content-Type in place of the one that the content implies.
    package var contentType: String?

    package init(_ content: Content, contentType: String? = nil) {
        self.content = content
        self.contentType = contentType
    }

    package static var none: BodySpec { BodySpec(.none) }

    package var isNone: Bool {
        if case .none = content { true } else { false }
    }

    /// The key under which a caller gives this content: "text", "base64", "json", "form", "file"; nil for none.
    package var kind: String? {
        switch content {
        case .none: nil
        case .text: "text"
        case .bytes: "base64"
        case .json: "json"
        case .form: "form"
        case .file: "file"
        }
    }

    /// The Content-Type that goes with the content unless the request's own fields name one.
    package var impliedContentType: String? {
        if let contentType { return contentType }
        return switch content {
        case .none: nil
        case .text(_, let charset): "text/plain; charset=\(Charset(label: charset)?.name ?? "utf-8")"
        case .bytes, .file: "application/octet-stream"
        case .json: "application/json"
        case .form: FormEncoding.contentType
        }
    }

    /// The body as bytes. A file needs its size, which only the running side knows.
    package func encoded(fileSize: Int64?) throws(HTTPFailure) -> AttemptBody {
        switch content {
        case .none: return .none
        case .bytes(let bytes): return .bytes(bytes)
        case .json(let text): return .bytes(text.bytes)
        case .form(let form): return .bytes(Array(try FormEncoding().encode(form, at: "/body/form").utf8))
        case .text(let text, let charset): return .bytes(try Self.encode(text, charset))
        case .file(let path):
            guard path.utf8.first == UInt8(ascii: "/") else {
                throw HTTPFailure(
                    .createUploadableFailed, "the path of a file to send must be absolute", pointer: "/body/file")
            }
            guard !path.utf8.contains(0) else {
                throw HTTPFailure(
                    .createUploadableFailed, "the path of a file cannot hold U+0000", pointer: "/body/file")
            }
            return .file(path: path, size: max(0, fileSize ?? 0))
        }
    }

    private static func encode(_ text: String, _ charset: String) throws(HTTPFailure) -> [UInt8] {
        let limit: UInt32
        switch Charset(label: charset) {
        case .utf8: return Array(text.utf8)
        case .latin1: limit = 0xFF
        case .ascii: limit = 0x7F
        default:
            throw HTTPFailure(
                .parameterEncoderFailed,
                "text is sent as utf-8, iso-8859-1 or us-ascii, not as \(FieldRules.shown(charset))",
                pointer: "/body/charset")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for (index, scalar) in text.unicodeScalars.enumerated() {
            guard scalar.value <= limit, let byte = UInt8(exactly: scalar.value) else {
                throw HTTPFailure(
                    .parameterEncoderFailed,
                    "character \(index + 1) of the text does not exist in \(charset): use utf-8",
                    pointer: "/body/text")
            }
            bytes.append(byte)
        }
        return bytes
    }
}
