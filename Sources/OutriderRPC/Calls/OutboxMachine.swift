// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package struct OutboxLimits: Sendable {
    /// Events wait, or are dropped, from here on. Default 1 MiB.
    package var eventBytes = 1 << 20
    /// Nothing more is read from the client from here on, until half of it is gone. Default 8 MiB.
    package var pauseBytes = 8 << 20
    /// The client is given up. Default 64 MiB.
    package var closeBytes = 64 << 20

    package init() {}
}

/// What waits to be written to one client.
///
/// One queue, so that everything arrives in the order in which it was queued: events before the reply that ends them,
/// replies before the events of what they name. Events that may be lost are replaced by newer ones of the same key, and
/// dropped when the client is slow; so they never stand in the way of replies for long.
///
/// Responsible for: order, bounds, what is dropped. Not responsible for: writing.
package struct OutboxMachine: ~Copyable {
    private struct Entry {
        var frame: OutgoingFrame
        var key: String?
    }

    private let limits: OutboxLimits
    /// A queue with its front at `front`; nil where an event was replaced.
    private var entries: [Entry?] = []
    private var front = 0
    /// Where the waiting event of a key is: its index since the beginning of time.
    private var keys: [String: Int] = [:]
    private var removed = 0
    /// Unsent bytes.
    package private(set) var bytes = 0
    private var paused = false
    private var overflowed = false
    private var dropped = 0

    package init(limits: OutboxLimits = OutboxLimits()) { self.limits = limits }

    package enum Push: Equatable {
        case queued
        /// Stop reading from this client.
        case pause
        /// The client is too slow: close it. What waited is gone. Said once.
        case overflow
        /// After an overflow: nothing is queued any more.
        case refused
    }

    /// A reply, a question, or an event that must arrive.
    package mutating func push(_ frame: OutgoingFrame) -> Push {
        if overflowed { return .refused }
        append(Entry(frame: frame, key: nil))
        if bytes > limits.closeBytes {
            overflowed = true
            clear()
            return .overflow
        }
        if bytes >= limits.pauseBytes && !paused {
            paused = true
            return .pause
        }
        return .queued
    }

    /// An event that may be lost. False if it was.
    package mutating func offer(_ frame: OutgoingFrame, key: String) -> Bool {
        if overflowed { return false }
        if let index = keys.removeValue(forKey: key) {
            bytes -= entries[index - removed]?.frame.count ?? 0
            entries[index - removed] = nil
        }
        guard hasRoom else {
            dropped += 1
            return false
        }
        keys[key] = removed + entries.count
        append(Entry(frame: frame, key: key))
        return true
    }

    /// The last word to a client that is given up.
    package mutating func lastWord(_ frame: OutgoingFrame) {
        overflowed = true
        clear()
        append(Entry(frame: frame, key: nil))
    }

    /// Whether events may be queued without waiting.
    package var hasRoom: Bool { bytes < limits.eventBytes }

    package var isEmpty: Bool { bytes == 0 }

    /// The next message to write.
    package mutating func next() -> OutgoingFrame? {
        while front < entries.count {
            let entry = entries[front]
            entries[front] = nil
            front += 1
            compact()
            guard let entry else { continue }
            if let key = entry.key { keys[key] = nil }
            bytes -= entry.frame.count
            return entry.frame
        }
        return nil
    }

    /// Whether reading, once paused, may go on. Said once.
    package mutating func resumes() -> Bool {
        guard paused, bytes <= limits.pauseBytes / 2 else { return false }
        paused = false
        return true
    }

    /// How many events were lost since this was last asked; nil while there is no room to tell.
    package mutating func takeDropped() -> Int? {
        guard dropped > 0, hasRoom else { return nil }
        defer { dropped = 0 }
        return dropped
    }

    private mutating func append(_ entry: Entry) {
        entries.append(entry)
        bytes += entry.frame.count
    }

    private mutating func clear() {
        removed += entries.count
        entries = []
        keys = [:]
        front = 0
        bytes = 0
    }

    /// Moves the queue to the front of its array now and then, so that it does not grow for ever.
    private mutating func compact() {
        if front == entries.count {
            removed += front
            entries.removeAll(keepingCapacity: entries.capacity <= 1024)
            front = 0
        } else if front >= 1024 && front * 2 >= entries.count {
            removed += front
            entries.removeFirst(front)
            front = 0
        }
    }
}
