// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Synchronization
import Testing

@testable import OutriderEngine

/// Work that is done one after the other.
@Suite struct SerialQueueTests {
    /// How many work at this moment.
    private final class Working: Sendable {
        private let count = Mutex(0)

        func change(by step: Int) -> Int {
            count.withLock { count in
                count += step
                return count
            }
        }
    }

    @Test func `works run one at a time, whether they end well or not`() async {
        let (turns, working) = (SerialQueue(), Working())
        let tasks = (0..<100).map { number in
            Task { () async -> Bool in
                do throws(OAuthFailure) {
                    return try await turns.take { () async throws(OAuthFailure) in
                        #expect(working.change(by: 1) == 1)
                        await Task.yield()
                        #expect(working.change(by: -1) == 0)
                        if number % 3 == 0 { throw OAuthFailure(.store, "no", "no") }
                        return true
                    }
                } catch {
                    return false
                }
            }
        }
        for (number, task) in tasks.enumerated() { #expect(await task.value == (number % 3 != 0)) }
        #expect(await turns.take { 7 } == 7)
    }

    @Test func `who is cancelled while he waits has his turn all the same`() async {
        let turns = SerialQueue()
        let (stream, opener) = AsyncStream<Void>.makeStream()
        let (begun, begins) = AsyncStream<Void>.makeStream()
        let first = Task {
            await turns.take {
                begins.finish()
                for await _ in stream {}
                return 1
            }
        }
        for await _ in begun {}
        let second = Task { await turns.take { 2 } }
        second.cancel()
        opener.finish()
        #expect(await first.value == 1)
        #expect(await second.value == 2)
    }
}
