// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization
import Testing

@testable import OutriderEngine

/// Work that is done once for all who want it.
@Suite struct SingleFlightTests {
    /// Something that is opened once.
    private final class Gate: Sendable {
        let (stream, opener) = AsyncStream<Void>.makeStream()

        func wait() async { for await _ in stream { return } }
    }

    @Test func `many join, one works, and the next who comes later works anew`() async {
        let flight = SingleFlight<Int>()
        let (gate, begun) = (Gate(), Gate())
        let runs = Mutex(0)
        let work: @Sendable () async -> Int = {
            begun.opener.yield()
            await gate.wait()
            return runs.withLock { runs in
                runs += 1
                return runs
            }
        }
        async let first = flight.join(work)
        await begun.wait()
        let others = (0..<8).map { _ in Task { await flight.join(work) } }
        let gone = Task { await flight.join(work) }
        gone.cancel()
        #expect(await gone.value == nil)
        gate.opener.finish()
        #expect(await first == 1)
        // a caller that joined too late for the first works once more
        for other in others { #expect((await other.value ?? 0) >= 1) }
        let before = runs.withLock { $0 }
        #expect(await flight.join(work) == before + 1)
    }
}
