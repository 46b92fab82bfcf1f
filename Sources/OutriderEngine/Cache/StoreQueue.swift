// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderTransport
import Synchronization

/// The blocking work on a store, in order and never two pieces at once, on threads that many stores share.
///
/// After each piece the work of another store may take the thread, so that a busy store delays only itself.
final class StoreQueue: Sendable {
    private struct State {
        var waiting: [BlockingThreads.Work] = []
        var isRunning = false
    }

    private let threads: BlockingThreads
    private let state = Mutex(State())

    init(_ threads: BlockingThreads) { self.threads = threads }

    func run(_ work: @escaping BlockingThreads.Work) {
        let begins = state.withLock { state in
            state.waiting.append(work)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if begins { enter() }
    }

    /// Runs the work, and returns its value.
    func value<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withUnsafeContinuation { continuation in run { continuation.resume(returning: work()) } }
    }

    private func enter() { threads.run(for: .service, isOwed: true) { self.runNext() } }

    private func runNext() {
        var next = state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
        next?()
        // the work must not keep the store while the queue rests
        next = nil
        let isMore = state.withLock { state in
            state.isRunning = !state.waiting.isEmpty
            return state.isRunning
        }
        if isMore { enter() }
    }
}
