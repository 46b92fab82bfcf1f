// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOPosix
import OutriderRPC
import Testing

@testable import OutriderServer

struct LoopVigilTests {
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

    /// The outcome of the first turn in which there was a vigil.
    private func firstVigil(_ vigil: LoopVigil) -> LoopVigil.Outcome {
        for _ in 0..<VigilMachine.most {
            let outcome = vigil.turned(after: 0)
            if outcome != .noVigil { return outcome }
        }
        return .noVigil
    }

    @Test func `a vigil ends with what comes`() {
        let pipe = Pipe()
        let vigil = LoopVigil(selector: pipe.input)
        pipe.ring()
        #expect(firstVigil(vigil) == .came)
    }

    @Test func `a vigil in vain ends by itself, and the next is far`() {
        let pipe = Pipe()
        let vigil = LoopVigil(selector: pipe.input)
        #expect(firstVigil(vigil) == .missed)
        for _ in 1..<2 * VigilMachine.fewest { #expect(vigil.turned(after: 0) == .noVigil) }
        #expect(vigil.turned(after: 0) == .missed)
    }

    @Test func `without a descriptor to watch there is no vigil`() {
        #expect(firstVigil(LoopVigil(selector: nil)) == .noVigil)
    }

    @Test func `a loop with rare events is left alone`() {
        let pipe = Pipe()
        let vigil = LoopVigil(selector: pipe.input)
        pipe.ring()
        for _ in 0..<1000 { #expect(vigil.turned(after: VigilMachine.close + 1) == .noVigil) }
    }

    @Test func `the descriptor of a loop is found, and that of a pipe is not`() async throws {
        let group = LoopVigil.makeGroup()
        let pipe = Pipe()
        let found = LoopVigil.selectors(below: 4096)
        #expect(!found.isEmpty)
        #expect(!found.contains(pipe.input))
        try await group.shutdownGracefully()
    }
}
