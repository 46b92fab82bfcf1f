// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The fields of an HTTP/2 request (RFC 9113 section 8.3.1).
enum HTTP2RequestFields {
    /// Checks all fields before the first byte is encoded, since the encoder's output must be sent.
    static func check(_ attempt: Attempt) throws(HTTPFailure) {
        let url = attempt.url
        guard isToken(attempt.method) else { throw refused("the method") }
        try check(target: url.target)
        guard url.host.allBytes({ $0 > 0x20 && $0 < 0x7F }) else { throw refused("the host") }
        for field in attempt.fields.list {
            guard isToken(field.name), field.value.allBytes(FieldRules.isHarmless),
                !field.isLatin1 || field.text.bytes.allSatisfy(FieldRules.isHarmless)
            else { throw refused("a header") }
        }
    }

    static func check(target: String) throws(HTTPFailure) {
        guard target.allBytes({ $0 > 0x20 && $0 < 0x7F }) else { throw refused("the target") }
    }

    private static func isToken(_ text: String) -> Bool { !text.isEmpty && text.allBytes(FieldRules.isTokenByte) }

    static func writePath(_ target: String, _ encoder: inout HPACKEncoder, _ output: inout WireBytes) {
        if target == "/" {
            encoder.indexed(HPACKStaticTable.path, &output)
        } else {
            encoder.field(known: HPACKStaticTable.path, target, &output)
        }
    }

    /// Writes the pseudo-fields in front of the path.
    static func writePseudo(_ attempt: Attempt, _ encoder: inout HPACKEncoder, _ output: inout WireBytes) {
        let url = attempt.url
        switch attempt.method {
        case "GET": encoder.indexed(HPACKStaticTable.method, &output)
        case "POST": encoder.indexed(HPACKStaticTable.method + 1, &output)
        default: encoder.field(known: HPACKStaticTable.method, attempt.method, &output)
        }
        encoder.indexed(HPACKStaticTable.scheme + (url.isSecure ? 1 : 0), &output)
        encoder.field(known: HPACKStaticTable.authority, authority(url, attempt.fields), &output)
    }

    static func writeFields(_ request: HTTP2Request, _ encoder: inout HPACKEncoder, _ output: inout WireBytes) {
        let attempt = request.attempt
        let fields = attempt.fields
        var seen = Seen()
        for field in fields.list where !seen.isLeftOut(field) {
            if field.isLatin1 {
                encoder.field(field.name, bytes: field.text.bytes, &output)
            } else {
                encoder.field(field.name, trimmed(field.value), &output)
            }
        }
        if attempt.decodesContent, !seen.acceptEncoding, !seen.range {
            encoder.field("accept-encoding", ContentCoding.offered, &output)
        }
        if request.expectsContinue { encoder.field("expect", "100-continue", &output) }
        writeLength(of: attempt, &encoder, &output)
        switch request.priority {
        case .high where !seen.priority: encoder.field("priority", "u=1", &output)
        case .low where !seen.priority: encoder.field("priority", "u=6", &output)
        default: break
        }
    }

    /// The caller's Host if present (RFC 9113 section 8.3.1: both must agree).
    private static func authority(_ url: HTTPURL, _ fields: HTTPFields) -> String {
        if let host = fields.first("Host") { return trimmed(host) }
        return url.socketPath == nil ? url.authority : "localhost"
    }

    private static func writeLength(of attempt: Attempt, _ encoder: inout HPACKEncoder, _ output: inout WireBytes) {
        if case .none = attempt.body {
            // a method that expects a body declares an empty body, too (RFC 9110 section 8.6)
            switch attempt.method {
            case "POST", "PUT", "PATCH": encoder.field("content-length", "0", &output)
            default: break
            }
        } else if let size = attempt.body.size {
            encoder.field("content-length", String(size), &output)
        }
    }

    private static func trimmed(_ value: String) -> String {
        guard let first = value.utf8.first, let last = value.utf8.last else { return value }
        guard first == 0x20 || first == 0x09 || last == 0x20 || last == 0x09 else { return value }
        return String(FieldRules.trimmed(value[...]))
    }

    /// The fields that decide about omitted or added fields.
    private struct Seen {
        var acceptEncoding = false
        var range = false
        var priority = false

        /// Whether the field belongs to a connection of HTTP/1.1, or is written differently (RFC 9113 section 8.2.2).
        mutating func isLeftOut(_ field: HTTPFields.Field) -> Bool {
            let name = field.name
            switch name.utf8.count {
            case 2: return HTTPFields.same(name, "TE") && !HTTPFields.same(field.value, "trailers")
            case 4: return HTTPFields.same(name, "Host")
            case 5: range = range || HTTPFields.same(name, "Range")
            case 7: return HTTPFields.same(name, "Upgrade")
            case 8: priority = priority || HTTPFields.same(name, "Priority")
            case 10: return HTTPFields.same(name, "Connection") || HTTPFields.same(name, "Keep-Alive")
            case 14: return HTTPFields.same(name, "Content-Length") || HTTPFields.same(name, "HTTP2-Settings")
            case 15: acceptEncoding = acceptEncoding || HTTPFields.same(name, "Accept-Encoding")
            case 16: return HTTPFields.same(name, "Proxy-Connection")
            case 17: return HTTPFields.same(name, "Transfer-Encoding")
            default: break
            }
            return false
        }
    }

    private static func refused(_ what: String) -> HTTPFailure {
        HTTPFailure(.createURLRequestFailed, "\(what) contains a character that must not be sent")
    }
}
