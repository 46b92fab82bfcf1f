// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Messages that the streams of a WebSocket have not taken yet, as records.
struct WebSocketBacklog: ~Copyable {
    /// Records that arrive in small portions are put together up to this size.
    private static let joinedBytes = 32 << 10

    /// Portions of whole records. The portions before `head` were taken.
    private var portions: [[UInt8]] = []
    private var head = 0
    /// The offset of the first waiting record in the first portion.
    private var start = 0
    /// Bytes that wait.
    private(set) var count = 0
    /// Bytes that were taken, and are not delivered yet.
    private(set) var underWay = 0
    /// Bytes that are being delivered past the backlog.
    private var passing = 0
    /// Whether a delivery has begun, or is about to.
    private var isDelivering = false
    /// Delivers; nil while nothing waits, and for a moment at the beginning.
    var pump: Task<Void, Never>?
    /// Messages dropped since the last report to the client.
    var dropped = 0

    /// Bytes that wait, or are being delivered.
    var held: Int { count + underWay + passing }

    mutating func append(_ more: [UInt8]) {
        guard !more.isEmpty else { return }
        count += more.count
        if let last = portions.indices.last, portions[last].count + more.count <= Self.joinedBytes {
            portions[last].append(contentsOf: more)
        } else {
            portions.append(more)
        }
    }

    /// Whole records of up to that many bytes, at least one record.
    mutating func take(_ most: Int) -> [UInt8] {
        var taken = takeFirst(most)
        while let next = portions[head...].first, taken.count + next.count - start <= most {
            taken.append(contentsOf: takeFirst(most))
        }
        underWay = taken.count
        return taken
    }

    /// The same, of the first portion.
    private mutating func takeFirst(_ most: Int) -> [UInt8] {
        guard let first = portions[head...].first else { return [] }
        var end = first.count
        if end - start > most {
            end = start + MessageRecord.size(first[start...])
            while end < first.count {
                let next = end + MessageRecord.size(first[end...])
                if next - start > most { break }
                end = next
            }
        }
        let taken = start == 0 && end == first.count ? first : Array(first[start..<end])
        advance(to: end)
        return taken
    }

    mutating func delivered() { underWay = 0 }

    /// Whether a delivery must begin: records wait, and nothing delivers. The caller begins the delivery.
    mutating func beginDelivery() -> Bool {
        guard count > 0, passing == 0, !isDelivering else { return false }
        isDelivering = true
        return true
    }

    mutating func endDelivery() {
        delivered()
        isDelivering = false
        pump = nil
    }

    /// Records that do not go through the backlog are being delivered. False if other records go first.
    mutating func beginPassing(_ count: Int) -> Bool {
        guard held == 0, !isDelivering, dropped == 0 else { return false }
        passing = count
        return true
    }

    mutating func endPassing() { passing = 0 }

    /// Drops the oldest messages until no more than that many bytes wait. Keeps the newest, even if longer.
    mutating func drop(to most: Int) {
        while count > most, let first = portions[head...].first {
            let size = MessageRecord.size(first[start...])
            if size >= count { return }
            if MessageRecord.head(first[start...]).kind != .control { dropped += 1 }
            advance(to: start + size)
        }
    }

    /// Whether more than that many bytes are held. A single longer message counts once another follows.
    func isFull(_ most: Int) -> Bool {
        guard held > most, let last = portions.last else { return false }
        var newest = 0
        var end = 0
        while end < last.count {
            newest = end
            end += MessageRecord.size(last[end...])
        }
        let longest = last.count - newest
        return longest <= most || held - longest > most
    }

    /// Drops the first portion's bytes before `end`.
    private mutating func advance(to end: Int) {
        count -= end - start
        start = end
        guard start >= portions[head].count else { return }
        portions[head] = []
        head += 1
        start = 0
        guard head == portions.count || head > 64 else { return }
        portions.removeFirst(head)
        head = 0
    }
}
