// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Random frames, legal and illegal, and random calls, in random order. `scripts/fuzz http2` plays millions of them.
struct HTTP2ScheduleTests {
    @Test(arguments: 1...60)
    func `every stream ends once, whatever comes`(seed: UInt64) {
        var player = HTTP2Player(seed: seed, wildness: [20, 60, 1000][Int(seed % 3)])
        for _ in 0..<400 where !player.isClosed { player.turn(of: 4) }
        player.end()
        #expect(player.faults.isEmpty)
    }

    @Test(arguments: 1...40)
    func `bytes that are no frames end the connection or are ignored`(seed: UInt64) {
        var player = HTTP2Player(seed: seed &* 7919)
        for _ in 0..<50 {
            player.call()
            player.look()
            player.noise()
            player.deliver()
        }
        player.end()
        #expect(player.faults.isEmpty)
    }
}
