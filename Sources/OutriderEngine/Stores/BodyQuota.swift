// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import Synchronization

/// The limits of a client's kept bodies, in memory and in files. Shared by all bodies of that client.
package final class BodyQuota: Sendable {
    package struct Limits: Sendable {
        /// Bytes of kept bodies in memory; further bodies go to files. Default 64 MiB.
        package var memory = 64 << 20
        /// Bytes of a body in memory; a longer body goes to a file. Default 8 MiB.
        package var memoryPerBody = 8 << 20
        /// Bytes in files; a body that exceeds the rest fails. Default 4 GiB.
        package var files = 4 << 30
    }

    package let limits: Limits
    /// The owner of the quota; work on files counts against this client's share.
    package let client: ClientKey
    /// The memory of all clients together.
    package let budget: MemoryBudget
    /// The private files of payloads that find no memory.
    let spills = SpillRoom()
    private let memory = Atomic(0)
    private let files = Atomic(0)
    /// What requests keep, of which the budget counts all.
    private let requests = Atomic(0)

    package init(_ limits: Limits = Limits(), client: ClientKey = .service, budget: MemoryBudget = MemoryBudget(.max)) {
        self.limits = limits
        self.budget = budget
        self.client = client
    }

    /// So much of its short bodies, and of its requests, each client keeps in memory, whatever others hold: 1 MiB.
    private static let alwaysKept = 1 << 20

    /// Charges memory; false if the quota or the budget is exceeded.
    ///
    /// - Parameter body: the size of the body: the budget refuses a short one only beyond `alwaysKept`.
    func takeMemory(_ bytes: Int, of body: Int) -> Bool {
        guard Self.take(bytes, from: memory, limit: limits.memory) else { return false }
        if body <= MemoryBudget.counted, memory.load(ordering: .relaxed) <= Self.alwaysKept {
            budget.takeAnyway(bytes, for: client)
            return true
        }
        if budget.take(bytes, for: client, canSpill: true) { return true }
        memory.wrappingSubtract(bytes, ordering: .relaxed)
        return false
    }

    /// Charges what a request keeps; false if the client has more than `alwaysKept`, and the half of the budget for
    /// payloads that last has no room. The other half stays for messages.
    func takeRequest(_ bytes: Int) -> Bool {
        let (_, after) = requests.wrappingAdd(bytes, ordering: .relaxed)
        if after <= Self.alwaysKept {
            budget.takeAnyway(bytes, for: client)
            return true
        }
        if budget.take(bytes, for: client, canSpill: true) { return true }
        requests.wrappingSubtract(bytes, ordering: .relaxed)
        return false
    }

    /// The same even beyond the budget.
    func takeRequestAnyway(_ bytes: Int) {
        requests.wrappingAdd(bytes, ordering: .relaxed)
        budget.takeAnyway(bytes, for: client)
    }

    func giveRequest(_ bytes: Int) {
        requests.wrappingSubtract(bytes, ordering: .relaxed)
        budget.give(bytes, of: client)
    }

    func takeFile(_ bytes: Int) -> Bool { Self.take(bytes, from: files, limit: limits.files) }

    func giveMemory(_ bytes: Int) {
        memory.wrappingSubtract(bytes, ordering: .relaxed)
        budget.give(bytes, of: client)
    }

    func giveFile(_ bytes: Int) { files.wrappingSubtract(bytes, ordering: .relaxed) }

    /// Bytes held now.
    package var held: (memory: Int, files: Int) {
        (memory.load(ordering: .relaxed), files.load(ordering: .relaxed))
    }

    private static func take(_ bytes: Int, from counter: borrowing Atomic<Int>, limit: Int) -> Bool {
        let (_, after) = counter.wrappingAdd(bytes, ordering: .relaxed)
        if after <= limit { return true }
        counter.wrappingSubtract(bytes, ordering: .relaxed)
        return false
    }
}
