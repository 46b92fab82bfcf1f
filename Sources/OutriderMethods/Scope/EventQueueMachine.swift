// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Events that wait until a client fetches them, limited in number and bytes.
///
/// A full queue drops an event that may be lost, the oldest or the newest as the client wants, and counts the loss. An
/// event that must not be lost is dropped only if all others are such events, too, and one that waits for a reply never:
/// few of those are open on a connection.
struct EventQueueMachine {
    /// Which event is dropped when there is no room.
    enum Drop: String, Sendable, CaseIterable { case oldest, newest }

    struct Entry: Sendable {
        var event: Event
        var mayBeLost: Bool
        /// Called once, when the event is taken; false if the event is obsolete, or was delivered another way
        /// meanwhile.
        var claim: (@Sendable () -> Bool)?
        /// Whether the event is obsolete.
        var isStale: (@Sendable () -> Bool)?
        /// Called when the event is dropped because the client cannot read it.
        var unreadable: (@Sendable () -> Void)?

        init(
            _ event: Event, mayBeLost: Bool, claim: (@Sendable () -> Bool)? = nil,
            isStale: (@Sendable () -> Bool)? = nil, unreadable: (@Sendable () -> Void)? = nil
        ) {
            self.event = event
            self.mayBeLost = mayBeLost
            self.claim = claim
            self.isStale = isStale
            self.unreadable = unreadable
        }

        /// The bytes that count for the limit.
        var bytes: Int { event.params.bytes.count &+ 64 }
    }

    private let limit: Int
    private let byteLimit: Int
    private let drop: Drop
    private var entries: [Entry] = []
    private(set) var bytes = 0
    /// Events dropped since the last `take`.
    private(set) var dropped = 0

    init(limit: Int = 256, bytes: Int = 1 << 20, drop: Drop = .oldest) {
        self.limit = max(1, limit)
        byteLimit = bytes
        self.drop = drop
    }

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    /// - Parameter memory: the bytes for which there is memory. Only events that may be lost are dropped for want of
    ///   memory, the new one, too.
    mutating func push(_ entry: Entry, within memory: Int = .max) {
        if isFull(with: entry) || exceeds(memory, with: entry) { sweep() }
        if drop == .newest, entry.mayBeLost, isFull(with: entry) {
            dropped &+= 1
            return
        }
        while isFull(with: entry), let index = victim() { remove(index) }
        while drop == .oldest, exceeds(memory, with: entry), let index = entries.firstIndex(where: { $0.mayBeLost }) {
            remove(index)
        }
        if entry.mayBeLost, exceeds(memory, with: entry) {
            dropped &+= 1
            return
        }
        entries.append(entry)
        bytes &+= entry.bytes
    }

    /// The oldest events, up to that many and that many bytes, but at least one if there is any.
    ///
    /// - Parameter isReadable: whether the client can read the event; others are dropped, and count as lost.
    mutating func take(
        _ most: Int, bytes mostBytes: Int = .max, isReadable: (Event) -> Bool = { _ in true }
    ) -> (events: [Event], dropped: Int) {
        var taken: [Event] = []
        var size = 0
        var front = 0
        while front < entries.count, taken.count < most {
            let entry = entries[front]
            if !taken.isEmpty, size &+ entry.bytes > mostBytes { break }
            front += 1
            bytes &-= entry.bytes
            guard isReadable(entry.event) else {
                if entry.isStale?() != true {
                    dropped &+= 1
                    entry.unreadable?()
                }
                continue
            }
            guard entry.claim?() != false else { continue }
            size &+= entry.bytes
            taken.append(entry.event)
        }
        entries.removeFirst(front)
        defer { dropped = 0 }
        return (taken, dropped)
    }

    /// Drops obsolete events first, without counting them.
    mutating func sweep() {
        entries.removeAll { $0.isStale?() == true }
        bytes = entries.reduce(0) { $0 &+ $1.bytes }
    }

    private mutating func remove(_ index: Int) {
        bytes &-= entries.remove(at: index).bytes
        dropped &+= 1
    }

    private func exceeds(_ memory: Int, with entry: Entry) -> Bool { bytes &+ entry.bytes > memory }

    private func isFull(with entry: Entry) -> Bool {
        !entries.isEmpty && (entries.count >= limit || bytes &+ entry.bytes > byteLimit)
    }

    private func victim() -> Int? {
        entries.firstIndex { $0.mayBeLost } ?? entries.firstIndex { $0.claim == nil }
    }
}
