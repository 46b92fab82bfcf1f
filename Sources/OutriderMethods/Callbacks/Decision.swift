// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import OutriderRPC
import Synchronization

/// A callback that waits until its client fetches the event, and replies with `request.decide`.
///
/// Settled once: by a reply, its deadline, cancellation, or the end of its owner. Later replies have no effect.
package final class Decision: Holdable {
    package static let kind = HandleKind.decision

    private enum State {
        case open(CheckedContinuation<Result<CallbackReply<JSONValue>, RPCError>, Never>?)
        case settled(Result<CallbackReply<JSONValue>, RPCError>)
    }

    private let state = Mutex(State.open(nil))

    /// False: a client that sends nothing more cannot reply.
    package var isAwaited: Bool { false }

    package func close() { settle(.failure(HandleTable.cannotDecide)) }

    var isOpen: Bool {
        state.withLock { state in
            if case .open = state { true } else { false }
        }
    }

    /// False if already settled.
    @discardableResult
    func settle(_ result: Result<CallbackReply<JSONValue>, RPCError>) -> Bool {
        let (isFirst, waiting) = state.withLock {
            state -> (Bool, CheckedContinuation<Result<CallbackReply<JSONValue>, RPCError>, Never>?) in
            guard case .open(let waiting) = state else { return (false, nil) }
            state = .settled(result)
            return (true, waiting)
        }
        waiting?.resume(returning: result)
        return isFirst
    }

    /// The outcome. A single task may wait.
    func outcome() async -> Result<CallbackReply<JSONValue>, RPCError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = state.withLock { state -> Result<CallbackReply<JSONValue>, RPCError>? in
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
