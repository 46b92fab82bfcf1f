// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CZlib
import NIOCore
import OutriderHTTP

/// Compresses a body piece by piece with zlib.
// proof: one call at a time, which is what its owners see to.
final class DeflateStream: CompressionStream, @unchecked Sendable {
    /// Fast enough not to slow an upload down; the first two bytes of a deflate body are then 78 5E.
    private static let level: Int32 = 5
    private static let roomBytes = 64 << 10

    static let library = "zlib"

    var isDone = false
    private let stream: UnsafeMutablePointer<z_stream>
    private var isOpen = false

    init(_ coding: BodyCoding) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // safe: a constant of the library's own layout
        let size = Int32(MemoryLayout<z_stream>.size)
        // 15 is the largest window; 16 more means a gzip header
        isOpen =
            deflateInit2_(
                stream, Self.level, Z_DEFLATED, coding == .gzip ? 15 + 16 : 15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                size) == Z_OK
    }

    deinit {
        if isOpen { deflateEnd(stream) }
        stream.deallocate()
    }

    func step(_ input: ByteBuffer, isLast: Bool, into output: inout ByteBuffer) -> (taken: Int, isDrained: Bool)? {
        guard isOpen else { return nil }
        let available = UInt32(clamping: input.readableBytes)
        var taken = 0
        var code = Z_OK
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: min(Self.roomBytes, input.readableBytes + 1024)) {
            target in
            let room = UInt32(clamping: target.count)
            input.withUnsafeReadableBytes { source in
                stream.pointee.next_in = UnsafeMutablePointer(
                    mutating: source.bindMemory(to: UInt8.self).baseAddress)
                stream.pointee.avail_in = available
                stream.pointee.next_out = target.bindMemory(to: UInt8.self).baseAddress
                stream.pointee.avail_out = room
                code = CZlib.deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                taken = Int(available &- stream.pointee.avail_in)  // safe: not more than what was there
                stream.pointee.next_in = nil
            }
            return Int(room &- stream.pointee.avail_out)  // safe: not more than the room
        }
        guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { return nil }
        return (taken, code == Z_STREAM_END || stream.pointee.avail_out > 0)
    }
}
