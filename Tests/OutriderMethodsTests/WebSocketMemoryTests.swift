// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderRPC
import Testing

@testable import OutriderMethods

/// The memory of messages that wait to be sent on a WebSocket.
struct WebSocketMemoryTests {
    private let budget = MemoryBudget(1000)

    private func charge(_ bytes: Int) throws -> MemoryCharge {
        try #require(BodyQuota(budget: budget).message(bytes))
    }

    @Test func `memory is given back as the kernel takes the bytes`() throws {
        var sending = WebSocketSending()
        for _ in 0..<2 {
            sending.append([UInt8](repeating: 1, count: 50))
            sending.count(try charge(100))
        }
        _ = sending.wrote(49)
        #expect(budget.counts.held == 200)
        _ = sending.wrote(1)
        #expect(budget.counts.held == 100)
        _ = sending.wrote(50)
        #expect(budget.counts.held == 0)
    }

    @Test func `messages of the handshake hold no memory once the kernel has them`() throws {
        var sending = WebSocketSending()
        sending.keep(OutgoingMessage(isText: false, bytes: [UInt8](repeating: 1, count: 50)))
        sending.count(try charge(100))
        for message in sending.takeEarly() { sending.append(message.bytes) }
        sending.countEarly()
        // something waits at each moment
        sending.append([UInt8](repeating: 1, count: 50))
        sending.count(try charge(200))
        _ = sending.wrote(50)
        #expect(budget.counts.held == 200)
        sending.append([1])
        _ = sending.wrote(50)
        #expect(budget.counts.held == 0 && sending.waiting == 1)
    }

    @Test func `what waits beyond 64 KiB is counted in both directions, and nothing more is read without memory`() {
        let budget = MemoryBudget(16 << 20)
        var memory = WebSocketMemory(BodyQuota(budget: budget))
        _ = memory.wait(64 << 10)
        #expect(budget.counts.held == 0 && !memory.isFull)
        _ = memory.wait(1 << 20)
        #expect(budget.counts.held == 960 << 10 && !memory.isFull)
        _ = memory.wait(16 << 20)
        #expect(budget.counts.held == (16 << 20) - (64 << 10) && memory.isFull)
        // as much as before waits, although the memory for it has been taken by now
        _ = memory.wait(16 << 20)
        #expect(memory.isFull)
        let (long, short) = (memory.maySend(1 << 20), memory.maySend(64 << 10))
        #expect(!long && short)
        _ = memory.wait(0)
        let isLongSent = memory.maySend(1 << 20)
        #expect(isLongSent && !memory.isFull && budget.counts.held == 960 << 10)
        _ = memory.sent(0)
        #expect(budget.counts.held == 0)
    }

    @Test func `a connection that is lost gives memory back`() throws {
        var sending = WebSocketSending()
        sending.append([UInt8](repeating: 1, count: 50))
        sending.count(try charge(100))
        sending.reset()
        #expect(budget.counts.held == 0)
    }
}
