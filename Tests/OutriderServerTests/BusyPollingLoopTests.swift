// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOPosix
import Testing

@testable import OutriderServer

struct BusyPollingLoopTests {
    /// A descriptor that is readable once something has been written to the other.
    private final class Pipe {
        let input: Int32
        let output: Int32

        init() {
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            (input, output) = (ends[0], ends[1])
        }

        deinit {
            close(input)
            close(output)
        }

        func ring() { _ = write(output, "x", 1) }
    }

    /// The outcome of the first turn with a poll.
    private func firstPolling(_ polling: BusyPollingLoop) -> BusyPollingLoop.Outcome {
        for _ in 0..<BusyPollPolicy.most {
            let outcome = polling.turned(after: 0)
            if outcome != .noPolling { return outcome }
        }
        return .noPolling
    }

    @Test func `a poll ends with what comes`() {
        let pipe = Pipe()
        let polling = BusyPollingLoop(selector: pipe.input)
        pipe.ring()
        #expect(firstPolling(polling) == .came)
    }

    @Test func `a poll in vain ends by itself, and the next is far`() {
        let pipe = Pipe()
        let polling = BusyPollingLoop(selector: pipe.input)
        #expect(firstPolling(polling) == .missed)
        for _ in 1..<2 * BusyPollPolicy.fewest { #expect(polling.turned(after: 0) == .noPolling) }
        #expect(polling.turned(after: 0) == .missed)
    }

    @Test func `without a descriptor to watch there is no poll`() {
        #expect(firstPolling(BusyPollingLoop(selector: nil)) == .noPolling)
    }

    @Test func `a loop with rare events is left alone`() {
        let pipe = Pipe()
        let polling = BusyPollingLoop(selector: pipe.input)
        pipe.ring()
        for _ in 0..<1000 { #expect(polling.turned(after: BusyPollPolicy.close + 1) == .noPolling) }
    }

    @Test func `the descriptor of a loop is found, and that of a pipe is not`() async throws {
        let group = BusyPollingLoop.makeGroup()
        let pipe = Pipe()
        let found = BusyPollingLoop.selectors(below: 4096)
        #expect(!found.isEmpty)
        #expect(!found.contains(pipe.input))
        try await group.shutdownGracefully()
    }
}
