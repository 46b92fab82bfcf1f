// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// The head of a request as bytes (RFC 9112 section 3).
///
/// Attempts are checked where they are built; here, at the last place before the wire, a second check makes sure that
/// no part can end a line or the head early.
enum RequestWriter {
    /// Bodies up to this size go out in the same write as the head.
    static let joinedBodyBytes = 64 << 10

    /// The head, followed by the whole body if the body is small.
    ///
    /// - Parameter expects: whether the head asks for 100 Continue; the body is then sent later.
    static func head(_ attempt: Attempt, expects: Bool = false) throws(HTTPFailure) -> ByteBuffer {
        let (url, fields) = (attempt.url, attempt.fields)
        guard isToken(attempt.method) else { throw refused("the method") }
        guard url.target.allBytes({ $0 > 0x20 && $0 < 0x7F }) else { throw refused("the target") }
        guard url.host.allBytes({ $0 > 0x20 && $0 < 0x7F }) else { throw refused("the host") }
        let joined = expects ? nil : joinedBody(attempt.body)
        let forwarder = Forwarder(attempt)
        var most =
            256 + (forwarder?.mostBytes ?? 0) + attempt.method.utf8.count + url.target.utf8.count + url.host.utf8.count
        most += joined?.count ?? 0
        for field in fields.list { most += field.name.utf8.count + field.value.utf8.count + 4 }
        var buffer = ByteBufferAllocator().buffer(capacity: most)
        var fault: HTTPFailure?
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: most) { memory in
            var head = HeadText(memory)
            do throws(HTTPFailure) {
                try write(attempt, url, fields, forwarder, expects: expects, to: &head)
            } catch {
                fault = error
                return 0
            }
            if let joined { joined.withUnsafeBytes { head.add($0) } }
            if head.isCut { fault = refused("a part of the head that is too long") }
            return head.isCut ? 0 : head.count
        }
        if let fault { throw fault }
        return buffer
    }

    private static func write(
        _ attempt: Attempt, _ url: HTTPURL, _ fields: HTTPFields, _ forwarder: Forwarder?, expects: Bool,
        to head: inout HeadText
    ) throws(HTTPFailure) {
        head.add(attempt.method)
        head.add(" ")
        if let forwarder { head.add(forwarder.origin) }
        head.add(url.target)
        head.add(" HTTP/1.1\r\n")
        // first, as RFC 9110 section 7.2 asks for
        if !fields.contains("Host") { writeHost(of: url, into: &head) }
        if let value = forwarder?.authorization {
            head.add("Proxy-Authorization: ")
            guard head.add(value, .printable) else { throw refused("Proxy-Authorization") }
            head.add("\r\n")
        }
        var seen = Seen()
        for field in fields.list where !seen.isOurs(field) {
            let isName = head.add(field.name, .token)
            head.add(": ")
            let isValue = field.isLatin1 ? head.add(field.text, .harmless) : head.add(field.value, .harmless)
            guard isName, isValue, !field.name.isEmpty else { throw refused("a header") }
            head.add("\r\n")
        }
        if attempt.decodesContent, !seen.acceptEncoding, !seen.range {
            head.add("Accept-Encoding: ")
            head.add(ContentCoding.offered)
            head.add("\r\n")
        }
        if let upgrade = attempt.upgrade {
            head.add("Connection: Upgrade\r\nUpgrade: ")
            head.add(upgrade.name)
            head.add("\r\n")
        } else if seen.close {
            head.add("Connection: close\r\n")
        }
        if expects { head.add("Expect: 100-continue\r\n") }
        writeLength(of: attempt, into: &head)
        head.add("\r\n")
    }

    /// Additions for a proxy that forwards the request itself: the whole URL (RFC 9112 section 3.2.2), and the
    /// authorization.
    private struct Forwarder {
        let origin: String
        let authorization: FieldText?

        /// Nil for direct connections, and through a tunnel: there the origin reads the request.
        init?(_ attempt: Attempt) {
            guard attempt.proxies != nil, !attempt.isTunneled, attempt.proxy?.speaksHTTP == true else { return nil }
            origin = attempt.url.origin
            authorization = attempt.proxyAuthorization?.value
        }

        var mostBytes: Int { origin.utf8.count + 32 + (authorization?.text.utf8.count ?? 0) }
    }

    /// Fields that are written differently, or that change the added fields.
    private struct Seen {
        var acceptEncoding = false
        var range = false
        var close = false

        /// Whether only the transport writes this field.
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

    static func joinedBody(_ body: AttemptBody) -> [UInt8]? {
        guard case .bytes(let bytes) = body, bytes.count <= joinedBodyBytes else { return nil }
        return bytes
    }

    /// A method that expects a body declares a length even without a body (RFC 9110 section 8.6).
    private static func writeLength(of attempt: Attempt, into head: inout HeadText) {
        if case .none = attempt.body, !expectsBody(attempt.method) { return }
        if let size = attempt.body.size {
            head.add("Content-Length: ")
            head.add(decimal: size)
            head.add("\r\n")
        } else {
            head.add("Transfer-Encoding: chunked\r\n")
        }
    }

    private static func expectsBody(_ method: String) -> Bool {
        switch method {
        case "POST", "PUT", "PATCH": true
        default: false
        }
    }

    private static func writeHost(of url: HTTPURL, into head: inout HeadText) {
        head.add("Host: ")
        if url.socketPath != nil {
            head.add("localhost")
        } else {
            let isIPv6 = url.isIPv6
            if isIPv6 { head.add("[") }
            head.add(url.host)
            if isIPv6 { head.add("]") }
            if url.port != url.defaultPort {
                head.add(":")
                head.add(decimal: Int64(url.port))  // safe: an Int is an Int64
            }
        }
        head.add("\r\n")
    }

    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.allBytes(FieldRules.isTokenByte)
    }

    private static func refused(_ what: String) -> HTTPFailure {
        HTTPFailure(.createURLRequestFailed, "\(what) contains a character that must not be sent")
    }
}

