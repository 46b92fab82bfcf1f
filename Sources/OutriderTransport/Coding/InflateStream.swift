// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CZlib
import NIOCore

/// A gzip (RFC 1952) or deflate (RFC 1950, RFC 1951) stream, inflated by zlib. Not thread-safe.
///
/// gzip may have several members; checksums are verified; bytes after the last member are ignored. deflate should have
/// zlib's header, but some servers omit it: the first two bytes decide.
final class InflateStream: DecodingStream {
    enum Format { case gzip, deflate }

    /// Whether the (last) member has ended.
    private(set) var isComplete = false

    private let format: Format
    private let stream: UnsafeMutablePointer<z_stream>
    private var isOpen = false
    private var input = ByteBuffer()
    /// Bytes that begin no member were found behind one: the rest is ignored, however it is cut into pieces.
    private var isOver = false
    /// Why the data is damaged, behind the output that came before the damage.
    private var fault: String?

    init(_ format: Format) {
        self.format = format
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if isOpen { inflateEnd(stream) }
        stream.deallocate()
    }

    /// Only after `needsInput`.
    func feed(_ more: ByteBuffer) {
        if isOver { return }
        if input.readableBytes == 0 { input = more } else { input.writeImmutableBuffer(more) }
    }

    func next() -> DecodingStep {
        if let fault { return .malformed(fault) }
        while input.readableBytes > 0 {
            if isComplete {
                switch nextMember() {
                case .begun: break
                case .unknown: return .needsInput
                case .none:
                    isOver = true
                    input = ByteBuffer()
                    return .needsInput
                }
            }
            if !isOpen {
                guard let bits = windowBits() else { return .needsInput }
                // safe: a constant of the library's own layout
                let size = Int32(MemoryLayout<z_stream>.size)
                guard inflateInit2_(stream, bits, ZLIB_VERSION, size) == Z_OK else {
                    return .malformed("out of memory")
                }
                isOpen = true
            }
            var output = ByteBuffer()
            let code = inflate(into: &output)
            switch code {
            case Z_STREAM_END: isComplete = true
            case Z_OK, Z_BUF_ERROR: break
            default: return damaged(code, after: output)
            }
            if output.readableBytes > 0 { return .output(output) }
            if code == Z_BUF_ERROR { return .needsInput }
        }
        // zlib may hold back output after taking all input
        return isOpen && !isComplete ? flush() : .needsInput
    }

    private func damaged(_ code: Int32, after output: ByteBuffer) -> DecodingStep {
        let reason = reason(code)
        fault = reason
        return output.readableBytes > 0 ? .output(output) : .malformed(reason)
    }

    private func flush() -> DecodingStep {
        var output = ByteBuffer()
        let code = inflate(into: &output)
        switch code {
        case Z_STREAM_END: isComplete = true
        case Z_OK, Z_BUF_ERROR: break
        default: return damaged(code, after: output)
        }
        return output.readableBytes > 0 ? .output(output) : .needsInput
    }

    private func inflate(into output: inout ByteBuffer) -> Int32 {
        var code = Z_OK
        let available = UInt32(clamping: input.readableBytes)
        output.reserveCapacity(CodingRoom.bytes(for: input))
        let room = UInt32(clamping: min(output.writableBytes, CodingRoom.piece))
        var taken = 0
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: 0) { target in
            input.withUnsafeReadableBytes { source in
                stream.pointee.next_in = UnsafeMutablePointer(
                    mutating: source.bindMemory(to: UInt8.self).baseAddress)
                stream.pointee.avail_in = available
                stream.pointee.next_out = target.bindMemory(to: UInt8.self).baseAddress
                stream.pointee.avail_out = room
                code = CZlib.inflate(stream, Z_NO_FLUSH)
                taken = Int(available &- stream.pointee.avail_in)  // safe: not more than what was there
                stream.pointee.next_in = nil
            }
            return Int(room &- stream.pointee.avail_out)  // safe: not more than the room
        }
        input.drop(taken)
        return code
    }

    private enum Member { case begun, unknown, none }

    /// After the end of a gzip member: whether another member follows.
    private func nextMember() -> Member {
        guard format == .gzip, input.getInteger(at: input.readerIndex, as: UInt8.self) == 0x1F else { return .none }
        guard let second = input.getInteger(at: input.readerIndex + 1, as: UInt8.self) else { return .unknown }
        guard second == 0x8B, inflateReset(stream) == Z_OK else { return .none }
        isComplete = false
        return .begun
    }

    /// 15 is the largest window; 16 more means a gzip header, a negative number no header.
    private func windowBits() -> Int32? {
        guard format == .deflate else { return 15 + 16 }
        guard let header = input.getInteger(at: input.readerIndex, as: UInt16.self) else { return nil }
        return header % 31 == 0 && header & 0x0F00 == 0x0800 ? 15 : -15
    }

    private func reason(_ code: Int32) -> String {
        stream.pointee.msg.map { String(cString: $0) } ?? "zlib says \(code)"
    }
}
