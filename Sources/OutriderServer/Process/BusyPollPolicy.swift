// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides whether an idle event loop stays awake for the next event, or sleeps.
///
/// Waking up costs both sides more than a small call. If events have followed each other closely for some time, as when
/// a program makes call after call, the loop polls for a moment instead of sleeping. Each successful poll pays for a
/// quarter of a vain poll; when the credit is used up, twice as many close events are needed to begin again. So at most
/// every fifth poll is in vain, and one or two more for every `fewest` close events, soon for far more of them. A late
/// event takes back as many close ones, so that one among hundreds, as on a busy machine, does not begin the count anew.
/// Where events are rare the loop never polls. Where other processes need the processor, events come late, and polling ends
/// by itself.
///
/// The first polls may take long: the other side still sleeps, and begins to poll when the gaps become shorter. If most
/// polls stay long, they save little, and end.
struct BusyPollPolicy: Sendable {
    /// The longest poll, in nanoseconds. A close event ends a poll in time.
    static let patience = close
    /// The longest gap that counts as close, in nanoseconds. A gap includes the wake-ups of both sides, which polls save: on
    /// a virtual machine these take longer than a small call.
    static let close: Int64 = 500_000
    /// The longest poll that saves much, in nanoseconds.
    static let short: Int64 = 200_000
    /// Long polls before polling ends; a short poll makes up for one.
    static let tolerance = 16
    /// Close events before the first poll.
    static let fewest = 8
    /// Upper limit of close events before a poll.
    static let most = 4096
    /// Successful polls before fewer close events are required again.
    static let proof = 64
    /// The price of a vain poll, in successful polls.
    static let price = 4
    /// Upper limit of the credit, in successful polls.
    static let memory = 8

    private var run = 0
    private var wanted = BusyPollPolicy.fewest
    private var successes = 0
    /// Credit for vain polls; at zero the loop does not poll.
    private var credit = 0
    /// The long polls that are left.
    private var tolerance = BusyPollPolicy.tolerance

    /// An event is handled that came `gap` nanoseconds after the loop became idle. True if a poll follows.
    mutating func turned(after gap: Int64) -> Bool {
        if credit > 0 { return true }
        run = gap <= Self.close ? run + 1 : max(0, run - Self.fewest)
        guard run >= wanted else { return false }
        (credit, tolerance) = (1, Self.tolerance)
        return true
    }

    /// An event came during a poll, after so many nanoseconds.
    mutating func came(after time: Int64 = 0) {
        guard time <= Self.short else {
            tolerance -= 1
            if tolerance <= 0 { end() }
            return
        }
        tolerance = min(tolerance + 1, Self.tolerance)
        credit = min(credit + 1, Self.memory)
        successes += 1
        guard successes >= Self.proof else { return }
        successes = 0
        wanted = max(wanted / 2, Self.fewest)
    }

    /// A poll ended without an event.
    mutating func missed() {
        credit -= Self.price
        if credit <= 0 { end() }
    }

    private mutating func end() {
        (credit, run, successes) = (0, 0, 0)
        wanted = min(wanted * 2, Self.most)
    }
}