/// Writes text into memory of sufficient size.
private struct HeadText {
    private let memory: UnsafeMutableRawBufferPointer
    private(set) var count = 0
    /// The memory was too small.
    private(set) var isCut = false

    init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

    @inline(__always)
    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return }
        guard let base = memory.baseAddress, memory.count - count >= bytes.count else {
            isCut = true
            return
        }
        (base + count).copyMemory(from: start, byteCount: bytes.count)
        count += bytes.count
    }

    mutating func add(_ text: StaticString) {
        add(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// A number that is not negative, in decimal digits.
    mutating func add(decimal number: Int64) {
        if number >= 10 { add(decimal: number / 10) }
        withUnsafeBytes(of: UInt8(truncatingIfNeeded: 0x30 &+ number % 10)) { add($0) }
    }

    mutating func add(_ text: String) { _ = add(text, .any) }

    /// False if a byte is not permitted.
    mutating func add(_ text: String, _ permitted: Bytes) -> Bool {
        let isAdded = text.utf8.withContiguousStorageIfAvailable { add($0, permitted) }
        if let isAdded { return isAdded }
        var text = text
        return text.withUTF8 { add($0, permitted) }
    }

    /// The same for the value of a field.
    mutating func add(_ value: FieldText, _ permitted: Bytes) -> Bool {
        guard value.isLatin1 else { return add(value.text, permitted) }
        return value.bytes.withUnsafeBufferPointer { add($0, permitted) }
    }

    @inline(__always)
    private mutating func add(_ bytes: UnsafeBufferPointer<UInt8>, _ permitted: Bytes) -> Bool {
        guard permitted.hold(bytes) else { return false }
        add(UnsafeRawBufferPointer(bytes))
        return true
    }

    /// The bytes that a part of the head may have. Not a closure, which would be called for each byte.
    enum Bytes {
        case any, token, harmless, printable

        func hold(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
            switch self {
            case .any: break
            case .token: for byte in bytes where !FieldRules.isTokenByte(byte) { return false }
            case .harmless: for byte in bytes where !FieldRules.isHarmless(byte) { return false }
            case .printable: for byte in bytes where byte < 0x20 || byte == 0x7F { return false }
            }
            return true
        }
    }
}
