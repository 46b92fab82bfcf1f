// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The request, in the form of the archive.
struct HARRequestShape: ObjectShape {
    var facts: ExchangeFacts
    var mask: ShownMask
    var showsBody: Bool

    func encodeMembers(to writer: inout JSONWriter) {
        let attempt = facts.attempt
        let url = mask.url(attempt?.url.description ?? facts.url)
        let fields = attempt?.wireFields ?? []
        writer.member("method", attempt?.method ?? facts.method)
        writer.member("url", url)
        writer.member("httpVersion", facts.head?.version == .http2 ? "HTTP/2" : "HTTP/1.1")
        writer.member("cookies", ShownCookie.sent(fields).map { HARCookieShape(cookie: $0, mask: mask) })
        writer.member("headers", FieldsShape(mask.fields(fields)))
        writer.member("queryString", QueryPairs.of(url).map { HARPairShape(pair: $0) })
        if let attempt, attempt.body != .none { encodeBody(attempt, to: &writer) }
        writer.member("headersSize", -1)
        writer.member("bodySize", facts.timeline == nil ? -1 : attempt?.body.size ?? 0)
    }

    private func encodeBody(_ attempt: Attempt, to writer: inout JSONWriter) {
        let type = attempt.fields.first("Content-Type") ?? ""
        writer.member("postData") { writer in
            writer.member("mimeType", type)
            switch attempt.body {
            case .bytes(let bytes) where showsBody:
                let plain = attempt.hasCodedBody ? facts.plainRequestBody : bytes
                let shown = plain.map { mask.body($0, contentType: type) }
                if let shown, let text = String(validating: shown, as: UTF8.self) {
                    writer.member("text", text)
                } else {
                    writer.member("text", "")
                    writer.member("comment", "\(bytes.count) bytes that are no text")
                }
            case .file(let path, let size) where path != "-":
                writer.member("text", "")
                writer.member("comment", "\(size) bytes of \(path)")
            default:
                writer.member("text", "")
                writer.member("comment", "\(attempt.body.size ?? 0) bytes, not shown")
            }
        }
    }
}

/// The response, in the form of the archive; status 0 without a response.
struct HARResponseShape: ObjectShape {
    var facts: ExchangeFacts
    var mask: ShownMask
    var showsBody: Bool

    func encodeMembers(to writer: inout JSONWriter) {
        let head = facts.head
        let fields = head?.fields ?? []
        writer.member("status", head?.status ?? 0)
        writer.member("statusText", head?.reason ?? "")
        writer.member("httpVersion", head.map { "HTTP/\($0.version)" } ?? "")
        writer.member(
            "cookies", ShownCookie.received(fields).map { HARCookieShape(cookie: $0, mask: mask) })
        writer.member("headers", FieldsShape(mask.fields(fields)))
        writer.member("content") { encodeContent(fields.first("Content-Type"), to: &$0) }
        writer.member("redirectURL", fields.first("Location").map(mask.url) ?? "")
        writer.member("headersSize", -1)
        writer.member("bodySize", fields.contains("Content-Encoding") || head == nil ? -1 : facts.bodySize)
    }

    private func encodeContent(_ type: String?, to writer: inout JSONWriter) {
        writer.member("size", facts.bodySize)
        writer.member("mimeType", type ?? "x-unknown")
        guard showsBody, facts.bodySize > 0 else { return }
        guard let body = facts.body else {
            writer.member("comment", "the body is not kept, or too long to be here")
            return
        }
        let shown = mask.body(body, contentType: type)
        if let text = String(validating: shown, as: UTF8.self), !text.utf8.contains(0) {
            writer.member("text", text)
        } else {
            shown.withUnsafeBytes { writer.member("text", base64: $0) }
            writer.member("encoding", "base64")
        }
    }
}

/// A redirect that led to the entry's request.
struct HARRedirectShape: ObjectShape {
    var hop: RedirectHop
    var mask: ShownMask

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("status", hop.status)
        // the format has no fragments in URLs
        writer.member("url", mask.url(String(hop.from.prefix { $0 != "#" })))
    }
}

struct HARPairShape: ObjectShape {
    var pair: (name: String, value: String)

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("name", pair.name)
        writer.member("value", pair.value)
    }
}

struct HARCookieShape: ObjectShape {
    var cookie: ShownCookie
    var mask: ShownMask

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("name", cookie.name)
        writer.member("value", mask.redaction == .masked ? SecretFields.mask : cookie.value)
        writer.member("path", cookie.path)
        writer.member("domain", cookie.domain)
        if let expires = cookie.expires.flatMap({ HTTPDate.parse($0, now: Int64(WallTime.now.seconds)) }) {
            writer.member("expires", TimeShape(WallTime(seconds: Int(expires))))
        }
        writer.member("httpOnly", cookie.isHTTPOnly)
        writer.member("secure", cookie.isSecure)
    }
}
