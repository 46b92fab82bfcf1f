// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Multi-byte charsets, decoded by the C library: strictly, piece by piece, into UTF-8. Only the library's decoders for
/// the few charsets of the web are used, under constant names.
enum Iconv {
    /// Nil if the bytes are invalid in that charset, or the system has no decoder for it.
    static func decode(_ bytes: ArraySlice<UInt8>, from name: String) -> String? {
        let converter = iconv_open("UTF-8", name)
        // (iconv_t) -1 means that there is no such decoder
        if Int(bitPattern: converter) == -1 { return nil }
        defer { iconv_close(converter) }
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + bytes.count / 2)
        // a copy, because the C library requires mutable input
        var input = Array(bytes)
        let isWhole = input.withUnsafeMutableBytes { input in
            run(converter, input, &output)
        }
        return isWhole ? String(validating: output, as: UTF8.self) : nil
    }

    private static let pieceBytes = 16 << 10

    private static func run(
        _ converter: iconv_t?, _ input: UnsafeMutableRawBufferPointer, _ output: inout [UInt8]
    ) -> Bool {
        var source = input.baseAddress?.assumingMemoryBound(to: CChar.self)
        var left = input.count
        var isFlushing = left == 0
        return withUnsafeTemporaryAllocation(byteCount: pieceBytes, alignment: 1) { piece in
            while true {
                var target = piece.baseAddress?.assumingMemoryBound(to: CChar.self)
                var room = piece.count
                let before = left
                errno = 0
                let result =
                    isFlushing
                    ? iconv(converter, nil, nil, &target, &room) : iconv(converter, &source, &left, &target, &room)
                let reason = errno
                let made = piece.count - min(room, piece.count)
                output.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece[..<made]))
                if result == -1 {
                    // full is fine as long as something moves; anything else is no text in that charset
                    guard reason == E2BIG, made > 0 || left < before else { return false }
                } else if isFlushing {
                    return true
                } else {
                    isFlushing = true
                }
            }
        }
    }
}

extension Charset {
    /// The name in the C library; nil for charsets that are decoded here.
    var systemName: String? {
        switch self {
        case .gbk: "GBK"
        case .gb18030: "GB18030"
        case .big5: "BIG5-HKSCS"
        case .shiftJIS: "CP932"
        case .eucJP: "EUC-JP-MS"
        case .iso2022JP: "ISO-2022-JP"
        case .eucKR: "UHC"
        default: nil
        }
    }
}
