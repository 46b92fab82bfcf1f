// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
package import OutriderRPC

/// The client's share of the memory for large payloads, as its connection sees it.
final class ClientMemory: PayloadMemory {
    private let quota: BodyQuota
    private let engine: Engine

    init(_ quota: BodyQuota, _ engine: Engine) {
        self.quota = quota
        self.engine = engine
    }

    func take(_ bytes: Int) -> (any PayloadCharge)? { quota.message(bytes) }

    func wait(_ bytes: Int, _ tell: @escaping @Sendable (any PayloadCharge) -> Void) -> UInt64 {
        quota.wait(forMessage: bytes) { tell($0) }
    }

    func cancelWait(_ id: UInt64) { quota.cancelWait(id) }

    func hold(_ bytes: Int) -> (any PayloadCharge)? { quota.hold(bytes) }

    func spill(_ bytes: [UInt8], _ done: @escaping @Sendable ((any SpilledPayload)?) -> Void) {
        engine.spill(bytes, quota: quota) { done($0) }
    }

    func countRefusal() { quota.budget.countRefusal() }
}

extension MemoryCharge: PayloadCharge {
    package func take(over other: any PayloadCharge) {
        if let other = other as? MemoryCharge { take(over: other) }
    }
}

extension SpilledBytes: SpilledPayload {}
