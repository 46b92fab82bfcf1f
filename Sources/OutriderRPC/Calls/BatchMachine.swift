// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Collects the replies of batches in the order of the calls, until the last reply is there (JSON-RPC 2.0 section 6).
package struct BatchMachine: ~Copyable {
    private struct Batch {
        var replies: [OutgoingFrame?]
        var missing: Int

        /// Whether the last reply is there now.
        mutating func fill(_ slot: Int, _ reply: OutgoingFrame?) -> Bool {
            guard replies.indices.contains(slot) else { return false }
            replies[slot] = reply
            missing -= 1
            return missing == 0
        }
    }

    private var batches: [Int: Batch] = [:]
    private var next = 1

    package init() {}

    package enum Fill {
        case waiting
        /// All replies, in the order of the calls, for `OutgoingFrame.batch`.
        case complete([OutgoingFrame])
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

    /// Fills a place with its reply; nil if the message has no reply. To be called once for each place.
    package mutating func fill(_ place: BatchPlace, _ reply: OutgoingFrame?) -> Fill {
        guard let index = batches.index(forKey: place.batch),
            batches.values[index].fill(place.slot, reply)
        else { return .waiting }
        let replies = batches.remove(at: index).value.replies.compactMap(\.self)
        return replies.isEmpty ? .nothing : .complete(replies)
    }
}
