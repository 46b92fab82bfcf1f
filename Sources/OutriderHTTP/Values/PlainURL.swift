// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Reads URLs of the most common form in a single pass: http or https, a canonical host, perhaps a port, and a path and
/// query that need no change.
///
/// For any other text, and any fault, the result is nil, and `URLReader` decides.
enum PlainURL {
    static func read(_ text: String) -> HTTPURL? {
        guard text.utf8.count <= HTTPURL.maximumLength else { return nil }
        let url = text.utf8.withContiguousStorageIfAvailable { bytes in read(bytes, of: text) }
        return url ?? nil
    }

    private static func read(_ bytes: UnsafeBufferPointer<UInt8>, of text: String) -> HTTPURL? {
        guard let scheme = scheme(bytes) else { return nil }
        let start = scheme.rawValue.utf8.count &+ 3
        var end = start
        while end < bytes.count, bytes[end] != UInt8(ascii: ":"), bytes[end] != UInt8(ascii: "/") { end &+= 1 }
        let host = UnsafeBufferPointer(rebasing: bytes[start..<end])
        guard HostName.isPlainName(host) || IPAddressText.isPlain(host) else { return nil }
        let defaultPort = scheme == .https ? 443 : 80
        var port = defaultPort
        if end < bytes.count, bytes[end] == UInt8(ascii: ":") {
            let digits = end &+ 1
            end = digits
            port = 0
            while end < bytes.count, end < digits &+ 5, case 0x30...0x39 = bytes[end] {
                port = port &* 10 &+ Int(bytes[end] &- 0x30)
                end &+= 1
            }
            // the default port and zeros in front would be left out
            guard port > 0, port <= 65535, port != defaultPort, bytes[digits] != 0x30 else { return nil }
        }
        let target = UnsafeBufferPointer(rebasing: bytes[end...])
        guard isPlainTarget(target) else { return nil }
        return HTTPURL(
            scheme: scheme, host: String(decoding: host, as: UTF8.self), port: port,
            target: String(decoding: target, as: UTF8.self), text: text)
    }

    private static func scheme(_ bytes: UnsafeBufferPointer<UInt8>) -> HTTPURL.Scheme? {
        if starts(bytes, "https://") { return .https }
        return starts(bytes, "http://") ? .http : nil
    }

    @inline(__always)
    private static func starts(_ bytes: UnsafeBufferPointer<UInt8>, _ prefix: StaticString) -> Bool {
        guard bytes.count > prefix.utf8CodeUnitCount else { return false }
        for index in 0..<prefix.utf8CodeUnitCount where bytes[index] != prefix.utf8Start[index] { return false }
        return true
    }

    /// Whether the target begins with a slash, needs no encoding, and has no dot segment.
    private static func isPlainTarget(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard bytes.first == UInt8(ascii: "/") else { return false }
        var previous: UInt8 = 0
        for byte in bytes {
            guard isKept(byte) else { return false }
            if byte == UInt8(ascii: "."), previous == UInt8(ascii: "/") { return false }
            previous = byte
        }
        return true
    }

    /// Letters, digits and !$&()*+,-./:;=?@_~: the bytes that path and query keep, without the percent sign; a bit for
    /// each byte.
    private static func isKept(_ byte: UInt8) -> Bool {
        let word: UInt64 = byte < 64 ? 0xAFFF_FF52_0000_0000 : 0x47FF_FFFE_87FF_FFFF
        return byte < 128 && word >> UInt64(byte & 63) & 1 == 1
    }
}
