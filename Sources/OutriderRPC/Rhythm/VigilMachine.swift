// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Whether a loop that has nothing to do stays awake for what comes next, or sleeps.
///
/// Being woken costs more than a small call, on both sides. So while one event has followed the other closely for some
/// time, as it does when a program makes one call after the other, the loop stays awake for a moment. A vigil in vain
/// ends that: the next takes twice as many close events. So at most a moment is wasted for every `fewest` events, soon
/// far less, and nothing at all where events are rare. Where others need the processor, what is waited for comes late, and
/// vigils end by themselves.
package struct VigilMachine: Sendable {
    /// How long a vigil may last, in nanoseconds.
    package static let patience: Int64 = 100_000
    /// What counts as close, in nanoseconds: the work that the event brings is part of that time.
    package static let close: Int64 = 150_000
    /// Close events before the first vigil.
    package static let fewest = 8
    /// Close events before a vigil, at most.
    package static let most = 1024
    /// Vigils that must go well before fewer close events are asked for again.
    package static let proof = 64

    private var run = 0
    private var wanted = VigilMachine.fewest
    private var wellKept = 0

    package init() {}

    /// Something came, so many nanoseconds after the loop had nothing left to do, and is done. True for a vigil.
    package mutating func turned(after gap: Int64) -> Bool {
        run = gap <= Self.close ? min(run + 1, Self.most) : 0
        return run >= wanted
    }

    /// During a vigil something came.
    package mutating func came() {
        wellKept += 1
        guard wellKept >= Self.proof else { return }
        wellKept = 0
        wanted = max(wanted / 2, Self.fewest)
    }

    /// A vigil was in vain.
    package mutating func missed() {
        run = 0
        wellKept = 0
        wanted = min(wanted * 2, Self.most)
    }
}
