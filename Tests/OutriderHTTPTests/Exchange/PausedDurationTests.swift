// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

struct PausedDurationTests {
    @Test func `time counts as held from the first who holds to the last who lets go`() {
        let start = ContinuousClock.now
        var held = PausedDuration()
        #expect(held.total(at: start) == .zero)
        held.hold(at: start + .seconds(1))
        held.hold(at: start + .seconds(2))
        #expect(held.isHeld && held.total(at: start + .seconds(3)) == .seconds(2))
        held.release(at: start + .seconds(4))
        #expect(held.isHeld && held.total(at: start + .seconds(5)) == .seconds(4))
        held.release(at: start + .seconds(6))
        #expect(!held.isHeld && held.total(at: start + .seconds(9)) == .seconds(5))
        held.release(at: start + .seconds(9))
        held.hold(at: start + .seconds(10))
        #expect(held.total(at: start + .seconds(11)) == .seconds(6))
    }
}
