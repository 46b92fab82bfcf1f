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

    private final class Steps: Sendable {
        private let failures = Mutex<[HTTPFailure]>([])
        var now: [HTTPFailure] { failures.withLock { $0 } }

        func add(_ step: BodyFeedStep) {
            if case .failed(let failure) = step { failures.withLock { $0.append(failure) } }
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

    @Test func `bytes that the network takes at once need no memory`() {
        let (stream, memory, steps) = (UploadStream(), NoMemory(), Steps())
        stream.next { steps.add($0) }
        let refusal = stream.take([UInt8](repeating: 1, count: 100_000), memory: memory)
        if case .some = refusal { Issue.record("refused") }
        #expect(memory.refused == 0 && steps.now.isEmpty && stream.isOpen)
    }

    @Test func `a stream that its client closes fails as closed`() {
        let (stream, steps) = (UploadStream(), Steps())
        stream.close()
        stream.next { steps.add($0) }
        #expect(steps.now.map(\.kind) == [.inputStreamReadFailed])
    }
}
