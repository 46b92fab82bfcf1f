// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The body of a request.
package struct BodySpec: Sendable {
    package enum Content: Sendable {
        case none
        /// Encoded with the charset; see TextEncoding.
        case text(String, charset: String)
        case bytes([UInt8])
        /// Sent as written.
        case json(JSONText)
        /// Names and values in order; see FormEncoding.
        case form(JSONObject)
        /// The path of a regular file: absolute, or `~/…` until `resolved`.
        case file(path: String)
        case multipart(MultipartForm)
        /// A body from the client, by the name of its handle; the feed is resolved before the request is built.
        case stream(String, (any BodyFeed)?, length: Int64?)
    }

    package var content: Content
    /// The Content-Type in place of the implied type.
    package var contentType: String?

    package init(_ content: Content, contentType: String? = nil) {
        self.content = content
        self.contentType = contentType
    }

    package static var none: BodySpec { BodySpec(.none) }

    package var isNone: Bool {
        if case .none = content { true } else { false }
    }

    /// Whether the body needs no files or handles.
    package var isAtHand: Bool {
        switch content {
        case .file, .multipart, .stream: false
        default: true
        }
    }

    /// The streams of a client that feed the body, or parts of it.
    package var feeds: [any BodyFeed] {
        switch content {
        case .stream(_, let feed?, _): [feed]
        case .multipart(let form):
            form.parts.compactMap { if case .stream(_, let feed, _) = $0.content { feed } else { nil } }
        default: []
        }
    }

    /// The key under which a caller gives this content, such as "text"; nil for none.
    package var kind: String? {
        switch content {
        case .none: nil
        case .text: "text"
        case .bytes: "base64"
        case .json: "json"
        case .form: "form"
        case .file: "file"
        case .multipart: "multipart"
        case .stream: "stream"
        }
    }

    /// Whether the body sets the Content-Type regardless of the fields: only the body knows the boundary.
    var ownsContentType: Bool {
        if case .multipart = content { true } else { false }
    }

    /// Whether the type comes before a type among the fields: the caller named the type, or the body sets its own.
    package var hasFixedType: Bool { contentType != nil || ownsContentType }

    /// The Content-Type of the content, unless the request's own fields set a type.
    package var impliedContentType: String? {
        if let contentType {
            guard case .multipart(let form) = content else { return contentType }
            return "\(contentType); \(form.boundaryParameter)"
        }
        return switch content {
        case .none: nil
        case .text(_, let charset): "text/plain; charset=\(Charset(label: charset)?.name ?? "utf-8")"
        case .bytes, .file, .stream: "application/octet-stream"
        case .multipart(let form): form.contentType
        case .json: "application/json"
        case .form: FormEncoding.contentType
        }
    }

    /// The charset that a Content-Type declares; nil for none.
    package static func charset(of contentType: String?) -> String? {
        contentType.flatMap { MediaType(parsing: $0) }?[parameter: "charset"]
    }

    private func encoded(_ text: String, _ charset: String) throws(HTTPFailure) -> [UInt8] {
        let declared = Self.charset(of: contentType)
        // these names do not tell the order of the bytes: a mark does (RFC 2781 section 3.3)
        let isMarked = ["utf-16", "utf-32"].contains { name in
            declared.map { HTTPFields.same($0, name) } == true && HTTPFields.same(charset, name)
        }
        return try TextEncoding.encode(
            isMarked ? "\u{FEFF}" + text : text, charset: charset, textPointer: "/body/text",
            charsetPointer: declared == charset ? "/body/contentType" : "/body/charset")
    }

    /// The body in its wire form. File sizes are parameters, since this module does no I/O.
    ///
    /// - Parameter partSizes: sizes of the files in a form, by the index of their part.
    package func encoded(fileSize: Int64?, partSizes: [Int: Int64] = [:]) throws(HTTPFailure) -> AttemptBody {
        switch content {
        case .none: return .none
        case .bytes(let bytes): return .bytes(bytes)
        case .json(let text): return .bytes(text.bytes)
        case .form(let form): return .bytes(Array(try FormEncoding().encode(form, at: "/body/form").utf8))
        case .text(let text, let charset):
            return .bytes(try encoded(text, charset))
        case .multipart(let form): return try MultipartLayout(form, fileSizes: partSizes).body
        case .stream(_, let feed, let length):
            guard let feed else {
                throw HTTPFailure(.createUploadableFailed, "the stream is not open", pointer: "/body/stream")
            }
            return .composed(ComposedBody([.feed(feed, length: length, pointer: "/body/stream")]))
        case .file(let path):
            guard FilePath.absolute(path, home: nil) != nil else {
                throw HTTPFailure(.createUploadableFailed, FilePath.fault(path), pointer: "/body/file")
            }
            return .file(path: path, size: max(0, fileSize ?? 0))
        }
    }
}

extension RequestSpec {
    /// Whether the body has a type that comes before the Content-Type of the session: the caller's, or that of the
    /// encoding. A session may name its own type of JSON.
    package func ownsType(before sessionType: String) -> Bool {
        if body.contentType != nil { return true }
        switch body.content {
        case .none where addsDefaultFields:
            switch parameters?.encoding {
            case nil, .custom?: return false
            case .form(_, let destination)?:
                return !EncodedParameters.isQuery(destination, method: method, hasBody: false)
            case .propertyList?: return true
            case .json?: break
            }
        case .form where addsDefaultFields: return true
        case .json where addsDefaultFields: break
        default: return false
        }
        return MediaType(parsing: sessionType)?.isJSON != true
    }
}
