// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// The size of a read from the network: small, until a body turns out to be long.
///
/// Four reads of 64 KiB and two of 128 KiB hold equally much at most, but two cost half of the system calls, and of the
/// acknowledgements that go with them.
struct ReadRoom {
    /// Bytes of a response before reads become larger.
    private static let shortBytes = 512 << 10
    private static let wideBytes = 128 << 10
    private static let usual = (room: AdaptiveRecvByteBufferAllocator(), reads: UInt(4))

    private var seen = 0
    private var isWide = false

    /// Counts received bytes.
    mutating func took(_ bytes: Int, from channel: any Channel) {
        guard !isWide else { return }
        seen &+= bytes
        guard seen > Self.shortBytes else { return }
        isWide = true
        set(FixedSizeRecvByteBufferAllocator(capacity: Self.wideBytes), reads: 2, on: channel)
    }

    /// The response is over; an idle connection keeps no large buffer.
    mutating func reset(_ channel: any Channel) {
        seen = 0
        guard isWide else { return }
        isWide = false
        set(Self.usual.room, reads: Self.usual.reads, on: channel)
    }

    private func set(_ room: any RecvByteBufferAllocator, reads: UInt, on channel: any Channel) {
        guard let options = channel.syncOptions else { return }
        // a channel without these options keeps its own
        try? options.setOption(.recvAllocator, value: room)
        try? options.setOption(.maxMessagesPerRead, value: reads)
    }
}
