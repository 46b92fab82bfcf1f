// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import NIOPosix
import Testing

@testable import OutriderTransport

struct ReadBufferSizingTests {
    private static let long = ByteBuffer(repeating: 0x6D, count: 600 << 10)

    @Test func `large reads share a buffer, unless a reader has kept a part of it`() async throws {
        try await Self.onLoop { channel in
            var room = ReadBufferSizing()
            room.took(Self.long, from: channel)
            let first = try Self.fill(channel)
            #expect(first.capacity == 128 << 10)
            room.took(first, from: channel)
            let kept = try #require(first.getSlice(at: 100_000, length: 5))
            let place = try Self.readIntoAnother(than: first, &room, channel)
            #expect(kept == ByteBuffer(string: "mmmmm"))
            // the reader has kept nothing of the second read
            let third = try Self.fill(channel)
            #expect(Self.address(third) == place)
        }
    }

    @Test func `a reader that is behind, and a little read, make reads small again`() async throws {
        try await Self.onLoop { (channel: any Channel) throws in
            var room = ReadBufferSizing()
            room.took(Self.long, from: channel)
            #expect(try Self.isLarge(channel))
            room.reset(channel)
            #expect(try !Self.isLarge(channel))
            room.took(Self.long, from: channel)
            #expect(try Self.isLarge(channel))
            // into the buffer of an earlier read
            room.took(ByteBuffer(string: "little"), from: channel)
            #expect(try Self.isLarge(channel))
            var little = try Self.fill(channel)
            little.moveWriterIndex(to: 6)
            room.took(little, from: channel)
            #expect(try !Self.isLarge(channel))
        }
    }

    // MARK: the channel

    /// Runs the work on the event loop of a channel.
    private static func onLoop(_ work: @escaping @Sendable (any Channel) throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let channel = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
        let outcome = await Task { try await channel.eventLoop.submit { try work(channel) }.get() }.result
        try await group.shutdownGracefully()
        try outcome.get()
    }

    /// The place of the read that follows `first`.
    private static func readIntoAnother(
        than first: ByteBuffer, _ room: inout ReadBufferSizing, _ channel: any Channel
    ) throws -> UInt? {
        let second = try fill(channel)
        #expect(address(second) != address(first))
        room.took(second, from: channel)
        return address(second)
    }

    private static func allocator(_ channel: any Channel) throws -> any RecvByteBufferAllocator {
        try #require(channel.syncOptions).getOption(.recvAllocator)
    }

    private static func isLarge(_ channel: any Channel) throws -> Bool {
        try allocator(channel).buffer(allocator: ByteBufferAllocator()).capacity > 64 << 10
    }

    /// The next read.
    private static func fill(_ channel: any Channel) throws -> ByteBuffer {
        var buffer = try allocator(channel).buffer(allocator: ByteBufferAllocator())
        buffer.writeRepeatingByte(0x6D, count: buffer.writableBytes)
        return buffer
    }

    private static func address(_ buffer: ByteBuffer) -> UInt? {
        buffer.withVeryUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
    }
}
