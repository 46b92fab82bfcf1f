// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// A plain request whose call waits for its end without a task.
final class DataCall: InlineCall {
    private enum State { case waiting, cancelled, over }

    private let record: RequestRecord
    private let call: Call<ClientScope>
    private let completion: CallCompletion
    private let state = Mutex(State.waiting)

    init(_ record: RequestRecord, _ call: Call<ClientScope>, _ completion: @escaping CallCompletion) {
        self.record = record
        self.call = call
        self.completion = completion
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
        if isDetached { completion(.failure(Self.cancelled)) } else { record.exchange.cancel() }
    }

    /// The exchange is over.
    func ended() {
        let before = state.withLock { state in
            defer { state = .over }
            return state
        }
        // what a reply has told is so: the client may list its requests at once
        let forgotten = record.callEnded(call.scope)
        // destroyed after the reply, for which the client waits
        withExtendedLifetime(forgotten) {
            switch before {
            case .over: break
            case .cancelled:
                if !record.isDetached { record.exchange.dropBody() }
                completion(.failure(Self.cancelled))
            case .waiting: reply()
            }
        }
    }

    private func reply() {
        guard let outcome = record.exchange.takeOutcome() else { return completion(.failure(Self.lost)) }
        let engine = call.scope.service.engine
        let terms = call.peer.terms
        let raw = call.takesRaw(terms)
        if let shape = record.shapeOnLoop(outcome, engine: engine, terms: terms, raw: raw) {
            if case .kept = outcome.body { record.dropsBody(ifUnwanted: call) }
            return completion(.success(JSONText(of: shape)))
        }
        record.dropsBody(ifUnwanted: call)
        let (record, completion) = (record, completion)
        Task.immediate(executorPreference: engine.executor) {
            let reply = await record.reply(outcome, engine: engine, terms: terms, raw: raw)
            completion(.success(JSONText(of: reply)))
        }
    }
}

extension RequestRecord {
    /// Deletes the body if the client gets no result that names the body.
    func dropsBody(ifUnwanted call: Call<ClientScope>) {
        call.ifUnwanted {
            // a detached request does not end with the call
            if self.holding.withLock({ !$0.isDetached && !$0.isAwaited }) { self.dropBody() }
        }
    }

    /// The call has ended; its handle stays resolvable for a while. Returns the request that was forgotten instead.
    @discardableResult
    func callEnded(_ scope: ClientScope) -> (any Holdable)? {
        // events and callbacks name the handle, too
        guard showsHandle || events != nil, !isDetached else { return nil }
        var forgotten: (any Holdable)?
        scope.recent.add(handle.name, memoryBytes) { forgotten = scope.handles.forget($0, of: .request) }
        return forgotten
    }
}
