// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

typealias Target = @Sendable (Input) -> Void

/// The target of this run, which a function without context calls.
nonisolated(unsafe) var chosen: Target = { _ in }

/// Ends the run; libFuzzer keeps the input.
func expect(_ isSo: Bool, _ what: @autoclosure () -> String) {
    if isSo { return }
    print("broken: \(what())")
    fflush(nil)
    abort()
}

/// The bytes of a run, and what follows from them: places of cuts, and limits.
struct Input {
    let bytes: [UInt8]
    let hash: UInt64

    init(bytes: [UInt8]) {
        self.bytes = bytes
        // FNV-1a
        hash = bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    func repeated(to size: Int) -> Input {
        var long: [UInt8] = []
        long.reserveCapacity(size + bytes.count)
        while long.count < size { long += bytes }
        return Input(bytes: long)
    }

    /// One in `many`, of the one that follows from the bytes and this number.
    func chance(_ many: UInt64, _ number: UInt64) -> Bool { (hash >> number) % many == 0 }

    /// The same bytes in pieces; at times one piece for each byte.
    var pieces: [[UInt8]] {
        if bytes.count <= 64, chance(4, 3) { return bytes.map { [$0] } }
        var state = hash | 1
        var pieces: [[UInt8]] = []
        var start = 0
        while start < bytes.count {
            state = state &* 0x5851_F42D_4C95_7F2D &+ 0x1405_7B7E_F767_814F
            let end = min(bytes.count, start + 1 + Int(state >> 40) % max(1, bytes.count / 2))
            pieces.append(Array(bytes[start..<end]))
            start = end
        }
        return pieces
    }
}

/// A quoted string of header fields. By scalars: a quote with an accent behind it is another character.
func quoted(_ text: String) -> String {
    var written = "\""
    for scalar in text.unicodeScalars {
        if scalar == "\"" || scalar == "\\" { written.unicodeScalars.append("\\") }
        written.unicodeScalars.append(scalar)
    }
    return written + "\""
}

extension Array where Element == UInt8 {
    /// For messages.
    var shown: String { String(decoding: prefix(400), as: UTF8.self) }
}
