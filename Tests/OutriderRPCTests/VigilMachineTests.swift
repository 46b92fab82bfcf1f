// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC
import Testing

/// A loop in which one event follows the other.
private final class Rhythm {
    var machine = VigilMachine()

    func isVigilAfterClose() -> Bool { machine.turned(after: VigilMachine.close) }

    func isVigilAfterRare() -> Bool { machine.turned(after: VigilMachine.close + 1) }

    /// How many close events it takes until there is a vigil; nil if there is none.
    func closeEventsToVigil() -> Int? { (1...VigilMachine.most + 1).first { _ in isVigilAfterClose() } }
}

struct VigilMachineTests {
    private let rhythm = Rhythm()

    @Test func `close events bring vigils after a while, as long as these go well`() {
        #expect(rhythm.closeEventsToVigil() == VigilMachine.fewest)
        for _ in 0..<1000 {
            rhythm.machine.came()
            #expect(rhythm.isVigilAfterClose())
        }
    }

    @Test func `rare events bring none, however many they are, and with close ones between them`() {
        for _ in 0..<1000 {
            for _ in 1..<VigilMachine.fewest { #expect(!rhythm.isVigilAfterClose()) }
            #expect(!rhythm.isVigilAfterRare())
        }
    }

    @Test func `the first vigil in vain ends them, and doubles what it takes, up to a limit`() {
        var wanted = VigilMachine.fewest
        while wanted < VigilMachine.most {
            #expect(rhythm.closeEventsToVigil() == wanted)
            rhythm.machine.missed()
            #expect(!rhythm.isVigilAfterClose())
            #expect(!rhythm.isVigilAfterRare())
            wanted *= 2
        }
        rhythm.machine.missed()
        #expect(rhythm.closeEventsToVigil() == VigilMachine.most)
    }

    @Test func `those that went well pay for one in vain, and not for two`() {
        #expect(rhythm.closeEventsToVigil() == VigilMachine.fewest)
        for _ in 0..<1000 { rhythm.machine.came() }
        rhythm.machine.missed()
        #expect(rhythm.isVigilAfterRare())
        rhythm.machine.missed()
        #expect(!rhythm.isVigilAfterClose())
    }

    @Test func `vigils that go well make up for those in vain`() {
        for _ in 0..<3 { rhythm.machine.missed() }
        #expect(rhythm.closeEventsToVigil() == VigilMachine.fewest * 8)
        for _ in 0..<4 * VigilMachine.proof { rhythm.machine.came() }
        for _ in 0..<2 { rhythm.machine.missed() }
        #expect(!rhythm.isVigilAfterRare())
        #expect(rhythm.closeEventsToVigil() == VigilMachine.fewest * 2)
    }

    @Test func `however events fall, what is wasted is little beside the events`() {
        // the worst there is: just enough close events, and then none
        var machine = VigilMachine()
        var events = 0
        var wasted: Int64 = 0
        while events < 100_000 {
            events += 1
            guard machine.turned(after: 0) else { continue }
            wasted += VigilMachine.patience
            machine.missed()
        }
        #expect(wasted / Int64(events) < 200)
    }

    @Test func `at most every fifth vigil is in vain while they go on`() {
        var machine = VigilMachine()
        for _ in 0..<VigilMachine.fewest { _ = machine.turned(after: 0) }
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
