// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Synchronization

/// A wake-up signal for a single waiting task. A ring without a waiter is remembered, once.
final class AsyncSignal: Sendable {
    private enum State {
        case quiet
        case rung
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Mutex(State.quiet)

    /// Returns after the next ring, after a remembered ring, or when the task is cancelled. The waiter checks for
    /// itself what has changed.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let wasRung = state.withLock { state in
                    if case .rung = state {
                        state = .quiet
                        return true
                    }
                    state = .waiting(continuation)
                    return false
                }
                if wasRung { continuation.resume() }
            }
        } onCancel: {
            ring()
        }
    }

    /// Returns as `wait` does, but no later than at that time.
    func wait(until deadline: ContinuousClock.Instant) async {
        let alarm = Task {
            // a wait that is over needs no ring
            guard (try? await Task.sleep(until: deadline, clock: .continuous)) != nil else { return }
            ring()
        }
        defer { alarm.cancel() }
        await wait()
    }

    func ring() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if case .waiting(let continuation) = state {
                state = .quiet
                return continuation
            }
            state = .rung
            return nil
        }
        waiting?.resume()
    }
}
