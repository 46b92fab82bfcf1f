// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Base64 with padding (RFC 4648 section 4).
package enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Two characters for each twelve bits, so that three bytes take two look-ups.
    private static let pairs: [UInt16] = (0..<4096).map { bits in
        UInt16(alphabet[bits >> 6]) | UInt16(alphabet[bits & 63]) << 8
    }

    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(truncatingIfNeeded: value) }
        return values
    }()

    static func append(_ data: UnsafeRawBufferPointer, to sink: inout ByteSink) {
        sink.append(count: (data.count + 2) / 3 * 4) { out in
            pairs.withUnsafeBufferPointer { encode(data, to: out, pairs: $0) }
        }
    }

    private static func encode(
        _ data: UnsafeRawBufferPointer, to out: UnsafeMutableRawBufferPointer, pairs: UnsafeBufferPointer<UInt16>
    ) {
        var read = 0
        var write = 0
        while data.count - read >= 8 {
            let bits = UInt64(bigEndian: data.loadUnaligned(fromByteOffset: read, as: UInt64.self))
            let one = UInt64(pairs[Int(bits >> 52)])
            let two = UInt64(pairs[Int(bits >> 40 & 4095)]) << 16
            let three = UInt64(pairs[Int(bits >> 28 & 4095)]) << 32
            let four = UInt64(pairs[Int(bits >> 16 & 4095)]) << 48
            out.storeBytes(of: (one | two | three | four).littleEndian, toByteOffset: write, as: UInt64.self)
            read += 6
            write += 8
        }
        while data.count - read >= 3 {
            let bits = Int(data[read]) << 16 | Int(data[read + 1]) << 8 | Int(data[read + 2])
            out.storeBytes(of: pairs[bits >> 12].littleEndian, toByteOffset: write, as: UInt16.self)
            out.storeBytes(of: pairs[bits & 4095].littleEndian, toByteOffset: write + 2, as: UInt16.self)
            read += 3
            write += 4
        }
        switch data.count - read {
        case 1:
            let bits = Int(data[read]) << 4
            out.storeBytes(of: pairs[bits].littleEndian, toByteOffset: write, as: UInt16.self)
            out[write + 2] = UInt8(ascii: "=")
            out[write + 3] = UInt8(ascii: "=")
        case 2:
            let bits = Int(data[read]) << 16 | Int(data[read + 1]) << 8
            out.storeBytes(of: pairs[bits >> 12].littleEndian, toByteOffset: write, as: UInt16.self)
            out[write + 2] = alphabet[bits >> 6 & 63]
            out[write + 3] = UInt8(ascii: "=")
        default: break
        }
    }

    package static func encode(_ data: [UInt8]) -> String {
        var sink = ByteSink(capacity: (data.count + 2) / 3 * 4)
        data.withUnsafeBytes { append($0, to: &sink) }
        return String(decoding: sink.bytes, as: UTF8.self)
    }

    /// Strict: no line breaks, no other alphabet; padding may be absent.
    ///
    /// Nil for anything else.
    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode($0) }
    }

    private static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        var end = text.count
        if end % 4 == 0 {
            while end > 0, text.count - end < 2, text[end - 1] == UInt8(ascii: "=") { end -= 1 }
        }
        if end % 4 == 1 { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(end / 4 * 3 + 2)
        var bits: UInt32 = 0
        return values.withUnsafeBufferPointer { values in
            for index in 0..<end {
                let value = values[Int(text[index])]
                if value == 0xFF { return nil }
                bits = bits << 6 | UInt32(value)
                if index & 3 == 3 {
                    bytes.append(UInt8(truncatingIfNeeded: bits >> 16))
                    bytes.append(UInt8(truncatingIfNeeded: bits >> 8))
                    bytes.append(UInt8(truncatingIfNeeded: bits))
                    bits = 0
                }
            }
            switch end % 4 {
            case 2: bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
            case 3:
                bytes.append(UInt8(truncatingIfNeeded: bits >> 10))
                bytes.append(UInt8(truncatingIfNeeded: bits >> 2))
            default: break
            }
            return bytes
        }
    }
}

/// The alphabet for URLs and file names, without padding (RFC 4648 section 5).
extension Base64 {
    package static func encodeForURL(_ data: [UInt8]) -> String {
        let bytes = encode(data).utf8.prefix { $0 != UInt8(ascii: "=") }.map { byte in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Nil for anything else, padding included.
    package static func decodeForURL(_ text: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"): bytes.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): bytes.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: bytes.append(byte)
            }
        }
        return decode(String(decoding: bytes, as: UTF8.self))
    }
}
