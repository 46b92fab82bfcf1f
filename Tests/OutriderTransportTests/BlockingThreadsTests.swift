// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Testing

/// Threads that rest between pieces of work.
@Suite(.timeLimit(.minutes(1)))
struct BlockingThreadsTests {
    private final class File: Sendable {
        let closed: AsyncStream<Void>.Continuation

        init(_ closed: AsyncStream<Void>.Continuation) { self.closed = closed }

        deinit { closed.finish() }
    }

    @Test func `a thread that rests keeps nothing of its last work`() async {
        let threads = BlockingThreads(1)
        let clock = ContinuousClock()
        // the first work starts the thread, and the second wakes it
        for _ in 0..<2 {
            let (closing, closed) = AsyncStream.makeStream(of: Void.self)
            let began = clock.now
            threads.run(for: ClientKey(1)) { [file = File(closed)] in _ = file }
            for await _ in closing {}
            // a thread ends after ten seconds, and lets go of everything then
            #expect(clock.now - began < .seconds(5))
        }
    }
}
