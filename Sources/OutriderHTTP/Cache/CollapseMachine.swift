// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Lets requests for one response share one exchange: who reads, who goes alone, when the exchange is given up.
///
///     requesting ──▶ filling ──▶ over
///       └───────────┴──────────▲ (failure, no reader left, nothing to share)
///
/// No request leads: each is a reader, and any of them may leave.
package struct CollapseMachine: Sendable {
    package enum Phase: Sendable, Equatable { case requesting, filling, over }

    /// What follows from an event.
    package enum Step: Sendable, Equatable {
        case none
        /// The exchange is cancelled.
        case cancel
        /// All readers get the response.
        case share
        /// The first reader keeps the response; the others go alone.
        case keep(Int, alone: [Int])
        /// These readers learn of the failure; the others begin anew.
        case fail([Int], again: [Int])
    }

    /// More requests than these do not share one exchange.
    package static let mostReaders = 1000

    package private(set) var phase = Phase.requesting
    /// In the order in which they came.
    package private(set) var readers: [Int] = []
    /// Whether the response may be stored.
    package private(set) var isStorable = true
    private var isJoinable = true
    /// The reader whose request was sent.
    private var sender: Int?

    package init() {}

    /// Whether the request may read along.
    package mutating func join(_ reader: Int) -> Bool {
        guard isJoinable, isStorable, phase != .over, readers.count < Self.mostReaders else { return false }
        if readers.isEmpty, sender == nil { sender = reader }
        readers.append(reader)
        return true
    }

    /// A reader is cancelled, has waited too long, or has read everything.
    ///
    /// - Parameter isNearlyDone: little of the body is missing, so it is read to its end for the store.
    package mutating func leave(_ reader: Int, isNearlyDone: Bool = false) -> Step {
        readers.removeAll { $0 == reader }
        guard readers.isEmpty, phase != .over else { return .none }
        if phase == .filling, isNearlyDone, isStorable { return .none }
        phase = .over
        return .cancel
    }

    /// The head of the response has come.
    ///
    /// - Parameter mayShare: the response is stored, or updates a stored one.
    package mutating func responded(mayShare: Bool, others: [Int]) -> Step {
        guard phase == .requesting, let first = readers.first else { return .none }
        if mayShare {
            phase = .filling
            readers.removeAll { others.contains($0) }
            return .share
        }
        phase = .over
        isStorable = false
        let keeper = readers.contains(sender ?? first) ? sender ?? first : first
        let alone = readers.filter { $0 != keeper }
        readers = []
        return .keep(keeper, alone: alone)
    }

    /// The exchange has failed before the head came.
    ///
    /// - Parameter isOfSender: the failure belongs to the request that was sent, as its own time limit does.
    package mutating func failed(isOfSender: Bool) -> Step {
        guard phase == .requesting else { return .none }
        phase = .over
        defer { readers = [] }
        guard isOfSender else { return .fail(readers, again: []) }
        return .fail(readers.filter { $0 == sender }, again: readers.filter { $0 != sender })
    }

    /// The body has ended, well or badly.
    package mutating func ended() { phase = .over }

    /// The URL was invalidated, or the entry is not to be stored: readers are served, and no request joins.
    package mutating func unkey() { isStorable = false }

    /// No further request joins; the response is stored.
    package mutating func unjoinable() { isJoinable = false }
}
