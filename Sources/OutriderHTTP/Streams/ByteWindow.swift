// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A byte queue: filled in pieces of any length, consumed from the front.
package struct ByteWindow: Sendable {
    package private(set) var bytes: [UInt8] = []
    /// The index of the first unconsumed byte.
    package private(set) var start = 0

    package var count: Int { bytes.count - start }
    package var isEmpty: Bool { start == bytes.count }

    package init() {}

    package mutating func append(_ more: [UInt8]) {
        if isEmpty {
            bytes = more
        } else {
            // drop consumed bytes, so that the buffer stays as short as its content
            if start > 0 { bytes.removeFirst(start) }
            bytes.append(contentsOf: more)
        }
        start = 0
    }

    /// The next `count` bytes, after `skipped` bytes; that many must be present.
    package func slice(_ count: Int, after skipped: Int = 0) -> ArraySlice<UInt8> {
        bytes[start + skipped..<start + skipped + count]
    }

    /// The length of the whole lines among the first `limit` bytes; nil if there is none.
    func lines(within limit: Int) -> Int? {
        let bytes = slice(limit)
        return bytes.lastIndex(of: 0x0A).map { $0 + 1 - bytes.startIndex }
    }

    package subscript(index: Int) -> UInt8 { bytes[start + index] }

    /// Removes and returns the next `count` bytes. For a long piece, the shorter rest is copied instead.
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
