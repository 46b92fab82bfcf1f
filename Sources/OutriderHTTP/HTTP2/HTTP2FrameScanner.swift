// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds frames in the bytes of a connection, however they are cut (RFC 9113 section 4).
///
///     bytes ──▶ next ──▶ frame           a whole payload: a part of the bytes, or `held` if it came in pieces
///                  ├───▶ data            a piece of DATA, as soon as it is here, without its padding
///                  ├───▶ tooLarge, badPadding
///                  └───▶ needsMore
///
/// At most a single frame of 16 KiB is buffered, and no DATA.
package struct HTTP2FrameScanner {
    /// The largest payload: SETTINGS_MAX_FRAME_SIZE, whose default is never changed.
    package static let mostPayload = 16 << 10

    package enum Step: Equatable {
        /// All bytes are read.
        case needsMore
        /// A frame that is not DATA, and the place of its payload in the bytes.
        case frame(HTTP2FrameHead, Range<Int>)
        /// The same with the payload in `held`, which is valid until the next call.
        case heldFrame(HTTP2FrameHead)
        /// A piece of DATA: its place in the bytes, whether the piece is the first of its frame, and whether the frame
        /// ends with this piece. A frame may have empty pieces.
        case data(HTTP2FrameHead, Range<Int>, isFirst: Bool, isLast: Bool)
        /// A frame above the limit; no further frame can be read.
        case tooLarge(HTTP2FrameHead)
        /// More padding than payload; no further frame can be read.
        case badPadding(HTTP2FrameHead)
    }

    /// The payload of a `heldFrame`.
    package private(set) var held: [UInt8] = []
    /// The frame whose payload is being read.
    private var current: HTTP2FrameHead?
    /// A frame head that arrived in pieces.
    private var partial: [UInt8] = []
    /// The missing bytes of a DATA frame. `padding` is -1 while its length is unknown.
    private var left = 0
    private var padding = 0
    private var hasBegun = false
    private var isHeldGiven = false

    package init() {}

    /// The next step from `position` on; `position` moves behind the bytes read.
    package mutating func next(_ bytes: UnsafeRawBufferPointer, from position: inout Int) -> Step {
        if isHeldGiven {
            isHeldGiven = false
            held.removeAll(keepingCapacity: held.capacity <= 1 << 10)
        }
        let head: HTTP2FrameHead
        if let current {
            head = current
        } else {
            guard let read = readHead(bytes, &position) else { return .needsMore }
            guard read.length <= Self.mostPayload else { return .tooLarge(read) }
            head = read
            current = read
            left = read.length
            padding = read.has(HTTP2FrameHead.padded) ? -1 : 0
            hasBegun = false
        }
        return head.kind == .data ? readData(head, bytes, &position) : readWhole(head, bytes, &position)
    }

    private mutating func readHead(_ bytes: UnsafeRawBufferPointer, _ position: inout Int) -> HTTP2FrameHead? {
        let here = bytes.count - position
        if partial.isEmpty, here >= HTTP2FrameHead.size {
            defer { position += HTTP2FrameHead.size }
            return HTTP2FrameHead(bytes[position..<position + HTTP2FrameHead.size])
        }
        let taken = min(here, HTTP2FrameHead.size - partial.count)
        partial += bytes[position..<position + taken]
        position += taken
        guard partial.count == HTTP2FrameHead.size else { return nil }
        defer { partial.removeAll(keepingCapacity: true) }
        return partial.withUnsafeBytes { HTTP2FrameHead($0[...]) }
    }

    private mutating func readWhole(
        _ head: HTTP2FrameHead, _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) -> Step {
        let here = bytes.count - position
        if held.isEmpty, here >= head.length {
            defer { position += head.length }
            current = nil
            return .frame(head, position..<position + head.length)
        }
        let taken = min(here, head.length - held.count)
        held += bytes[position..<position + taken]
        position += taken
        guard held.count == head.length else { return .needsMore }
        current = nil
        isHeldGiven = true
        return .heldFrame(head)
    }

    private mutating func readData(
        _ head: HTTP2FrameHead, _ bytes: UnsafeRawBufferPointer, _ position: inout Int
    ) -> Step {
        if padding < 0 {
            guard head.length > 0 else { return .badPadding(head) }
            guard position < bytes.count else { return .needsMore }
            padding = Int(bytes[position])
            position += 1
            left -= 1
            guard padding <= left else { return .badPadding(head) }
        }
        let here = bytes.count - position
        // a frame without a payload has no bytes to wait for
        guard here > 0 || left == 0 else { return .needsMore }
        let length = min(here, max(0, left - padding))
        let range = position..<position + length
        let skipped = min(here - length, left - length)
        position += length + skipped
        left -= length + skipped
        let isFirst = !hasBegun
        hasBegun = true
        if left == 0 { current = nil }
        // pieces of padding produce no step
        guard left == 0 || isFirst || length > 0 else { return .needsMore }
        return .data(head, range, isFirst: isFirst, isLast: left == 0)
    }
}
