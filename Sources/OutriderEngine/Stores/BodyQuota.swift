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

        package init() {}
    }

    package let limits: Limits
    /// The owner of the quota; work on files counts against this client's share.
    package let client: ClientKey
    private let memory = Atomic(0)
    private let files = Atomic(0)

    package init(_ limits: Limits = Limits(), client: ClientKey = .service) {
        self.limits = limits
        self.client = client
    }

    /// Charges memory; false if the quota is exceeded.
    func takeMemory(_ bytes: Int) -> Bool { Self.take(bytes, from: memory, limit: limits.memory) }

    func takeFile(_ bytes: Int) -> Bool { Self.take(bytes, from: files, limit: limits.files) }

    func giveMemory(_ bytes: Int) { memory.wrappingSubtract(bytes, ordering: .relaxed) }

    func giveFile(_ bytes: Int) { files.wrappingSubtract(bytes, ordering: .relaxed) }

    /// Bytes held now.
    package var held: (memory: Int, files: Int) {
        (memory.load(ordering: .relaxed), files.load(ordering: .relaxed))
    }

    /// Charges memory for as long as the charge is held; nil if the quota is exceeded.
    func charge(memory bytes: Int) -> MemoryCharge? {
        takeMemory(bytes) ? MemoryCharge(self, bytes) : nil
    }

    private static func take(_ bytes: Int, from counter: borrowing Atomic<Int>, limit: Int) -> Bool {
        let (_, after) = counter.wrappingAdd(bytes, ordering: .relaxed)
        if after <= limit { return true }
        counter.wrappingSubtract(bytes, ordering: .relaxed)
        return false
    }
}

/// Charged memory of a quota, returned with the last reference.
package final class MemoryCharge: Sendable {
    private let quota: BodyQuota
    private let bytes: Int

    /// For bytes that the quota has already counted.
    init(_ quota: BodyQuota, _ bytes: Int) {
        self.quota = quota
        self.bytes = bytes
    }

    deinit { quota.giveMemory(bytes) }
}
