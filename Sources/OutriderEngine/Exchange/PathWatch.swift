// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Synchronization

/// Waits for a way to somewhere, for all exchanges that have none: one look at the system in a while, however many wait,
/// and none when nobody does.
final class PathWatch: Sendable {
    private struct Waiter {
        var url: HTTPURL
        var end: ContinuousClock.Instant
        var continuation: UnsafeContinuation<Bool, Never>
    }

    private struct State {
        var waiters: [Int: Waiter] = [:]
        var nextID = 0
        /// Somebody will look.
        var isWatching = false
    }

    /// Seconds between two looks.
    private static let interval = 0.1

    private let executors: LoopExecutors
    private let state = Mutex(State())

    init(_ executors: LoopExecutors) { self.executors = executors }

    /// Waits until a way leads there; false after so many seconds, or when the task is cancelled.
    func leads(to url: HTTPURL, within seconds: Double) async -> Bool {
        let id = state.withLock { state in
            state.nextID &+= 1
            return state.nextID
        }
        let end = ContinuousClock.now + .seconds(min(max(seconds, 0), 86400))
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
                let begins = state.withLock { state -> Bool? in
                    if Task.isCancelled { return nil }
                    state.waiters[id] = Waiter(url: url, end: end, continuation: continuation)
                    defer { state.isWatching = true }
                    return !state.isWatching
                }
                guard let begins else { return continuation.resume(returning: false) }
                if begins { lookLater() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: false)
        }
    }

    private func lookLater() { _ = executors.later(seconds: Self.interval) { self.look() } }

    /// Lets all go whose way is there, and all who have waited long enough.
    private func look() {
        let waiters = state.withLock { $0.waiters }
        let now = ContinuousClock.now
        var found: [String: Bool] = [:]
        for (id, waiter) in waiters {
            let origin = waiter.url.origin
            let leads = found[origin] ?? NetworkPath.leads(to: waiter.url)
            found[origin] = leads
            guard leads || now >= waiter.end else { continue }
            // a cancelled one has gone already
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: leads)
        }
        let goesOn = state.withLock { state in
            state.isWatching = !state.waiters.isEmpty
            return state.isWatching
        }
        if goesOn { lookLater() }
    }
}
