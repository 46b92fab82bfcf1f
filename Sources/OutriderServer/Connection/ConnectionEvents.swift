// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Logging
import NIOCore
import OutriderJSON
import OutriderRPC
import Synchronization

/// Messages to the client beside replies: events and callbacks.
extension Connection {
    private enum Room { case queued, full, gone }

    private static var goneError: RPCError { RPCError(.clientGone, "the client is gone") }
    private static var cancelledError: RPCError { RPCError(.cancelled, "the call was cancelled") }

    func notify(_ event: Event, unless isOver: (@Sendable () -> Bool)?) async throws(RPCError) {
        while true {
            if Task.isCancelled { throw Self.cancelledError }
            switch push(event, unless: isOver) {
            case .gone: throw Self.goneError
            case .queued: return
            case .full: try await waitForRoom()
            }
        }
    }

    func queue(_ event: Event, unless isOver: (@Sendable () -> Bool)?) -> Bool {
        push(event, unless: isOver) == .queued
    }

    private func push(_ event: Event, unless isOver: (@Sendable () -> Bool)?) -> Room {
        var effects: Effects?
        let room: Room = state.withLock { state in
            if state.isBeyondMessages { return .gone }
            // an event for an exchange that is over counts as queued
            if let isOver, isOver() { return .queued }
            guard state.outbox.hasRoom else { return .full }
            effects = state.push(.event(event))
            return .queued
        }
        if let effects {
            service.tally.eventsSent.count()
            perform(effects)
        }
        return room
    }

    @discardableResult
    func offer(_ event: Event, key: String, unless isOver: (@Sendable () -> Bool)?) -> Bool {
        let (sent, flush) = state.withLock { state in
            // an event that is not needed any more does not count as dropped
            if let isOver, isOver() { return (true, false) }
            guard !state.isBeyondMessages else { return (false, false) }
            let sent = state.outbox.offer(Outgoing.event(event).frame(state.framing), key: key)
            return (sent, sent && state.wantsFlush())
        }
        if sent { service.tally.eventsSent.count() } else { service.tally.eventsDropped.count() }
        if flush { perform(Effects(flush: true)) }
        return sent
    }

    /// Returns when the queue has room, or at once if there is room by now.
    private func waitForRoom() async throws(RPCError) {
        let waiter = state.withLock { state in
            state.nextWaiter &+= 1
            return state.nextWaiter
        }
        do {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                    let waits = state.withLock { state in
                        guard !Task.isCancelled, state.phase != .closed, !state.outbox.hasRoom else { return false }
                        state.waiters[waiter] = continuation
                        return true
                    }
                    if !waits { continuation.resume() }
                }
            } onCancel: {
                state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume()
            }
        } catch {
            throw error as? RPCError ?? Self.goneError
        }
    }

    // MARK: callbacks to the client

    func call(_ callback: Callback, timeout: Duration) async throws(RPCError) -> CallbackResponse {
        let id = try reserve(callback)
        let timer = loop.scheduleTask(in: .clamped(timeout)) { self.timedOut(id, callback, timeout) }
        defer { timer.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation {
                    (continuation: CheckedContinuation<CallbackResponse, any Error>) in
                    self.send(callback, id, continuation)
                }
            } onCancel: {
                self.cancelCallback(id)
            }
        } catch {
            throw error as? RPCError ?? Self.goneError
        }
    }

    private func reserve(_ callback: Callback) throws(RPCError) -> Int64 {
        let verdict = state.withLock { state in
            let verdict = state.calls.callback(callback.method)
            if case .send(let id) = verdict { state.callbacks[id] = .reserved }
            return verdict
        }
        switch verdict {
        case .send(let id): return id
        case .refuse(let error): throw error
        }
    }

    private func send(
        _ callback: Callback, _ id: Int64, _ continuation: CheckedContinuation<CallbackResponse, any Error>
    ) {
        enum Step { case sent(Effects), over(Result<CallbackResponse, RPCError>) }
        let step: Step = state.withLock { state in
            if case .over(let result) = state.callbacks[id] {
                state.callbacks[id] = nil
                return .over(result)
            }
            state.callbacks[id] = .waiting(continuation)
            return .sent(state.push(.callback(id, callback)))
        }
        switch step {
        case .sent(let effects): perform(effects)
        case .over(let result): continuation.resume(with: result.mapError { $0 as any Error })
        }
    }

    private func timedOut(_ id: Int64, _ callback: Callback, _ timeout: Duration) {
        let seconds = timeout.seconds
        let error = RPCError(
            .callbackTimedOut, "the client did not reply to \(callback.method) within \(seconds) s",
            data: ["method": .string(callback.method), "timeout": .real(seconds)])
        let continuation = state.withLock { state in
            state.calls.gaveUp(id) ? state.settle(id, .failure(error)) : nil
        }
        continuation?.resume(throwing: error)
    }

    /// Sends `$/cancelRequest` to the client, without waiting for the reply.
    private func cancelCallback(_ id: Int64) {
        let (continuation, effects) = state.withLock { state in
            guard state.calls.gaveUp(id) else {
                return (CheckedContinuation<CallbackResponse, any Error>?.none, Effects())
            }
            let continuation = state.settle(id, .failure(Self.cancelledError))
            guard continuation != nil, state.phase != .closed else { return (continuation, Effects()) }
            return (continuation, state.push(.event(Event("$/cancelRequest", CancelParams(id: id)))))
        }
        perform(effects)
        continuation?.resume(throwing: Self.cancelledError)
    }

    /// A reply of the client, and the memory of its message. False if the callback is over, or never existed: then the
    /// reply has no effect.
    func replied(_ id: RequestID, _ reply: Message.Reply, _ charge: (any PayloadCharge)?) -> Bool {
        guard case .integer(let number) = id else { return ignored() }
        let result: Result<CallbackResponse, RPCError>
        switch reply {
        case .result(let value): result = .success(CallbackResponse(id: number, value: value, charge: charge))
        case .empty: result = .success(CallbackResponse(id: number, value: .null, charge: charge))
        case .error(let error):
            let message = error.object?["message"]?.string ?? "no message"
            result = .failure(
                RPCError(
                    .callbackFailed, "the client replied with an error: \(message.excerpt)", data: ["error": error]))
        }
        let continuation: CheckedContinuation<CallbackResponse, any Error>? = state.withLock { state in
            guard let number = state.calls.replied(id) else { return nil }
            return state.settle(number, result)
        }
        guard let continuation else { return ignored() }
        continuation.resume(with: result.mapError { $0 as any Error })
        return true
    }

    private func ignored() -> Bool {
        service.logger.debug("a reply to no callback of ours")
        return false
    }
}

private struct CancelParams: JSONEncodable {
    var id: Int64

    func encode(to writer: inout JSONWriter) {
        writer.object { $0.member("id", id) }
    }
}

extension Duration {
    var seconds: Double {
        let (seconds, attoseconds) = components
        // whole nanoseconds, whose decimal form is short
        return (Double(seconds) * 1e9 + Double(attoseconds / 1_000_000_000)) / 1e9
    }
}

extension TimeAmount {
    /// Between zero and a day.
    static func clamped(_ duration: Duration) -> TimeAmount {
        if duration >= .seconds(86400) { return .hours(24) }
        if duration <= .zero { return .zero }
        let (seconds, attoseconds) = duration.components
        return .nanoseconds(seconds &* 1_000_000_000 &+ attoseconds / 1_000_000_000)
    }
}
