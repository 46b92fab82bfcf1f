// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package struct OutboxLimits: Sendable {
    /// Events wait, or are dropped, from here on. Default 1 MiB.
    package var eventBytes = 1 << 20
    /// Nothing more is read from the client from here on, until half of it is gone. Default 8 MiB.
    package var pauseBytes = 8 << 20
    /// From here on a client that takes nothing is given up after a sixth of the patience. Default 64 MiB.
    package var closeBytes = 64 << 20
    /// It is written in between, while calls that have come together are still being started. Default 256 KiB.
    package var flushBytes = 256 << 10
    /// How long a client may take nothing, while more than `pauseBytes` wait for it. Default 60 s.
    package var patience = Duration.seconds(60)

    /// So often in the patience it is looked at whether the client takes anything.
    package static let checks = 6

    package init() {}
}

/// What waits to be written to one client.
///
/// One queue, so that everything arrives in the order in which it was queued: events before the reply that ends them,
/// replies before the events of what they name. Events that may be lost are replaced by newer ones of the same key, and
/// dropped when the client is slow; so they never stand in the way of replies for long.
///
/// A client that reads has its answers, however many they are; one that takes nothing for a while is given up. While much
/// waits for it none of its calls is started, so that no more is queued than the calls in progress come to.
///
/// Responsible for: order, bounds, what is dropped, who is given up. Not responsible for: writing, time.
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
    private var isGivenUp = false
    private var dropped = 0
    /// Bytes that have left the queue, and what of them had been delivered when it was last looked at.
    private var taken = 0
    private var delivered: Int?
    /// How often in a row nothing had been.
    private var idleChecks = 0

    package init(limits: OutboxLimits = OutboxLimits()) { self.limits = limits }

    package enum Push: Equatable {
        case queued
        /// Stop reading from this client, and look from time to time whether it takes anything.
        case pause
        /// The client has been given up: nothing is queued any more.
        case refused
    }

    package enum Check: Equatable {
        /// There is nothing to look at any more.
        case over
        case again
        /// It takes nothing: close it.
        case giveUp
    }

    /// A reply, a question, or an event that must arrive.
    package mutating func push(_ frame: OutgoingFrame) -> Push {
        if isGivenUp { return .refused }
        append(Entry(frame: frame, key: nil))
        if bytes >= limits.pauseBytes && !paused {
            paused = true
            return .pause
        }
        return .queued
    }

    /// Whether the client still takes what is sent. To be asked when reading is paused, and `OutboxLimits.checks` times in
    /// each patience from then on; `unwritten` is how much of what left the queue has not been delivered.
    package mutating func check(unwritten: Int) -> Check {
        guard paused, !isGivenUp else {
            delivered = nil
            idleChecks = 0
            return .over
        }
        let now = taken &- unwritten
        idleChecks = delivered == now ? idleChecks + 1 : 0
        delivered = now
        return idleChecks >= (bytes > limits.closeBytes ? 1 : OutboxLimits.checks) ? .giveUp : .again
    }

    /// An event that may be lost. False if it was.
    package mutating func offer(_ frame: OutgoingFrame, key: String) -> Bool {
        if isGivenUp { return false }
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
        isGivenUp = true
        clear()
        append(Entry(frame: frame, key: nil))
    }

    /// Whether events may be queued without waiting.
    package var hasRoom: Bool { bytes < limits.eventBytes }

    package var isEmpty: Bool { bytes == 0 }

    /// Whether so much waits that it is written before anything else is done.
    package var isLong: Bool { bytes >= limits.flushBytes }

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
            taken &+= entry.frame.count
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
