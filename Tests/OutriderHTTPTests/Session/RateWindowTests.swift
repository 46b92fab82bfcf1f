// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// `#expect` calls no mutating members.
private final class Window {
    var window: RateWindow

    init(requests: Int, seconds: Double) {
        window = RateWindow(AdmissionLimits.Rate(requests: requests, seconds: seconds), now: 0)
    }

    func take() -> Bool { window.take() }
}

struct RateWindowTests {
    @Test func `those that have begun count until the window has passed`() {
        let one = Window(requests: 2, seconds: 1)
        #expect(one.take())
        one.window.pass(to: 0.75)
        #expect(one.take() && !one.take())
        #expect(one.window.delay(at: 0.75) == 0.25)
        one.window.pass(to: 1)
        #expect(one.take() && !one.take(), "the second still counts")
        #expect(one.window.delay(at: 1) == 0.75)
        one.window.pass(to: 0)
        #expect(!one.take(), "a clock that goes back stands still")
    }

    @Test func `another rate counts what has begun before`() {
        let one = Window(requests: 3, seconds: 1)
        #expect(one.take() && one.take() && one.take())
        one.window.rate = AdmissionLimits.Rate(requests: 4, seconds: 2)
        one.window.pass(to: 1.5)
        #expect(one.take() && !one.take())
        one.window.rate = AdmissionLimits.Rate(requests: 1, seconds: 2)
        one.window.pass(to: 2)
        #expect(!one.take() && one.window.delay(at: 2) == 1.5)
    }

    @Test(arguments: [1, 5, 256, 257, 1000, 100_000])
    func `no window has more, and hardly fewer`(requests: Int) {
        var random = SeededRandom(seed: UInt64(requests))
        let one = Window(requests: requests, seconds: 1)
        var begun: [Double] = []
        var now = 0.0
        while now < 5 {
            one.window.pass(to: now)
            while Int.random(in: 0...requests, using: &random) > 0, one.take() { begun.append(now) }
            now += Double.random(in: 0...0.02, using: &random)
        }
        let gaps = begun.indices.dropFirst(requests).map { begun[$0] - begun[$0 - requests] }
        #expect(gaps.min() ?? 0 > 1 - 1e-9)
        #expect(begun.count >= requests * 4)
    }
}
