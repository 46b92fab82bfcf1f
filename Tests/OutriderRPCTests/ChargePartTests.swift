// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization
import Testing

@testable import OutriderRPC

/// The memory of a batch.
struct ChargePartTests {
    private final class Count: Sendable {
        private let number = Mutex(0)
        var count: Int { number.withLock { $0 } }
        func add() { number.withLock { $0 += 1 } }
    }

    /// Counts how often memory was given back.
    private final class Whole: PayloadCharge {
        let isBeyond = false
        let bytes = 100
        private let given: Count

        init(_ given: Count) { self.given = given }

        deinit { release() }

        func grow(by more: Int) -> Bool { true }
        func take(over other: any PayloadCharge) {}
        func giveWay() {}
        func release() { given.add() }
    }

    @Test func `the memory is given back after the last call of the batch`() {
        let given = Count()
        let parts = {
            let whole = Whole(given)
            return (0..<3).map { _ in ChargePart(of: whole) }
        }()
        #expect(parts[0].bytes == 100)
        parts[0].release()
        parts[0].release()
        parts[1].release()
        #expect(given.count == 0 && parts[2].bytes == 100)
        parts[2].release()
        #expect(given.count == 1 && parts[0].bytes == 0)
    }

    @Test func `a part that an object keeps holds the memory`() {
        let given = Count()
        var kept: ChargePart? = {
            let whole = Whole(given)
            ChargePart(of: whole).release()
            return ChargePart(of: whole)
        }()
        #expect(given.count == 0 && kept?.isBeyond == false)
        kept = nil
        #expect(given.count == 1)
    }
}
