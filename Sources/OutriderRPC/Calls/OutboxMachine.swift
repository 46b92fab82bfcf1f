// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package struct OutboxLimits: Sendable {
    /// Above this limit events wait or are dropped. Default 1 MiB.
    package var eventBytes = 1 << 20
    /// Limit at which the server stops reading from the client, until half of the queue is gone. Default 8 MiB.
    package var pauseBytes = 8 << 20
    /// Above this limit a client that reads nothing is disconnected after a sixth of the patience. Default 64 MiB.
    package var closeBytes = 64 << 20
    /// Limit at which the queue is written before further calls of the same read are started. Default 256 KiB.
    package var flushBytes = 256 << 10
    /// How long a client may read nothing while more than `pauseBytes` are queued. Default 60 s.
    package var patience = Duration.seconds(60)

    /// Number of checks within the patience.
    package static let checks = 6

    package init() {}
}

/// The messages that wait to be written to a client.
///
/// A single queue, so that messages arrive in the order in which they were queued: events before the reply that ends
/// them, replies before the events of the handles they name. A droppable event replaces a waiting event with the same
/// key, and is dropped if the client is slow; so such events never delay replies for long.
///
/// A client that reads gets all its replies, however many; a client that reads nothing for a while is disconnected.
/// While reading is paused none of the client's calls is started, so the queue grows only by the results of calls in
/// progress.
///
/// Responsible for: order, limits, dropping events, giving up a client. Not responsible for: writing, time.
package struct OutboxMachine: ~Copyable {
    private struct Entry {
        var frame: OutgoingFrame
        var key: String?
        /// Bytes of the frame that have left the queue.
        var taken = 0
    }

    private let limits: OutboxLimits
    /// A queue with its front at `front`; nil where an event was replaced.
    private var entries: [Entry?] = []
    private var front = 0
    /// The index of each key's waiting event, counted from the first message ever queued.
    private var keys: [String: Int] = [:]
    private var removed = 0
    /// Bytes of messages that wait. A message that has begun to leave does not count.
    package private(set) var bytes = 0
    /// Unsent bytes of the message that has begun to leave.
    private var rest = 0
    private var paused = false
    private var isGivenUp = false
    private var dropped = 0
    /// Bytes that have left the queue, and how many of them were delivered at the last check.
    private var taken = 0
    private var delivered: Int?
    /// Consecutive checks without progress.
    private var idleChecks = 0

    package init(limits: OutboxLimits = OutboxLimits()) { self.limits = limits }

    package enum Push: Equatable {
        case queued
        /// Stop reading from this client, and check from time to time whether the client reads.
        case pause
        /// The client has been given up: the message is not queued.
        case refused
    }

    package enum Check: Equatable {
        /// No further checks are needed.
        case over
        case again
        /// The client reads nothing: close the connection.
        case giveUp
    }

    /// Queues a reply, a callback, or an event that must arrive.
    package mutating func push(_ frame: OutgoingFrame) -> Push {
        if isGivenUp { return .refused }
        append(Entry(frame: frame, key: nil))
        if bytes >= limits.pauseBytes && !paused {
            paused = true
            return .pause
        }
        return .queued
    }

    /// Checks whether the client reads. To be called when reading is paused, and then `OutboxLimits.checks` times in
    /// each patience; `unwritten` counts the bytes that left the queue but are not delivered.
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

    /// Queues a droppable event. False if the event was dropped.
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

    /// Gives the client up, with a last message. The rest of a begun message goes first.
    package mutating func lastWord(_ frame: OutgoingFrame) {
        isGivenUp = true
        let begun = front < entries.count ? entries[front].flatMap { $0.taken > 0 ? $0 : nil } : nil
        clear()
        if let begun {
            entries.append(begun)
            rest = begun.frame.count - begun.taken
        }
        append(Entry(frame: frame, key: nil))
    }

    /// The most unsent bytes of a client that reads nothing.
    package var mostUnread: Int { limits.pauseBytes }

    /// Whether events may be queued without waiting.
    package var hasRoom: Bool { bytes < limits.eventBytes }

    package var isEmpty: Bool { bytes == 0 && rest == 0 }

    /// Whether nothing waits, not even the number of dropped events.
    package var isQuiet: Bool { isEmpty && !paused && dropped == 0 }

    /// All unsent bytes.
    package var unsent: Int { bytes + rest }

    /// Whether the queue is too long for further calls before a write.
    package var isLong: Bool { bytes >= limits.flushBytes }

    /// The next bytes to write, of a single message; nil also if that message waits for its long body to be settled. A long
    /// message leaves in pieces, so that no copy of the whole is made.
    ///
    /// - Parameter most: limit in bytes, at least 1.
    package mutating func next(most: Int) -> OutgoingPiece? {
        while front < entries.count {
            guard let entry = entries[front] else {
                leave()
                continue
            }
            if entry.taken == 0, entry.frame.long?.isSettled == false { return nil }
            if let key = entry.key {
                keys[key] = nil
                entries[front]?.key = nil
            }
            let end = entry.taken + min(most, entry.frame.count - entry.taken)
            if entry.taken == 0 { bytes -= entry.frame.count }
            rest = entry.frame.count - end
            if rest == 0 { leave() } else { entries[front]?.taken = end }
            taken &+= end - entry.taken
            return OutgoingPiece(frame: entry.frame, range: entry.taken..<end)
        }
        return nil
    }

    private mutating func leave() {
        entries[front] = nil
        front += 1
        compact()
    }

    /// Whether reading, once paused, may go on. True only once per pause.
    package mutating func resumes() -> Bool {
        guard paused, bytes <= limits.pauseBytes / 2 else { return false }
        paused = false
        return true
    }

    /// Puts another frame in the place of the message with that long body, which has not begun to leave; nil removes the
    /// message.
    package mutating func replace(_ body: LongBody, with frame: OutgoingFrame?) {
        guard let index = entries[front...].firstIndex(where: { $0?.frame.long === body }), let old = entries[index],
            old.taken == 0
        else { return }
        bytes += (frame?.count ?? 0) - old.frame.count
        entries[index] = frame.map { Entry(frame: $0, key: nil) }
    }

    /// Drops an event that `replace` has removed.
    package mutating func countDropped() { dropped += 1 }

    /// How many events were dropped since the last call; nil if there are none, or no room for the message.
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
        rest = 0
    }

    /// Moves the queue to the front of its array now and then, so that the array does not grow without limit.
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
