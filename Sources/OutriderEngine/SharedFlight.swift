// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// Work that is done once for all who want its outcome while it is under way. Who stops waiting does not stop it.
final class SharedFlight<Outcome: Sendable>: Sendable {
    private struct State {
        var isUnderWay = false
        var waiters: [Int: CheckedContinuation<Outcome?, Never>] = [:]
        /// Those that were cancelled before they could wait.
        var early: Set<Int> = []
        var nextID = 0
    }

    private let state = Mutex(State())

    /// The outcome of what is under way, or of this work if nothing is; nil if the task is cancelled before that.
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
