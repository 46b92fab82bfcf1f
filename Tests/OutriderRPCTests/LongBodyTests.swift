// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Synchronization
import Testing

@testable import OutriderRPC

/// Long messages that wait for a client: in memory, or in a file.
struct LongBodyTests {
    /// A service whose memory is full; spilled bytes wait for `finish`.
    private final class FullMemory: PayloadMemory {
        private struct State {
            var spilled: [(bytes: [UInt8], done: @Sendable ((any SpilledPayload)?) -> Void)] = []
        }

        private let state = Mutex(State())

        var spilled: Int { state.withLock { $0.spilled.count } }

        func take(_ bytes: Int) -> (any PayloadCharge)? { nil }
        func wait(_ bytes: Int, _ tell: @escaping @Sendable (any PayloadCharge) -> Void) -> UInt64 { 0 }
        func cancelWait(_ id: UInt64) {}
        func hold(_ bytes: Int) -> (any PayloadCharge)? { nil }
        func countRefusal() {}

        func spill(_ bytes: [UInt8], _ done: @escaping @Sendable ((any SpilledPayload)?) -> Void) {
            state.withLock { $0.spilled.append((bytes, done)) }
        }

        /// - Parameter hasRoom: whether the disk has room.
        func finish(hasRoom: Bool = true) {
            for (bytes, done) in state.withLock({ $0.spilled }) { done(hasRoom ? File(bytes) : nil) }
        }
    }

    private final class File: SpilledPayload {
        let bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        func read(at offset: Int, count: Int, _ done: @escaping @Sendable ([UInt8]?) -> Void) {
            done(Array(bytes[offset..<offset + count]))
        }
    }

    private final class Box<Value: Sendable>: Sendable {
        private let value: Mutex<Value>
        init(_ value: Value) { self.value = Mutex(value) }
        var now: Value { value.withLock { $0 } }
        func set(_ new: Value) { value.withLock { $0 = new } }
    }

    private static func frame() -> OutgoingFrame {
        let text = JSONText(written: Array("\"\(String(repeating: "abcdefg", count: 30_000))\"".utf8))
        return Outgoing.result(.integer(7), text).frame(.line)
    }

    @Test(arguments: [false, true])
    func `a message leaves whole in pieces, from memory and from its file`(isLimited: Bool) throws {
        let whole = Self.frame().bytes
        var frame = Self.frame()
        let made = frame.lengthen()
        let long = try #require(made)
        var outbox = OutboxMachine()
        _ = outbox.push(frame)
        var bytes: [UInt8] = []
        let memory = FullMemory()
        // neither before it is counted nor while a file is written
        #expect(outbox.next(most: 60_000) == nil)
        if isLimited {
            #expect(!long.settle(memory))
            #expect(outbox.next(most: 60_000) == nil)
            memory.finish()
        } else {
            long.settle()
        }
        while let piece = outbox.next(most: 60_000) {
            switch long.place {
            case .memory(let body): piece.forEach(body: body, from: 0) { bytes += $0 }
            case .file(let file):
                let range = piece.bodyRange
                let read = Box<[UInt8]>([])
                file.read(at: range.lowerBound, count: range.count) { read.set($0 ?? []) }
                piece.forEach(body: read.now, from: range.lowerBound) { bytes += $0 }
            }
            #expect(piece.isLast == (bytes.count == whole.count))
        }
        #expect(bytes == whole && memory.spilled == (isLimited ? 1 : 0))
    }

    @Test func `a message that has left is neither moved nor refused`() throws {
        var frame = Self.frame()
        let made = frame.lengthen()
        let long = try #require(made)
        let memory = FullMemory()
        let failure = Box(false)
        long.settle(memory) { _ in failure.set(true) }
        long.end()
        memory.finish(hasRoom: false)
        #expect(long.settle(memory) { _ in failure.set(true) })
        #expect(memory.spilled == 1 && !failure.now)
    }

    @Test func `another message takes the place of a message without room, or none does`() throws {
        var outbox = OutboxMachine()
        var longs: [LongBody] = []
        func short(_ id: Int64) -> OutgoingFrame {
            Outgoing.result(.integer(id), JSONText(written: [0x31])).frame(.line)
        }
        for id: Int64 in 0..<2 {
            _ = outbox.push(short(id))
            var frame = Self.frame()
            longs += [frame.lengthen()].compactMap(\.self)
            _ = outbox.push(frame)
        }
        _ = outbox.push(short(2))
        outbox.replace(longs[0], with: short(7))
        outbox.replace(longs[1], with: nil)
        outbox.countDropped()
        let expected = [0, 7, 1, 2].flatMap { short($0).bytes }
        #expect(outbox.bytes == expected.count)
        var bytes: [UInt8] = []
        while let piece = outbox.next(most: 1000) { piece.forEach { bytes += $0 } }
        #expect(bytes == expected && outbox.isEmpty && outbox.takeDropped() == 1)
    }

    @Test func `a message without room in memory and on disk is reported`() throws {
        var frame = Self.frame()
        let made = frame.lengthen()
        let long = try #require(made)
        let memory = FullMemory()
        let failure = Box(false)
        long.settle(memory) { failure.set(!$0) }
        memory.finish(hasRoom: false)
        #expect(failure.now && !long.isSettled)
        if case .memory(let bytes) = long.place { #expect(bytes.count == long.count) }
    }
}
