// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderRPC
import Synchronization
import Testing

@testable import OutriderMethods

/// Streams of a client without memory for their bytes.
struct UploadStreamTests {
    /// Neither memory nor disk has room.
    private final class NoMemory: PayloadMemory {
        private let refusals = Mutex(0)
        var refused: Int { refusals.withLock { $0 } }

        func take(_ bytes: Int) -> (any PayloadCharge)? { nil }
        func wait(_ bytes: Int, _ tell: @escaping @Sendable (any PayloadCharge) -> Void) -> UInt64 { 0 }
        func cancelWait(_ id: UInt64) {}
        func hold(_ bytes: Int) -> (any PayloadCharge)? { nil }
        func countRefusal() { refusals.withLock { $0 += 1 } }
        func spill(_ bytes: [UInt8], _ done: @escaping @Sendable ((any SpilledPayload)?) -> Void) { done(nil) }
    }

    /// Memory with room, which counts the bytes.
    private final class Memory: PayloadMemory {
        private final class Charge: PayloadCharge {
            let isBeyond = false
            let bytes: Int
            private let end: Mutex<(@Sendable () -> Void)?>

            init(_ bytes: Int, _ end: @escaping @Sendable () -> Void) {
                self.bytes = bytes
                self.end = Mutex(end)
            }

            deinit { release() }

            func grow(by more: Int) -> Bool { false }
            func take(over other: any PayloadCharge) {}
            func giveWay() {}
            func release() {
                let end = end.withLock { end in
                    defer { end = nil }
                    return end
                }
                end?()
            }
        }

        private let count = Mutex(0)
        var held: Int { count.withLock { $0 } }

        func take(_ bytes: Int) -> (any PayloadCharge)? { hold(bytes) }
        func wait(_ bytes: Int, _ tell: @escaping @Sendable (any PayloadCharge) -> Void) -> UInt64 { 0 }
        func cancelWait(_ id: UInt64) {}
        func hold(_ bytes: Int) -> (any PayloadCharge)? {
            count.withLock { $0 += bytes }
            return Charge(bytes) { [weak self] in self?.count.withLock { $0 -= bytes } }
        }
        func countRefusal() {}
        func spill(_ bytes: [UInt8], _ done: @escaping @Sendable ((any SpilledPayload)?) -> Void) { done(nil) }
    }

    private final class Steps: Sendable {
        private let bytes = Mutex<[UInt8]>([])
        var taken: [UInt8] { bytes.withLock { $0 } }

        private let failures = Mutex<[HTTPFailure]>([])
        var now: [HTTPFailure] { failures.withLock { $0 } }

        func add(_ step: BodyFeedStep) {
            if case .failed(let failure) = step { failures.withLock { $0.append(failure) } }
            if case .bytes(let some) = step { bytes.withLock { $0 += some } }
        }
    }

    @Test func `a stream without room fails with the remedy`() {
        let (stream, memory, steps) = (UploadStream(), NoMemory(), Steps())
        let refusal = stream.take([UInt8](repeating: 1, count: 100_000), memory: memory)
        if case .some = refusal { Issue.record("refused") }
        #expect(memory.refused == 1)
        stream.next { steps.add($0) }
        #expect(steps.now.map(\.kind) == [.limitExceeded] && steps.now[0].message.contains("--memory"))
        guard case .wrongState(let text)? = stream.take([1]) else {
            Issue.record("not refused")
            return
        }
        #expect(text.contains("--memory"))
    }

    @Test func `calls that ask a full stream for room leave nothing behind`() async throws {
        let stream = UploadStream()
        _ = stream.take([UInt8](repeating: 1, count: UploadStream.capacity))
        for _ in 0..<100 { #expect(try await stream.room(.zero) == 0) }
        #expect(try await stream.room(.milliseconds(1)) == 0)
        #expect(stream.state.withLock { $0.writers.isEmpty })
    }

    @Test func `bytes that the network takes at once need no memory`() {
        let (stream, memory, steps) = (UploadStream(), NoMemory(), Steps())
        stream.next { steps.add($0) }
        let refusal = stream.take([UInt8](repeating: 1, count: 100_000), memory: memory)
        if case .some = refusal { Issue.record("refused") }
        #expect(memory.refused == 0 && steps.now.isEmpty && stream.isOpen)
    }

    @Test func `short pieces that wait are counted together, and keep their order`() {
        let (stream, memory, steps) = (UploadStream(), Memory(), Steps())
        let pieces = (0..<200).map { [UInt8](repeating: UInt8($0), count: 5000 + $0) }
        // long and short pieces by turns leave no more uncounted
        for (number, piece) in pieces.enumerated() {
            let bytes = number % 50 == 49 ? [UInt8](repeating: UInt8(number), count: 70_000) + piece : piece
            if case .some = stream.take(bytes, memory: memory) { Issue.record("refused") }
        }
        let total = pieces.map(\.count).reduce(4 * 70_000, +)
        #expect(memory.held > total - LongBody.counted - 1 && memory.held <= total)
        while steps.taken.count < total { stream.next { steps.add($0) } }
        #expect(steps.taken.count == total && memory.held == 0)
        #expect(zip(steps.taken, steps.taken.dropFirst()).allSatisfy { $0 <= $1 })
        _ = stream.finish()
        #expect(stream.written == total)
    }

    @Test func `the end of a stream gives the memory of its pieces back`() {
        let (stream, memory) = (UploadStream(), Memory())
        for _ in 0..<30 { _ = stream.take([UInt8](repeating: 1, count: 60_000), memory: memory) }
        #expect(memory.held > 30 * 60_000 - LongBody.counted - 1)
        stream.close()
        #expect(memory.held == 0)
    }

    @Test func `a stream that its client closes fails as closed`() {
        let (stream, steps) = (UploadStream(), Steps())
        stream.close()
        stream.next { steps.add($0) }
        #expect(steps.now.map(\.kind) == [.inputStreamReadFailed])
    }
}
