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

    @Test(arguments: [true, false])
    func `a proxy that cannot reach the server for now is asked again`(isTransient: Bool) {
        let failure = HTTPFailure(.proxyRefused, "the proxy refused", phase: .proxy, retryable: isTransient)
        var policy = WebSocketReconnect.Policy()
        policy.isEnabled = true
        var rules = WebSocketReconnect(policy)
        rules.opened(now: 0)
        _ = rules.ended(.closed(1006), now: 10, chance: 0)
        let step = rules.ended(.refused(failure), now: 11, chance: 0)
        #expect((step == .fail(failure)) == !isTransient)
    }

    private struct Unexpected: Error {}
}
