// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Length-prefixed frames.
package struct FrameItems: ItemScanner {
    /// The encoding of the length; the length excludes the prefix.
    package enum Prefix: String, Sendable, CaseIterable {
        /// Four bytes, the highest first.
        case uint32
        /// Four bytes, the lowest first.
        case uint32le
        /// Two bytes, the higher first.
        case uint16
        /// Base 128, as in protocol buffers: seven bits in each byte, lowest first; the eighth bit means that another
        /// byte follows.
        case varint
    }

    private var window = ByteWindow()
    private let prefix: Prefix
    private let longest: Int
    private var isOver = false

    /// - Parameter longest: most bytes in a frame; a longer frame ends the stream with `limitExceeded`.
    package init(_ prefix: Prefix = .uint32, longest: Int = StreamItem.defaultLongest) {
        self.prefix = prefix
        self.longest = longest
    }

    package var held: Int { window.count }
    package var isContinuous: Bool { false }

    package mutating func begin(contentType: String?) { self = FrameItems(prefix, longest: longest) }

    package mutating func feed(_ bytes: [UInt8]) { window.append(bytes) }

    package mutating func end() { isOver = true }

    package mutating func hasNext() -> Bool {
        guard !window.isEmpty else { return false }
        guard let (head, length) = length() else { return isOver }
        return isOver || length > longest || window.count - head >= length
    }

    package mutating func next(within budget: ItemBudget) throws(HTTPFailure) -> StreamItem? {
        guard !window.isEmpty else { return nil }
        if let (head, length) = length() {
            if length > longest { throw StreamItem.tooLong(longest) }
            if window.count - head >= length {
                let item = StreamItem(.data(Array(window.slice(length, after: head))), bytes: head + length)
                window.take(head + length)
                return item
            }
        }
        guard isOver else { return nil }
        throw HTTPFailure(
            .malformedResponse, "the body ended within a frame, of which \(window.count) bytes came", phase: .response,
            sent: .sent)
    }

    /// The prefix of the next frame; nil if incomplete. A length beyond any limit becomes the greatest number.
    private func length() -> (head: Int, length: Int)? {
        switch prefix {
        case .uint32: return fixed(4, lowestFirst: false)
        case .uint32le: return fixed(4, lowestFirst: true)
        case .uint16: return fixed(2, lowestFirst: false)
        case .varint:
            var value = 0
            // nine bytes hold 63 bits
            for index in 0..<9 {
                guard index < window.count else { return nil }
                value |= Int(window[index] & 0x7F) << (7 * index)
                if window[index] & 0x80 == 0 { return (index + 1, value) }
            }
            return (9, .max)
        }
    }

    private func fixed(_ count: Int, lowestFirst: Bool) -> (head: Int, length: Int)? {
        guard window.count >= count else { return nil }
        var value = 0
        for index in 0..<count { value = value << 8 | Int(window[lowestFirst ? count - 1 - index : index]) }
        return (count, value)
    }
}
