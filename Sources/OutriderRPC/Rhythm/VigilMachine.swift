// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides whether an idle event loop stays awake for the next event, or sleeps.
///
/// Waking up costs both sides more than a small call. If events have followed each other closely for some time, as when
/// a program makes call after call, the loop stays awake for a moment (a vigil). Each successful vigil pays for a
/// quarter of a vain vigil; when the credit is used up, twice as many close events are needed to begin again. So at
/// most every fifth vigil is in vain, and one or two more for every `fewest` close events, soon for far more of them.
/// Where events are rare there is no vigil. Where other processes need the processor, events come late, and vigils end
/// by themselves.
package struct VigilMachine: Sendable {
    /// The longest vigil, in nanoseconds.
    package static let patience: Int64 = 100_000
    /// The longest gap that counts as close, in nanoseconds, including the wake-up and the work for the event.
    package static let close: Int64 = 250_000
    /// Close events before the first vigil.
    package static let fewest = 8
    /// Upper limit of close events before a vigil.
    package static let most = 1024
    /// Successful vigils before fewer close events are required again.
    package static let proof = 64
    /// The price of a vain vigil, in successful vigils.
    package static let price = 4
    /// Upper limit of the credit, in successful vigils.
    package static let memory = 8

    private var run = 0
    private var wanted = VigilMachine.fewest
    private var wellKept = 0
    /// Credit for vain vigils; at zero there are no vigils.
    private var credit = 0

    package init() {}

    /// An event is handled that came `gap` nanoseconds after the loop became idle. True if a vigil follows.
    package mutating func turned(after gap: Int64) -> Bool {
        if credit > 0 { return true }
        run = gap <= Self.close ? run + 1 : 0
        guard run >= wanted else { return false }
        credit = 1
        return true
    }

    /// An event came during a vigil.
    package mutating func came() {
        credit = min(credit + 1, Self.memory)
        wellKept += 1
        guard wellKept >= Self.proof else { return }
        wellKept = 0
        wanted = max(wanted / 2, Self.fewest)
    }

    /// A vigil ended without an event.
    package mutating func missed() {
        credit -= Self.price
        guard credit <= 0 else { return }
        (credit, run, wellKept) = (0, 0, 0)
        wanted = min(wanted * 2, Self.most)
    }
}
