// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderServer

/// A loop in which one event follows the other.
private final class Rhythm {
    var machine = BusyPollPolicy()

    func isPollingAfterClose() -> Bool { machine.turned(after: BusyPollPolicy.close) }

    func isPollingAfterRare() -> Bool { machine.turned(after: BusyPollPolicy.close + 1) }

    /// How many close events it takes until there is a poll; nil if there is none.
    func closeEventsToPolling() -> Int? { (1...BusyPollPolicy.most + 1).first { _ in isPollingAfterClose() } }
}

struct BusyPollPolicyTests {
    private let rhythm = Rhythm()

    @Test func `close events bring polls after a while, as long as these go well`() {
        #expect(rhythm.closeEventsToPolling() == BusyPollPolicy.fewest)
        for _ in 0..<1000 {
            rhythm.machine.came()
            #expect(rhythm.isPollingAfterClose())
        }
    }

    @Test func `rare events bring none, however many they are, and with close ones between them`() {
        for _ in 0..<1000 {
            for _ in 1..<BusyPollPolicy.fewest { #expect(!rhythm.isPollingAfterClose()) }
            #expect(!rhythm.isPollingAfterRare())
        }
    }

    @Test func `a late event among many close ones does not begin the count anew`() {
        for _ in 0..<5 { rhythm.machine.missed() }
        let wanted = BusyPollPolicy.fewest << 5
        let events = (1...2 * wanted).first { number in
            number.isMultiple(of: 32) ? rhythm.isPollingAfterRare() : rhythm.isPollingAfterClose()
        }
        #expect(events.map { $0 > wanted && $0 < 3 * wanted / 2 } == true)
    }

    @Test func `the first poll in vain ends them, and doubles what it takes, up to a limit`() {
        var wanted = BusyPollPolicy.fewest
        while wanted < BusyPollPolicy.most {
            #expect(rhythm.closeEventsToPolling() == wanted)
            rhythm.machine.missed()
            #expect(!rhythm.isPollingAfterClose())
            #expect(!rhythm.isPollingAfterRare())
            wanted *= 2
        }
        rhythm.machine.missed()
        #expect(rhythm.closeEventsToPolling() == BusyPollPolicy.most)
    }

    @Test func `those that went well pay for one in vain, and not for two`() {
        #expect(rhythm.closeEventsToPolling() == BusyPollPolicy.fewest)
        for _ in 0..<1000 { rhythm.machine.came() }
        rhythm.machine.missed()
        #expect(rhythm.isPollingAfterRare())
        rhythm.machine.missed()
        #expect(!rhythm.isPollingAfterClose())
    }

    @Test func `polls end if most of them are long`() {
        #expect(rhythm.closeEventsToPolling() == BusyPollPolicy.fewest)
        for _ in 0..<1000 {
            rhythm.machine.came(after: BusyPollPolicy.short + 1)
            rhythm.machine.came(after: BusyPollPolicy.short)
        }
        #expect(rhythm.isPollingAfterRare())
        for _ in 1..<BusyPollPolicy.tolerance {
            #expect(rhythm.isPollingAfterRare())
            rhythm.machine.came(after: BusyPollPolicy.short + 1)
        }
        rhythm.machine.came(after: BusyPollPolicy.short + 1)
        #expect(!rhythm.isPollingAfterRare())
        #expect(rhythm.closeEventsToPolling() == BusyPollPolicy.fewest * 2)
    }

    @Test func `polls that go well make up for those in vain`() {
        for _ in 0..<3 { rhythm.machine.missed() }
        #expect(rhythm.closeEventsToPolling() == BusyPollPolicy.fewest * 8)
        for _ in 0..<4 * BusyPollPolicy.proof { rhythm.machine.came() }
        for _ in 0..<2 { rhythm.machine.missed() }
        #expect(!rhythm.isPollingAfterRare())
        #expect(rhythm.closeEventsToPolling() == BusyPollPolicy.fewest * 2)
    }

    @Test func `however events fall, what is wasted is little beside the events`() {
        // the worst there is: just enough close events, and then none
        var machine = BusyPollPolicy()
        var events = 0
        var wasted: Int64 = 0
        while events < 100_000 {
            events += 1
            guard machine.turned(after: 0) else { continue }
            wasted += BusyPollPolicy.patience
            machine.missed()
        }
        #expect(wasted / Int64(events) < 200)
    }

    @Test func `at most every fifth poll is in vain while they go on`() {
        var machine = BusyPollPolicy()
        for _ in 0..<BusyPollPolicy.fewest { _ = machine.turned(after: 0) }
        var (kept, inVain) = (0, 0)
        while machine.turned(after: 0), kept < 10_000 {
            kept += 1
            machine.came()
            if kept.isMultiple(of: 4) {
                inVain += 1
                machine.missed()
            }
        }
        #expect(inVain <= kept / 4)
        #expect(kept == 10_000)
    }
}
