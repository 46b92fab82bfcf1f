// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// The head of a request as bytes (RFC 9112 section 3).
///
/// Attempts are checked where they are built; that nothing in them can end a line or a head early is checked here once
/// more, since this is the last place before the wire.
enum RequestWriter {
    /// Bodies up to this size go out in one write with the head.
    static let joinedBodyBytes = 64 << 10

    /// The head, followed by the whole body if that is small.
    ///
    /// - Parameter expects: whether the server is asked to say 100 Continue before the body is sent; it is not sent here then.
    static func head(_ attempt: Attempt, expects: Bool = false) throws(HTTPFailure) -> ByteBuffer {
        guard isToken(attempt.method) else { throw refused("the method") }
        guard attempt.url.target.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw refused("the target") }
        guard attempt.url.host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { throw refused("the host") }
        let joined = expects ? nil : joinedBody(attempt.body)
        var head = ByteBuffer()
        head.reserveCapacity(
            256 + attempt.url.target.utf8.count + attempt.fields.list.count * 64 + (joined?.count ?? 0))
        head.writeString(attempt.method)
        head.writeStaticString(" ")
        head.writeString(attempt.url.target)
        head.writeStaticString(" HTTP/1.1\r\n")
        // first, as RFC 9110 section 7.2 asks for
        if !attempt.fields.contains("Host") { writeHost(of: attempt.url, into: &head) }
        var seen = Seen()
        for field in attempt.fields.list where !seen.isOurs(field) {
            guard isToken(field.name), isValue(field.value) else { throw refused("a header") }
            head.writeString(field.name)
            head.writeStaticString(": ")
            head.writeString(field.value)
            head.writeStaticString("\r\n")
        }
        if attempt.decodesContent, !seen.acceptEncoding, !seen.range {
            head.writeStaticString("Accept-Encoding: gzip, deflate\r\n")
        }
        if seen.close { head.writeStaticString("Connection: close\r\n") }
        if expects { head.writeStaticString("Expect: 100-continue\r\n") }
        writeLength(of: attempt, into: &head)
        head.writeStaticString("\r\n")
        if let joined { head.writeBytes(joined) }
        return head
    }

    /// What of the fields is written differently, or decides about what is added.
    private struct Seen {
        var acceptEncoding = false
        var range = false
        var close = false

        /// Whether the field is one that only the transport writes.
        mutating func isOurs(_ field: HTTPFields.Field) -> Bool {
            switch field.name.utf8.count {
            case 5: range = range || HTTPFields.same(field.name, "Range")
            case 10 where HTTPFields.same(field.name, "Connection"):
                close = close || HTTPFields.same(field.value, "close")
                return true
            case 14: return HTTPFields.same(field.name, "Content-Length")
            case 15: acceptEncoding = acceptEncoding || HTTPFields.same(field.name, "Accept-Encoding")
            case 17: return HTTPFields.same(field.name, "Transfer-Encoding")
            default: break
            }
            return false
        }
    }

    private static func joinedBody(_ body: AttemptBody) -> [UInt8]? {
        guard case .bytes(let bytes) = body, bytes.count <= joinedBodyBytes else { return nil }
        return bytes
    }

    /// A method that expects a body says so even if there is none (RFC 9110 section 8.6).
    private static func writeLength(of attempt: Attempt, into head: inout ByteBuffer) {
        if case .none = attempt.body, !["POST", "PUT", "PATCH"].contains(attempt.method) { return }
        if let size = attempt.body.size {
            head.writeString("Content-Length: \(size)\r\n")
        } else {
            head.writeStaticString("Transfer-Encoding: chunked\r\n")
        }
    }

    private static func writeHost(of url: HTTPURL, into head: inout ByteBuffer) {
        head.writeStaticString("Host: ")
        if url.socketPath != nil {
            head.writeStaticString("localhost")
        } else {
            let isIPv6 = url.host.utf8.contains(UInt8(ascii: ":"))
            if isIPv6 { head.writeStaticString("[") }
            head.writeString(url.host)
            if isIPv6 { head.writeStaticString("]") }
            if url.port != url.defaultPort { head.writeString(":\(url.port)") }
        }
        head.writeStaticString("\r\n")
    }

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(FieldRules.isTokenByte)
    }

    private static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 != 0x0A && $0 != 0x0D && $0 != 0 }
    }

    private static func refused(_ what: String) -> HTTPFailure {
        HTTPFailure(.createURLRequestFailed, "\(what) contains a character that must not be sent")
    }
}
