// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// Work in the order in which it is due. No work is due before an earlier entry, so adding and removing take the same short
/// time however much waits.
struct ExpiryLine<Work> {
    private var works: [UInt64: Work] = [:]
    /// The numbers in order, also of works that were removed since the last tidying.
    private var order: [(number: UInt64, due: NIODeadline)] = []
    /// The place in `order` that is due next.
    private var next = 0
    private var last: UInt64 = 0

    var count: Int { works.count }
    /// Places of the order, also of work that is gone.
    var places: Int { order.count &- next }

    /// Adds work; returns its number.
    ///
    /// - Parameter due: not before that of the work added last.
    mutating func add(_ work: Work, due: NIODeadline) -> UInt64 {
        last &+= 1
        works[last] = work
        order.append((last, due))
        return last
    }

    /// Removes work; nil if taken or removed before. The caller drops the work, since that may run other code.
    mutating func remove(_ number: UInt64) -> Work? {
        guard let work = works.removeValue(forKey: number) else { return nil }
        tidy()
        return work
    }

    /// Takes work that is due by now: the earliest, and at most so much.
    mutating func take(at now: NIODeadline, most: Int) -> [Work] {
        var taken: [Work] = []
        while taken.count < most, let due = nextDue, due <= now {
            if let work = works.removeValue(forKey: order[next].number) { taken.append(work) }
            next += 1
        }
        tidy()
        return taken
    }

    /// When the next work is due; nil without work.
    var nextDue: NIODeadline? {
        mutating get {
            while next < order.count, works[order[next].number] == nil { next += 1 }
            return next < order.count ? order[next].due : nil
        }
    }

    /// Forgets the places of removed work once these are the most, and gives their memory back.
    private mutating func tidy() {
        guard order.count > 2 * works.count + 64 else { return }
        order = order[next...].filter { works[$0.number] != nil }
        next = 0
        works = works.filter { _ in true }
    }
}
