// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Writes frames into a single buffer, which its owner empties once per turn of the loop (RFC 9113 section 6).
package struct HTTP2FrameWriter: ~Copyable {
    /// The largest written payload: every peer accepts this size.
    static let mostPayload = 16 << 10

    var output = WireBytes()

    package var isEmpty: Bool { output.count == 0 }
    package var count: Int { output.count }

    /// Passes the output to `body`, then clears the output.
    package mutating func take<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        defer { output.clear() }
        return try body(output.bytes)
    }

    package mutating func head(_ kind: HTTP2FrameKind, length: Int, flags: UInt8 = 0, stream: UInt32) {
        let memory = output.room(HTTP2FrameHead.size)
        guard memory.count >= HTTP2FrameHead.size else { return }
        memory[0] = UInt8(truncatingIfNeeded: length >> 16)
        memory[1] = UInt8(truncatingIfNeeded: length >> 8)
        memory[2] = UInt8(truncatingIfNeeded: length)
        memory[3] = kind.rawValue
        memory[4] = flags
        memory[5] = UInt8(truncatingIfNeeded: stream >> 24)
        memory[6] = UInt8(truncatingIfNeeded: stream >> 16)
        memory[7] = UInt8(truncatingIfNeeded: stream >> 8)
        memory[8] = UInt8(truncatingIfNeeded: stream)
        output.advance(HTTP2FrameHead.size)
    }

    /// The first bytes of a client (RFC 9113 section 3.4).
    mutating func preface() {
        let text: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        output.append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func settings(_ entries: [(HTTP2Settings.Name, UInt32)]) {
        head(.settings, length: entries.count * 6, stream: 0)
        for (name, value) in entries {
            output.append(UInt8(truncatingIfNeeded: name.rawValue >> 8))
            output.append(UInt8(truncatingIfNeeded: name.rawValue))
            output.append(number: value)
        }
    }

    mutating func settingsAck() { head(.settings, length: 0, flags: HTTP2FrameHead.ack, stream: 0) }

    mutating func ping(_ payload: UnsafeRawBufferPointer, isAck: Bool) {
        guard payload.count == 8 else { return }
        head(.ping, length: 8, flags: isAck ? HTTP2FrameHead.ack : 0, stream: 0)
        output.append(payload)
    }

    mutating func windowUpdate(_ increment: Int, stream: UInt32) {
        guard increment > 0, increment <= 0x7FFF_FFFF else { return }
        head(.windowUpdate, length: 4, stream: stream)
        output.append(number: UInt32(increment))  // safe: between 1 and 2^31-1
    }

    mutating func reset(_ stream: UInt32, _ code: HTTP2ErrorCode) {
        head(.resetStream, length: 4, stream: stream)
        output.append(number: code.rawValue)
    }

    mutating func goAway(last stream: UInt32, _ code: HTTP2ErrorCode) {
        head(.goAway, length: 8, stream: 0)
        output.append(number: stream)
        output.append(number: code.rawValue)
    }

    /// Begins HEADERS: the caller writes the block of fields to `output`, then calls `endHeaders` with the returned
    /// value.
    mutating func beginHeaders(stream: UInt32, endStream: Bool) -> Int {
        let start = output.count
        let flags = endStream ? HTTP2FrameHead.endStream : 0
        head(.headers, length: 0, flags: flags | HTTP2FrameHead.endHeaders, stream: stream)
        return start
    }

    /// A block that is longer than a frame is continued in CONTINUATION.
    mutating func endHeaders(_ start: Int, stream: UInt32, endStream: Bool) {
        let length = output.count - start - HTTP2FrameHead.size
        guard length > Self.mostPayload else { return output.set(length: length, at: start) }
        let block = Array(output.bytes[(start + HTTP2FrameHead.size)...])
        output.truncate(to: start)
        var position = 0
        while position < block.count {
            let end = min(block.count, position + Self.mostPayload)
            let isFirst = position == 0
            var flags = end == block.count ? HTTP2FrameHead.endHeaders : 0
            if isFirst, endStream { flags |= HTTP2FrameHead.endStream }
            head(isFirst ? .headers : .continuation, length: end - position, flags: flags, stream: stream)
            block.withUnsafeBytes { output.append(UnsafeRawBufferPointer(rebasing: $0[position..<end])) }
            position = end
        }
    }
}
