// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Collects the replies of batches, each in its place, until the last one is there (JSON-RPC 2.0 section 6).
package struct BatchMachine: ~Copyable {
    private struct Batch {
        var replies: [[UInt8]?]
        var missing: Int
    }

    private var batches: [Int: Batch] = [:]
    private var next = 1

    package init() {}

    package enum Fill: Equatable {
        case waiting
        /// The whole array, in the order of the calls.
        case complete([UInt8])
        /// Nothing but notifications: no answer.
        case nothing
    }

    /// Whether no batch waits for replies.
    package var isEmpty: Bool { batches.isEmpty }

    /// A batch of so many messages, at least one.
    package mutating func open(_ count: Int) -> Int {
        let number = next
        next &+= 1
        batches[number] = Batch(replies: Array(repeating: nil, count: count), missing: count)
        return number
    }

    /// One message is done, with the bytes of its reply, or without one. Once for each place.
    package mutating func fill(_ place: BatchPlace, _ reply: [UInt8]?) -> Fill {
        guard var batch = batches.removeValue(forKey: place.batch), batch.replies.indices.contains(place.slot) else {
            return .waiting
        }
        batch.replies[place.slot] = reply
        batch.missing -= 1
        guard batch.missing == 0 else {
            batches[place.batch] = batch
            return .waiting
        }
        let replies = batch.replies.compactMap(\.self)
        if replies.isEmpty { return .nothing }
        var bytes: [UInt8] = [UInt8(ascii: "[")]
        bytes.reserveCapacity(replies.reduce(2) { $0 + $1.count + 1 })
        for (index, reply) in replies.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: reply)
        }
        bytes.append(UInt8(ascii: "]"))
        return .complete(bytes)
    }
}
