// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// How much one read takes from the network: little, until a body turns out to be long.
///
/// Four reads of 64 KiB and two of 128 KiB hold as much at most, but two cost half of the system calls, and of the
/// acknowledgements that go with them.
struct ReadRoom {
    /// After so many bytes of one answer it is worth the change.
    private static let shortBytes = 512 << 10
    private static let wideBytes = 128 << 10
    private static let usual = (room: AdaptiveRecvByteBufferAllocator(), reads: UInt(4))

    private var seen = 0
    private var isWide = false

    /// So many bytes came.
    mutating func took(_ bytes: Int, from channel: any Channel) {
        guard !isWide else { return }
        seen &+= bytes
        guard seen > Self.shortBytes else { return }
        isWide = true
        set(FixedSizeRecvByteBufferAllocator(capacity: Self.wideBytes), reads: 2, on: channel)
    }

    /// The answer is over; an idle connection keeps no large buffer.
    mutating func reset(_ channel: any Channel) {
        seen = 0
        guard isWide else { return }
        isWide = false
        set(Self.usual.room, reads: Self.usual.reads, on: channel)
    }

    private func set(_ room: any RecvByteBufferAllocator, reads: UInt, on channel: any Channel) {
        guard let options = channel.syncOptions else { return }
        // what has no such options reads as it likes
        try? options.setOption(.recvAllocator, value: room)
        try? options.setOption(.maxMessagesPerRead, value: reads)
    }
}
