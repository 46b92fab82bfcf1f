// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The body of a response; `kind` names the member with the value.
struct ResponseBodyShape: ObjectShape {
    enum Content: Sendable {
        case none
        case json(JSONText)
        case text(String, charset: String?)
        case base64([UInt8])
        /// The bytes follow the reply.
        case raw([UInt8])
        case stored(String)
        case file(String, path: String)
        case stream(String)
    }

    var content: Content
    var size: Int
    var contentType: String?
    var isTruncated = false
    /// Why the body has another shape than requested.
    var note: String?
    /// The name of the chosen case.
    var branch: String?
    /// The memory of a long value that a callback made.
    var holder: (any BodyHolder)?

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("kind", kind)
        writer.member("size", size)
        writer.member("contentType", contentType)
        switch content {
        case .none, .raw: break
        case .json(let text): writer.member("json", text)
        case .text(let text, let charset):
            writer.member("text", text)
            writer.member("charset", charset)
        case .base64(let bytes): bytes.withUnsafeBytes { writer.member("base64", base64: $0) }
        case .stored(let handle): writer.member("response", handle)
        case .file(let handle, let path):
            writer.member("path", path)
            writer.member("response", handle)
        case .stream(let handle): writer.member("stream", handle)
        }
        if isTruncated { writer.member("complete", false) }
        writer.member("note", note)
        writer.member("case", branch)
    }

    var expectedBytes: Int {
        switch content {
        case .none, .raw, .stored, .file, .stream: 128
        case .json(let text): 128 &+ text.bytes.count
        case .text(let text, _): 128 &+ text.utf8.count &+ text.utf8.count / 8
        case .base64(let bytes): 128 &+ bytes.count / 3 &* 4
        }
    }

    var raw: [UInt8]? {
        if case .raw(let bytes) = content { bytes } else { nil }
    }

    /// Shorter bodies stay in their message: base64 of so few bytes costs a client less than a second part.
    static let rawFrom = 512

    /// Lets the bytes of a body in base64 follow the reply, if they are many.
    mutating func detach() {
        if case .base64(let bytes) = content, bytes.count >= Self.rawFrom { content = .raw(bytes) }
    }

    var kind: String {
        switch content {
        case .none: "none"
        case .json: "json"
        case .text: "text"
        case .base64: "base64"
        case .raw: "raw"
        case .stored: "stored"
        case .file: "file"
        case .stream: "stream"
        }
    }
}
