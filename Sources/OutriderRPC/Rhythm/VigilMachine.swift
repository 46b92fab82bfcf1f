// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Whether a loop that has nothing to do stays awake for what comes next, or sleeps.
///
/// Being woken costs more than a small call, on both sides. So while one event has followed the other closely for some
/// time, as it does when a program makes one call after the other, the loop stays awake for a moment. Each vigil that goes
/// well pays for a quarter of one in vain; when nothing is left, it takes twice as many close events to begin again. So at
/// most every fifth vigil is in vain, and one or two more for every `fewest` close events, soon for far more of them.
/// Where events are rare there is none. Where others need the processor, what is waited for comes late, and vigils end by
/// themselves.
package struct VigilMachine: Sendable {
    /// How long a vigil may last, in nanoseconds.
    package static let patience: Int64 = 100_000
    /// What counts as close, in nanoseconds: being woken, and the work that the event brings, are part of that time.
    package static let close: Int64 = 250_000
    /// Close events before the first vigil.
    package static let fewest = 8
    /// Close events before a vigil, at most.
    package static let most = 1024
    /// Vigils that must go well before fewer close events are asked for again.
    package static let proof = 64
    /// What a vigil in vain costs, in vigils that go well.
    package static let price = 4
    /// How many that go well are remembered.
    package static let memory = 8

    private var run = 0
    private var wanted = VigilMachine.fewest
    private var wellKept = 0
    /// What vigils in vain may cost; none left for no vigils.
    private var credit = 0

    package init() {}

    /// Something came, so many nanoseconds after the loop had nothing left to do, and is done. True for a vigil.
    package mutating func turned(after gap: Int64) -> Bool {
        if credit > 0 { return true }
        run = gap <= Self.close ? run + 1 : 0
        guard run >= wanted else { return false }
        credit = 1
        return true
    }

    /// During a vigil something came.
    package mutating func came() {
        credit = min(credit + 1, Self.memory)
        wellKept += 1
        guard wellKept >= Self.proof else { return }
        wellKept = 0
        wanted = max(wanted / 2, Self.fewest)
    }

    /// A vigil was in vain.
    package mutating func missed() {
        credit -= Self.price
        guard credit <= 0 else { return }
        (credit, run, wellKept) = (0, 0, 0)
        wanted = min(wanted * 2, Self.most)
    }
}
