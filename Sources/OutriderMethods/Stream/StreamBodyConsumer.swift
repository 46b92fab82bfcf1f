// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization

/// Feeds the body of a request to its streams, and ends them with the request.
final class StreamBodyConsumer: BodyOutlet {
    enum State {
        /// An acceptable head has arrived: the first one, with what the look at it gave.
        case begun(ExchangeOutcome?)
        case over(ExchangeOutcome)
    }

    private struct Contents {
        var state: State?
        var waiter: CheckedContinuation<Void, Never>?
        var begun: (@Sendable () -> ExchangeOutcome?)?
        /// The client has the head, so that the body of another response must not follow.
        var tellsHead = false
    }

    private let hub: StreamFanout
    private let contents = Mutex(Contents())

    init(_ hub: StreamFanout) { self.hub = hub }

    /// Waits until the body has begun, or the request is over. Nil if the task was cancelled first. One caller.
    func reached() async -> State? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = contents.withLock { contents in
                    guard contents.state == nil, !Task.isCancelled else { return false }
                    contents.waiter = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            contents.withLock { $0.waiter.take() }?.resume()
        }
        return contents.withLock { contents in
            // the head is needed once
            defer { if case .begun? = contents.state { contents.state = .begun(nil) } }
            return contents.state
        }
    }

    /// Calls `look` once when a body begins, before any client is told. To be set before the request begins.
    func whenBegun(_ look: @escaping @Sendable () -> ExchangeOutcome?) { contents.withLock { $0.begun = look } }

    private func reach(_ state: State) {
        contents.withLock { contents in
            // another connection may follow before the caller of `reached` runs
            if case .begun = state, case .begun? = contents.state { return contents.waiter.take() }
            contents.state = state
            return contents.waiter.take()
        }?.resume()
    }

    var hasTaken: Bool { hub.hasBegun || contents.withLock { $0.tellsHead } }

    func begin(_ head: ExchangeHead, expecting bytes: Int64?) async throws(HTTPFailure) {
        try hub.begin(contentType: head.fields.first("Content-Type"), size: bytes.flatMap { Int(exactly: $0) })
        let head = contents.withLock { $0.begun.take() }?()
        if head != nil { contents.withLock { $0.tellsHead = true } }
        reach(.begun(head))
    }

    func take(_ chunk: BodyChunk) async throws(HTTPFailure) { try await hub.take(chunk) }

    func finish() async throws(HTTPFailure) { try await hub.bodyEnded() }

    func over(_ outcome: ExchangeOutcome) async {
        reach(.over(outcome))
        await hub.end(outcome.failure)
    }

    func renounce(_ failure: HTTPFailure) { hub.renounce(failure) }
}
