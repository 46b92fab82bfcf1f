// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// The state model: two processes want new tokens at the same moment, and anything may happen to them.
@Suite struct RotationInterleavingTests {
    /// Runs both in every order; who is killed starts anew. Then a third wants the next tokens, and nothing happens to it.
    private static func play(
        forgives: Bool, faults: Int, _ choices: inout Choices
    ) -> (world: RotationWorld, ends: [RotationMachine.End], last: RotationMachine.End?) {
        var world = RotationWorld(forgives: forgives, faults: faults)
        var waiting = [0, 1]
        var ends: [RotationMachine.End] = []
        var attempt: UInt64 = 100
        while !waiting.isEmpty {
            let index = choices.choose(waiting.count)
            attempt += 10
            if let end = try? world.run(newerThan: 1, attempt: attempt, &choices) {
                ends.append(end)
                waiting.remove(at: index)
            }
        }
        world.faultsLeft = 0
        world.files.pause = nil
        let generation = max(world.files.record.value?.generation ?? 0, world.files.escrow.value?.generation ?? 0)
        let last = try? world.run(newerThan: generation, attempt: 900, &choices)
        return (world, ends, last)
    }

    @Test("no order of steps, deaths and lost responses loses a login", arguments: [true, false])
    func everything(forgives: Bool) {
        var choices = Choices()
        var count = 0
        repeat {
            let (world, _, last) = Self.play(forgives: forgives, faults: 3, &choices)
            count += 1
            if !world.broken.isEmpty { Issue.record("\(world.broken)") }
            if case .tokens? = last { continue }
            guard case .failed(let failure)? = last else {
                Issue.record("\(String(describing: last))")
                continue
            }
            if !world.isLossExplained || failure.reason != "refresh_outcome_unknown" {
                Issue.record(
                    "a login was lost: \(failure.reason), sent \(world.presented), responses \(world.responses)")
            }
        } while choices.advance() && count < 3_000_000
        #expect(count > 1000, "\(count) orders")
        #expect(count < 3_000_000, "not all orders were tried")
    }

    @Test func `without faults two processes send one request`() {
        var choices = Choices()
        repeat {
            let (world, ends, _) = Self.play(forgives: false, faults: 0, &choices)
            #expect(world.presented == [1: 1, 2: 1])
            #expect(ends.count == 2)
            for end in ends {
                guard case .tokens(let record, isSaved: true) = end else {
                    Issue.record("\(end)")
                    continue
                }
                #expect(record.generation == 2)
            }
        } while choices.advance()
    }
}
