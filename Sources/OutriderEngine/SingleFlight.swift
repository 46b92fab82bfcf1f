// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// Runs work once for all callers that join while it is under way. The work continues when a caller stops waiting.
final class SingleFlight<Outcome: Sendable>: Sendable {
    private struct State {
        var isUnderWay = false
        var waiters: [Int: CheckedContinuation<Outcome?, Never>] = [:]
        /// Callers that were cancelled before they could wait.
        var early: Set<Int> = []
        var nextID = 0
    }

    private let state = Mutex(State())

    /// The outcome of the work under way, or of this work if none is; nil if the task is cancelled before that.
    func join(_ work: @escaping @Sendable () async -> Outcome) async -> Outcome? {
        let id = state.withLock { state in
            state.nextID &+= 1
            return state.nextID
        }
        defer { state.withLock { _ = $0.early.remove(id) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let begins = state.withLock { state -> Bool? in
                    if state.early.contains(id) { return nil }
                    state.waiters[id] = continuation
                    defer { state.isUnderWay = true }
                    return !state.isUnderWay
                }
                guard let begins else { return continuation.resume(returning: nil) }
                if begins { Task.detached { [self] in land(await work()) } }
            }
        } onCancel: {
            leave(id)
        }
    }

    private func leave(_ id: Int) {
        let waiter = state.withLock { state in
            let waiter = state.waiters.removeValue(forKey: id)
            if waiter == nil { state.early.insert(id) }
            return waiter
        }
        waiter?.resume(returning: nil)
    }

    private func land(_ outcome: Outcome) {
        let waiters = state.withLock { state in
            defer {
                state.waiters = [:]
                state.isUnderWay = false
            }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }
}
