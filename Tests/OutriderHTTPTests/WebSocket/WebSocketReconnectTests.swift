// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

@Suite struct WebSocketReconnectTests {
    @Test func `no delay is longer than maxDelay and its random addition`() throws {
        var policy = WebSocketReconnect.Policy()
        policy.isEnabled = true
        policy.delay = 5
        policy.longest = 1
        var rules = WebSocketReconnect(policy)
        rules.opened(now: 0)
        let step = rules.ended(.closed(1006), now: 10, chance: 1)
        guard case .reconnect(let delay) = step else { throw Unexpected() }
        #expect(delay <= 1.25)
    }

    private struct Unexpected: Error {}
}
