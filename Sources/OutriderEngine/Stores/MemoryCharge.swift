// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Synchronization

/// Bytes of the budget, until `release` or the last reference goes.
package final class MemoryCharge: BodyHolder, Sendable {
    private struct State {
        var bytes: Int
        var isOver = false
        /// Whether no other message may exceed the budget.
        var isFirst = false
        /// How many messages in it exceed the budget.
        var beyond = 0
    }

    /// What else of the client the bytes count against.
    enum Kind {
        case payload, storedBody, request
    }

    private let quota: BodyQuota
    private let kind: Kind
    /// Whether the payload exceeds the budget, as one message may: the charge must not outlive its call.
    package let isBeyond: Bool
    private let state: Mutex<State>

    /// For bytes that are counted already.
    init(_ quota: BodyQuota, _ bytes: Int, _ kind: Kind = .payload, isBeyond: Bool = false) {
        self.quota = quota
        self.kind = kind
        self.isBeyond = isBeyond
        state = Mutex(State(bytes: bytes, isFirst: isBeyond, beyond: isBeyond ? 1 : 0))
    }

    deinit { release() }

    package var bytes: Int { state.withLock { $0.bytes } }

    /// Adds bytes; false if there is no room for them.
    package func grow(by more: Int) -> Bool {
        state.withLock { state in
            if state.isOver { return true }
            if isBeyond {
                quota.budget.takeAnyway(more, for: quota.client)
            } else if !quota.budget.take(more, for: quota.client, canSpill: false) {
                return false
            }
            state.bytes += more
            return true
        }
    }

    /// Adds the bytes of another charge, which ends.
    package func take(over other: MemoryCharge) {
        let old = other.state.withLock { state in
            defer { state = State(bytes: 0, isOver: true) }
            return state
        }
        if old.isOver { return }
        let isOver = state.withLock { state in
            state.bytes += old.bytes
            state.isFirst = state.isFirst || old.isFirst
            state.beyond &+= old.beyond
            return state.isOver
        }
        if isOver { quota.budget.give(old.bytes, of: quota.client, isBeyond: old.isFirst, beyond: old.beyond) }
    }

    /// Gives the bytes back. Repeated calls have no effect.
    package func release() {
        let old = state.withLock { state in
            defer { state = State(bytes: 0, isOver: true) }
            return state
        }
        if old.isOver { return }
        switch kind {
        case .payload: quota.budget.give(old.bytes, of: quota.client, isBeyond: old.isFirst, beyond: old.beyond)
        case .storedBody: quota.giveMemory(old.bytes)
        case .request: quota.giveRequest(old.bytes)
        }
    }

    /// Lets another message exceed the budget. Repeated calls have no effect.
    package func giveWay() {
        let wasFirst = state.withLock { state in
            defer { state.isFirst = false }
            return state.isFirst
        }
        if wasFirst { quota.budget.passOn() }
    }
}

extension BodyQuota {
    /// Charges memory for as long as the charge is held; nil if the quota is exceeded.
    func charge(memory bytes: Int) -> MemoryCharge? {
        takeMemory(bytes, of: bytes) ? MemoryCharge(self, bytes, .storedBody) : nil
    }

    /// Memory for what a request keeps beside a long body; nil if there is no room.
    package func request(_ bytes: Int) -> MemoryCharge? {
        takeRequest(bytes) ? MemoryCharge(self, bytes, .request) : nil
    }

    /// The same even beyond the budget, for what exists already and must not be lost.
    func requestAnyway(_ bytes: Int) -> MemoryCharge {
        takeRequestAnyway(bytes)
        return MemoryCharge(self, bytes, .request)
    }

    /// Memory for a message of the client; nil if there is no room.
    package func message(_ bytes: Int) -> MemoryCharge? {
        guard budget.take(bytes, for: client, canSpill: false) else { return nil }
        return MemoryCharge(self, bytes)
    }

    /// Memory for a payload that could go to a file; nil if it must.
    package func hold(_ bytes: Int) -> MemoryCharge? {
        guard budget.take(bytes, for: client, canSpill: true) else { return nil }
        return MemoryCharge(self, bytes)
    }

    /// Calls `tell` once there is room for a message; perhaps at once. Cancel the wait by its number.
    ///
    /// - Parameter mayExceed: whether the message may exceed the budget.
    package func wait(
        forMessage bytes: Int, mayExceed: Bool = true, _ tell: @escaping @Sendable (MemoryCharge) -> Void
    ) -> UInt64 {
        budget.wait(bytes, for: client, mayExceed: mayExceed) { isBeyond in
            tell(MemoryCharge(self, bytes, isBeyond: isBeyond))
        }
    }

    package func cancelWait(_ id: UInt64) { budget.cancel(id, of: client) }

    /// Writes bytes to a private file, on another thread.
    package func spill(
        _ bytes: [UInt8], in workspace: Workspace, _ done: @escaping @Sendable (SpilledBytes?) -> Void
    ) {
        BlockingThreads.files.run(for: client, isOwed: true) {
            let store = BodyStore(quota: self, workspace: workspace)
            done(try? SpilledBytes(bytes, in: store))
        }
    }
}

extension BodyQuota {
    /// Waits for memory for a message, so many seconds at most; nil if there was no room, or the task was cancelled.
    ///
    /// - Parameter mayExceed: whether the message may exceed the budget.
    package func room(_ bytes: Int, seconds: Double, mayExceed: Bool = false) async -> MemoryCharge? {
        if let charge = message(bytes) { return charge }
        // nothing that others give back could be enough
        guard mayExceed || bytes <= budget.limit else { return nil }
        let turn = Turn()
        // ends with the wait
        let alarm = Task {
            try? await Task.sleep(for: .seconds(seconds))
            turn.end(nil)
        }
        let id = wait(forMessage: bytes, mayExceed: mayExceed) { turn.end($0) }
        let charge = await withTaskCancellationHandler {
            await turn.outcome()
        } onCancel: {
            turn.end(nil)
        }
        alarm.cancel()
        cancelWait(id)
        return charge
    }

    /// An outcome that comes once; a charge that comes too late is released.
    private final class Turn: Sendable {
        private enum Phase {
            case begun
            case waiting(UnsafeContinuation<MemoryCharge?, Never>)
            case over(MemoryCharge?)
        }

        private let phase = Mutex(Phase.begun)

        func outcome() async -> MemoryCharge? {
            await withUnsafeContinuation { continuation in
                let found = phase.withLock { phase -> MemoryCharge?? in
                    if case .over(let charge) = phase {
                        phase = .over(nil)
                        return .some(charge)
                    }
                    phase = .waiting(continuation)
                    return nil
                }
                if let found { continuation.resume(returning: found) }
            }
        }

        func end(_ charge: MemoryCharge?) {
            let waiting = phase.withLock { phase -> UnsafeContinuation<MemoryCharge?, Never>? in
                switch phase {
                case .begun:
                    phase = .over(charge)
                    return nil
                case .waiting(let continuation):
                    phase = .over(nil)
                    return continuation
                case .over: return nil
                }
            }
            waiting?.resume(returning: charge)
        }
    }
}
