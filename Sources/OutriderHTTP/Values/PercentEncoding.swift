// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A percent-encoding, defined by the bytes that stay unchanged.
package struct PercentEncoding: Sendable {
    /// The two halves of ASCII: bit n for byte n and for byte 64 + n.
    private var low: UInt64 = 0
    private var high: UInt64 = 0
    private var spaceIsPlus = false

    /// The set of bytes that stay: letters, digits and the bytes of `extra`.
    init(keeping extra: String, spaceIsPlus: Bool = false) {
        let letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        for byte in (letters + extra).utf8 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
        }
        self.spaceIsPlus = spaceIsPlus
    }

    /// Values in a query: the unreserved characters of RFC 3986, and `/` and `?`.
    static let query = PercentEncoding(keeping: "-._~/?")
    /// WHATWG URL section 5.2.
    static let form = PercentEncoding(keeping: "*-._", spaceIsPlus: true)
    /// The path of a given URL (WHATWG path percent-encode set, and the octets that RFC 3986 excludes).
    static let path = PercentEncoding(keeping: "!$%&'()*+,-./:;=@[\\]_|~")
    /// The query of a given URL (WHATWG special-query percent-encode set).
    static let writtenQuery = PercentEncoding(keeping: "!$%&()*+,-./:;=?@[\\]^_`{|}~")
    /// The fragment of a given URL.
    static let fragment = PercentEncoding(keeping: "!#$%&'()*+,-./:;=?@[\\]^_{|}~")
    /// A path segment, or the path of a socket as a host.
    package static let segment = PercentEncoding(keeping: "-._~")

    func keeps(_ byte: UInt8) -> Bool {
        guard byte < 0x80 else { return false }
        return (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 == 1
    }

    package func escape(_ text: some StringProtocol) -> String {
        if text.utf8.allSatisfy(keeps) { return String(text) }
        var escaped: [UInt8] = []
        escaped.reserveCapacity(text.utf8.count &+ text.utf8.count / 2)
        append(Array(text.utf8)[...], to: &escaped)
        return String(decoding: escaped, as: UTF8.self)
    }

    package func append(_ bytes: ArraySlice<UInt8>, to escaped: inout [UInt8]) {
        bytes.withUnsafeBufferPointer { append($0, to: &escaped) }
    }

    func append(_ text: String, to escaped: inout [UInt8]) {
        var text = text
        text.withUTF8 { append($0, to: &escaped) }
    }

    private func append(_ bytes: UnsafeBufferPointer<UInt8>, to escaped: inout [UInt8]) {
        if bytes.allSatisfy(keeps) { return escaped.append(contentsOf: bytes) }
        for byte in bytes {
            if keeps(byte) {
                escaped.append(byte)
            } else if spaceIsPlus && byte == 0x20 {
                escaped.append(UInt8(ascii: "+"))
            } else {
                escaped.append(UInt8(ascii: "%"))
                escaped.append(Self.digit(byte >> 4))
                escaped.append(Self.digit(byte & 15))
            }
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 &+ value : 0x37 &+ value
    }

    /// Undoes `%XX`; a percent sign without two digits stays.
    package static func decode(_ bytes: some Collection<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(value),
                let low = rest.dropFirst().first.flatMap(value)
            {
                decoded.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }

    /// The value of a hexadecimal digit.
    static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit &- 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit &- 0x57
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit &- 0x37
        default: nil
        }
    }
}
