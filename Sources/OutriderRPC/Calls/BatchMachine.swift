// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Collects the replies of batches in the order of the calls, until the last reply is there (JSON-RPC 2.0 section 6).
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
        /// The batch held only notifications: nothing is sent.
        case nothing
    }

    /// Whether no batch waits for replies.
    package var isEmpty: Bool { batches.isEmpty }

    /// Opens a batch of at least one message.
    package mutating func open(_ count: Int) -> Int {
        let number = next
        next &+= 1
        batches[number] = Batch(replies: Array(repeating: nil, count: count), missing: count)
        return number
    }

    /// Fills a place with the bytes of its reply; nil if the message has no reply. To be called once for each place.
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
