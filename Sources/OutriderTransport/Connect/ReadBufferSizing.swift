// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOPosix
import NIOSSL

/// The size of a read from the network: small, until a body turns out to be long.
///
/// Large reads cost fewer system calls, and fewer acknowledgements that go with them. TLS gathers all reads of a turn in one
/// memory that stays with the connection, and copies all of it for each turn in which a reader keeps a piece. Its size is a
/// power of two with room for another record, so one read in a turn is best: 128 KiB for small reads, 256 KiB for large.
/// Longer reads than that would keep small requests waiting, because a turn of the loop then takes longer.
struct ReadBufferSizing {
    /// Bytes of a response before reads become larger.
    private static let shortBytes = 512 << 10
    private static let wideBytes = 128 << 10
    /// A large read that brings fewer bytes is the last.
    private static let leastBytes = 32 << 10
    /// Reads of at most 64 KiB in a turn.
    static let usualReads: UInt = 1

    private var seen = 0
    private var isWide = false
    /// Gets the buffer of each large read; nil with TLS, whose buffer does not come from the socket.
    private var spare: SpareBuffer?

    /// Counts received bytes.
    mutating func took(_ bytes: ByteBuffer, from channel: any Channel) {
        if let spare {
            // NIO fills the buffer of an earlier read once more
            guard bytes.capacity == Self.wideBytes else { return }
            spare.value = bytes
            // a reader that keeps a little keeps the whole buffer
            if bytes.readableBytes < Self.leastBytes { reset(channel) }
        } else if !isWide {
            seen &+= bytes.readableBytes
            if seen > Self.shortBytes { widen(channel) }
        }
    }

    /// A body of so many bytes begins.
    mutating func expect(_ bytes: Int64, from channel: any Channel) {
        if !isWide, bytes > Self.shortBytes { widen(channel) }
    }

    private mutating func widen(_ channel: any Channel) {
        isWide = true
        if (try? channel.pipeline.syncOperations.handler(type: NIOSSLHandler.self)) != nil {
            set(FixedSizeRecvByteBufferAllocator(capacity: Self.wideBytes), on: channel)
        } else {
            let spare = WideReads.spare(of: channel.eventLoop)
            self.spare = spare
            set(WideReads(bytes: Self.wideBytes, spare: spare), on: channel)
        }
    }

    /// The response is over, or its reader is behind: a connection that is silent, or waits, keeps no large buffer.
    mutating func reset(_ channel: any Channel) {
        seen = 0
        guard isWide else { return }
        isWide = false
        spare = nil
        set(AdaptiveRecvByteBufferAllocator(), on: channel)
    }

    private func set(_ room: any RecvByteBufferAllocator, on channel: any Channel) {
        // a channel without this option keeps its own
        try? channel.syncOptions?.setOption(.recvAllocator, value: room)
    }
}

/// The buffer of the last large read on an event loop.
private typealias SpareBuffer = NIOLoopBoundBox<ByteBuffer>

/// Large reads of all connections of an event loop, into the same buffer unless a reader has kept a part of that buffer: new
/// memory costs a page fault for every 4 KiB. NIO's own reads leave a buffer with each connection for good.
private struct WideReads: RecvByteBufferAllocator {
    private static let spares = ThreadSpecificVariable<SpareBuffer>()

    let bytes: Int
    let spare: SpareBuffer

    /// On the loop.
    static func spare(of loop: any EventLoop) -> SpareBuffer {
        if let spare = spares.currentValue, spare.eventLoop === loop { return spare }
        let spare = SpareBuffer(ByteBuffer(), eventLoop: loop)
        spares.currentValue = spare
        return spare
    }

    func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        spare.withValue { spare in
            let isFree = spare.modifyIfUniquelyOwned { $0.clear() } != nil
            // the reader of a buffer in use has to find it unchanged
            defer { spare = ByteBuffer() }
            return isFree && spare.capacity == bytes ? spare : allocator.buffer(capacity: bytes)
        }
    }

    /// Unknown, so that NIO asks for a buffer before each read.
    func nextBufferSize() -> Int? { nil }

    mutating func record(actualReadBytes: Int) -> Bool { true }
}
