// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A value for each call in progress, at the slot of its ticket: a dictionary would hash the ticket at each look, five
/// times per call.
struct CallSlots<Value> {
    private var entries: [(number: Int, value: Value)?] = []

    /// Nil for a call that has ended, even if a later call has its slot.
    subscript(ticket: CallTicket) -> Value? {
        get {
            guard ticket.slot < entries.count, let entry = entries[ticket.slot], entry.number == ticket.number else {
                return nil
            }
            return entry.value
        }
        set {
            guard let newValue else {
                if self[ticket] != nil { entries[ticket.slot] = nil }
                return
            }
            while entries.count <= ticket.slot { entries.append(nil) }
            entries[ticket.slot] = (ticket.number, newValue)
        }
    }

    /// In the order of the calls.
    var tickets: [CallTicket] {
        entries.enumerated().compactMap { slot, entry in entry.map { CallTicket(number: $0.number, slot: slot) } }
            .sorted { $0.number < $1.number }
    }
}
