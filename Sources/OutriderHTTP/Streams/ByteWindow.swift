// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Bytes that come at one end, in pieces of any length, and are taken at the other.
package struct ByteWindow: Sendable {
    package private(set) var bytes: [UInt8] = []
    /// Where what is left begins.
    package private(set) var start = 0

    package var count: Int { bytes.count - start }
    package var isEmpty: Bool { start == bytes.count }

    package init() {}

    package mutating func append(_ more: [UInt8]) {
        if isEmpty {
            bytes = more
        } else {
            // what was taken goes, so that the window is no longer than what is in it
            if start > 0 { bytes.removeFirst(start) }
            bytes.append(contentsOf: more)
        }
        start = 0
    }

    /// The next bytes, from an index on; there must be as many.
    package func slice(_ count: Int, after skipped: Int = 0) -> ArraySlice<UInt8> {
        bytes[start + skipped..<start + skipped + count]
    }

    package subscript(index: Int) -> UInt8 { bytes[start + index] }

    /// The next bytes, which are taken; a long piece is not copied, but what is left behind it.
    package mutating func cut(_ count: Int) -> [UInt8] {
        guard start == 0, count > bytes.count - count else {
            let piece = Array(slice(count))
            take(count)
            return piece
        }
        let rest = Array(bytes[count...])
        var piece = bytes
        bytes = rest
        piece.removeLast(rest.count)
        return piece
    }

    package mutating func take(_ count: Int) {
        start += count
        if isEmpty { removeAll() }
    }

    package mutating func removeAll() {
        bytes = []
        start = 0
    }
}
