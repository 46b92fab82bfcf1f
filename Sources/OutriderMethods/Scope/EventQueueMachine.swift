// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC

/// Events that wait until a client comes for them: so many, and of so many bytes.
///
/// When there are too many, one that may be lost goes, the oldest or the newest as the client wants it, and is counted.
/// One that must not be lost goes only where nothing else is left to go.
struct EventQueueMachine {
    /// Which event is dropped when there is no room.
    enum Drop: String, Sendable, CaseIterable { case oldest, newest }

    struct Entry: Sendable {
        var event: Event
        var mayBeLost: Bool
        /// False if it has lost its purpose, or went to somebody else meanwhile. Asked once, when it is taken.
        var claim: (@Sendable () -> Bool)?
        /// Whether nobody needs it any more.
        var isStale: (@Sendable () -> Bool)?

        init(
            _ event: Event, mayBeLost: Bool, claim: (@Sendable () -> Bool)? = nil,
            isStale: (@Sendable () -> Bool)? = nil
        ) {
            self.event = event
            self.mayBeLost = mayBeLost
            self.claim = claim
            self.isStale = isStale
        }

        /// What it costs to keep.
        var bytes: Int { event.params.bytes.count &+ 64 }
    }

    private let limit: Int
    private let byteLimit: Int
    private let drop: Drop
    private var entries: [Entry] = []
    private(set) var bytes = 0
    /// Since the last time somebody took any.
    private(set) var dropped = 0

    init(limit: Int = 256, bytes: Int = 1 << 20, drop: Drop = .oldest) {
        self.limit = max(1, limit)
        byteLimit = bytes
        self.drop = drop
    }

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }

    mutating func push(_ entry: Entry) {
        if isFull(with: entry) { sweep() }
        if drop == .newest, entry.mayBeLost, isFull(with: entry) {
            dropped &+= 1
            return
        }
        while isFull(with: entry), let index = victim() {
            bytes &-= entries.remove(at: index).bytes
            dropped &+= 1
        }
        entries.append(entry)
        bytes &+= entry.bytes
    }

    /// The oldest ones, up to so many and so many bytes, but at least one if there is any.
    mutating func take(_ most: Int, bytes mostBytes: Int = .max) -> (events: [Event], dropped: Int) {
        var taken: [Event] = []
        var size = 0
        var front = 0
        while front < entries.count, taken.count < most {
            let entry = entries[front]
            if !taken.isEmpty, size &+ entry.bytes > mostBytes { break }
            front += 1
            bytes &-= entry.bytes
            guard entry.claim?() != false else { continue }
            size &+= entry.bytes
            taken.append(entry.event)
        }
        entries.removeFirst(front)
        defer { dropped = 0 }
        return (taken, dropped)
    }

    /// What nobody needs makes room first, and is not counted.
    private mutating func sweep() {
        entries.removeAll { $0.isStale?() == true }
        bytes = entries.reduce(0) { $0 &+ $1.bytes }
    }

    private func isFull(with entry: Entry) -> Bool {
        !entries.isEmpty && (entries.count >= limit || bytes &+ entry.bytes > byteLimit)
    }

    private func victim() -> Int? {
        entries.firstIndex { $0.mayBeLost } ?? entries.indices.first
    }
}
