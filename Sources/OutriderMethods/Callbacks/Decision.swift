// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC
import Synchronization

/// A question that waits until its client comes for it, and answers it with `request.decide`.
///
/// Settled once: by an answer, its deadline, cancelling, or the end of its owner; whatever comes later is too late.
package final class Decision: Holdable {
    package static let kind = HandleKind.decision

    private enum State {
        case open(CheckedContinuation<Result<JSONValue, RPCError>, Never>?)
        case settled(Result<JSONValue, RPCError>)
    }

    private let state = Mutex(State.open(nil))

    /// A client that sends nothing more cannot answer either.
    package var isAwaited: Bool { false }

    package func close() {
        settle(.failure(RPCError(.clientGone, "the client can no longer decide")))
    }

    var isOpen: Bool {
        state.withLock { state in
            if case .open = state { true } else { false }
        }
    }

    /// False if it was settled before.
    @discardableResult
    func settle(_ result: Result<JSONValue, RPCError>) -> Bool {
        let (isFirst, waiting) = state.withLock {
            state -> (Bool, CheckedContinuation<Result<JSONValue, RPCError>, Never>?) in
            guard case .open(let waiting) = state else { return (false, nil) }
            state = .settled(result)
            return (true, waiting)
        }
        waiting?.resume(returning: result)
        return isFirst
    }

    /// How it was settled. One task waits.
    func outcome() async -> Result<JSONValue, RPCError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state -> Result<JSONValue, RPCError>? in
                    if case .settled(let result) = state { return result }
                    state = .open(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            settle(.failure(RPCError(.cancelled, "the request was cancelled")))
        }
    }
}
