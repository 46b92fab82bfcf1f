// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// The size of a read from the network: small, until a body turns out to be long.
///
/// Large reads cost fewer system calls, and fewer acknowledgements that go with them. TLS gathers all reads of a turn in one
/// memory that stays with the connection, and copies all of it for each turn in which a reader keeps a piece. Its size is a
/// power of two with room for another record, so one read in a turn is best: 128 KiB for small reads, 256 KiB for large.
struct ReadBufferSizing {
    /// Bytes of a response before reads become larger.
    private static let shortBytes = 512 << 10
    private static let wideBytes = 128 << 10
    /// Reads of at most 64 KiB in a turn.
    static let usualReads: UInt = 1

    private var seen = 0
    private var isWide = false

    /// Counts received bytes.
    mutating func took(_ bytes: Int, from channel: any Channel) {
        guard !isWide else { return }
        seen &+= bytes
        if seen > Self.shortBytes { widen(channel) }
    }

    /// A body of so many bytes begins.
    mutating func expect(_ bytes: Int64, from channel: any Channel) {
        if !isWide, bytes > Self.shortBytes { widen(channel) }
    }

    private mutating func widen(_ channel: any Channel) {
        isWide = true
        set(FixedSizeRecvByteBufferAllocator(capacity: Self.wideBytes), reads: 1, on: channel)
    }

    /// The response is over; an idle connection keeps no large buffer.
    mutating func reset(_ channel: any Channel) {
        seen = 0
        guard isWide else { return }
        isWide = false
        set(AdaptiveRecvByteBufferAllocator(), reads: Self.usualReads, on: channel)
    }

    private func set(_ room: any RecvByteBufferAllocator, reads: UInt, on channel: any Channel) {
        guard let options = channel.syncOptions else { return }
        // a channel without these options keeps its own
        try? options.setOption(.recvAllocator, value: room)
        try? options.setOption(.maxMessagesPerRead, value: reads)
    }
}
