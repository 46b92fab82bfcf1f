// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// A plain request whose call waits for its end without a task.
final class DataCall: InlineCall {
    typealias Hand = @Sendable (Result<ResponseReply, RPCError>) -> Void

    private enum State { case waiting, cancelled, over }

    private let record: RequestRecord
    private let call: Call<ClientScope>
    private let hand: Hand
    private let state = Mutex(State.waiting)

    init(_ record: RequestRecord, _ call: Call<ClientScope>, _ hand: @escaping Hand) {
        self.record = record
        self.call = call
        self.hand = hand
    }

    static var cancelled: RPCError {
        RPCError(.cancelled, "Cancelled by the client", data: ["reason": .string("cancelled")])
    }

    static var lost: RPCError { RPCError(.internalError, "the request ended without an outcome") }

    func cancel() {
        let isDetached = record.isDetached
        let isFirst = state.withLock { state in
            guard state == .waiting else { return false }
            state = isDetached ? .over : .cancelled
            return true
        }
        guard isFirst else { return }
        // a detached request does not end with the call
        if isDetached { hand(.failure(Self.cancelled)) } else { record.exchange.cancel() }
    }

    /// The exchange is over.
    func ended() {
        let before = state.withLock { state in
            defer { state = .over }
            return state
        }
        switch before {
        case .over: break
        case .cancelled:
            if !record.isDetached { record.exchange.dropBody() }
            hand(.failure(Self.cancelled))
        case .waiting: answer()
        }
        record.callEnded(call.scope)
    }

    private func answer() {
        guard let outcome = record.exchange.takeOutcome() else { return hand(.failure(Self.lost)) }
        let engine = call.scope.service.engine
        let terms = call.peer.terms
        if let reply = record.replyAtOnce(outcome, engine: engine, terms: terms) { return hand(.success(reply)) }
        let (record, hand) = (record, hand)
        Task.immediate(executorPreference: engine.executor) {
            hand(.success(await record.reply(outcome, engine: engine, terms: terms)))
        }
    }
}

extension RequestRecord {
    /// The call has ended; its handle stays resolvable for a while.
    func callEnded(_ scope: ClientScope) {
        if showsHandle, !isDetached, let old = scope.recent.add(handle.name) { scope.handles.forget(old, of: .request) }
    }
}
