// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderJSON

/// A client's bytes that are not parsed yet, without further copies: bytes that may belong to a secret are zeroed in
/// all memory that they leave.
///
/// Bytes that came in one piece stay where the socket put them. A frame in several pieces is collected in memory of its
/// own.
struct ReadBuffer: ~Copyable {
    private var bytes = ByteBuffer()
    /// Whether the memory was allocated here. NIO keeps and reuses its read buffers.
    private var isOwn = false

    /// Bytes.
    var count: Int { bytes.readableBytes }

    deinit { Self.erase(bytes, bytes.readableBytes) }

    borrowing func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        bytes.withUnsafeReadableBytes { body($0.bindMemory(to: UInt8.self)) }
    }

    /// - Parameter erasing: whether the frame that is being collected may hold secrets. False is cheaper.
    mutating func append(_ more: ByteBuffer, erasing: Bool) {
        guard count > 0 else {
            (bytes, isOwn) = (more, false)
            return
        }
        if !erasing {
            bytes.writeImmutableBuffer(more)
            isOwn = true
            return
        }
        if !isOwn || bytes.writableBytes < more.readableBytes {
            var larger = ByteBufferAllocator().buffer(capacity: max(2 * count, count + more.readableBytes))
            larger.writeImmutableBuffer(bytes)
            Self.erase(bytes, count)
            (bytes, isOwn) = (larger, true)
        }
        bytes.writeImmutableBuffer(more)
        Self.erase(more, more.readableBytes)
    }

    /// A frame for another thread: the memory itself if no further bytes stand in it, else a copy.
    borrowing func frame(_ range: Range<Int>, _ consumed: Int) -> ByteBuffer {
        let start = bytes.readerIndex &+ range.lowerBound
        if consumed == count, let frame = bytes.getSlice(at: start, length: range.count) { return frame }
        return withBytes { ByteBuffer(bytes: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: $0[range]))) }
    }

    /// Skips consumed bytes.
    mutating func consume(_ count: Int, erasing: Bool) {
        let count = min(count, bytes.readableBytes)
        if erasing { Self.erase(bytes, count) }
        bytes.moveReaderIndex(forwardBy: count)
    }

    /// Moves all bytes to the caller.
    mutating func take() -> ByteBuffer {
        let taken = bytes
        drop(erasing: false)
        return taken
    }

    mutating func drop(erasing: Bool) {
        if erasing { Self.erase(bytes, bytes.readableBytes) }
        (bytes, isOwn) = (ByteBuffer(), false)
    }

    /// Frees consumed bytes, so that a long connection does not accumulate memory.
    mutating func tidy() {
        if bytes.readableBytes == 0 {
            drop(erasing: false)
        } else if bytes.readerIndex > 64 << 10 && bytes.readerIndex > bytes.readableBytes {
            var rest = ByteBufferAllocator().buffer(capacity: bytes.readableBytes)
            rest.writeImmutableBuffer(bytes)
            drop(erasing: true)
            (bytes, isOwn) = (rest, true)
        }
    }

    /// Zeroes the first readable bytes in place. A write through the buffer would copy the bytes first, since NIO holds
    /// on to the memory until its next read; no other code reads them.
    private static func erase(_ bytes: ByteBuffer, _ count: Int) {
        bytes.withUnsafeReadableBytes { readable in
            let first = UnsafeRawBufferPointer(rebasing: readable.prefix(count))
            SecretBuffer.erase(UnsafeMutableRawBufferPointer(mutating: first))
        }
    }
}
