// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Testing

/// Threads that rest between pieces of work.
@Suite(.timeLimit(.minutes(1)))
struct BlockingThreadsTests {
    /// Tells when its work ran, and when it was let go.
    private final class File: Sendable {
        let moments: AsyncStream<ContinuousClock.Instant>.Continuation

        init(_ moments: AsyncStream<ContinuousClock.Instant>.Continuation) { self.moments = moments }

        func work() { moments.yield(.now) }

        deinit {
            moments.yield(.now)
            moments.finish()
        }
    }

    @Test func `a thread that rests keeps nothing of its last work`() async {
        let threads = BlockingThreads(1, name: "test")
        // the first work starts the thread, and the second wakes it
        for _ in 0..<2 {
            let (told, moments) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
            threads.run(for: ClientKey(1)) { [file = File(moments)] in file.work() }
            let found = await told.reduce(into: []) { $0.append($1) }
            // a thread ends after ten seconds, and lets go of everything then
            #expect(found.count == 2 && found[1] - found[0] < .seconds(5))
        }
    }
}
