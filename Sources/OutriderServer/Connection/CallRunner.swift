// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Logging
import NIOCore
import OutriderJSON
import OutriderRPC
import Synchronization

/// Runs the calls of a connection: starts them in the order of arrival, and turns each outcome into exactly one reply.
extension Connection {
    /// Handles the content of a frame. On the loop.
    ///
    /// - Parameters:
    ///   - charge: the memory of the frame; nil for a short frame.
    ///   - isLong: whether the frame was too long to parse it on the loop.
    ///   - decoded: parameters that were decoded before, by the place of their call.
    ///   - bytes: the size of a short frame; else 0.
    func receive(
        _ incoming: Incoming, charge: (any PayloadCharge)? = nil, isLong: Bool = false,
        decoded: [Int: any DecodedParams] = [:], bytes: Int = 0
    ) {
        if isSilent.exchange(false, ordering: .relaxed) { service.spoke(self) }
        switch incoming {
        case .one(let message): receive(message, place: nil, charge, isLong, decoded[0], bytes)
        case .batch(let messages):
            let batch = state.withLock { $0.batches.open(messages.count) }
            for (slot, message) in messages.enumerated() {
                let part = charge.map { ChargePart(of: $0) }
                receive(message, place: BatchPlace(batch: batch, slot: slot), part, isLong, decoded[slot], 0)
            }
        }
    }

    private func receive(
        _ message: Message, place: BatchPlace?, _ charge: (any PayloadCharge)?, _ isLong: Bool,
        _ decoded: (any DecodedParams)?, _ bytes: Int
    ) {
        switch message {
        case .call(let id, let method, let params):
            if id == nil, notified(method) { return noReply(place) }
            let later = AfterReplyQueue(
                charge: charge, isLong: isLong, isAlone: place == nil, decoded: decoded, messageBytes: bytes)
            start(id, method, params, place, later)
        case .reply(let id, let reply):
            let isAwaited = replied(id, permitted(reply), charge)
            if !isAwaited, case .empty(let error) = reply, !state.withLock({ $0.calls.hasAsked(id) }) {
                return refuse(id, error, place)
            }
            noReply(place)
        case .cancel(let target, let silently, let own):
            if let own, state.withLock({ $0.calls.replyID(own) }) == nil {
                return perform(state.withLock { $0.deliver(.error(nil, CallMachine.duplicate(own)), to: place) })
            }
            let call = state.withLock { state in
                state.calls.cancel(target, silently: silently).flatMap { state.calls.call($0) }
            }
            call?.cancel()
            guard let own else { return noReply(place) }
            perform(state.withLock { $0.deliver(.result(own, JSONText(written: Array("{}".utf8))), to: place) })
        case .broken(let id, let error): refuse(id, error, place)
        case .ignored: noReply(place)
        }
    }

    /// Replies to a message that is no call.
    private func refuse(_ id: RequestID?, _ error: RPCError, _ place: BatchPlace?) {
        perform(
            state.withLock { state in
                let known = state.calls.replyID(id)
                guard let id, known == nil else { return state.deliver(.error(known, error), to: place) }
                return state.deliver(.error(nil, CallMachine.duplicate(id)), to: place)
            })
    }

    /// The reply to a callback, with an error in place of a result that another user may not send.
    private func permitted(_ reply: Message.Reply) -> Message.Reply {
        guard setting.isOtherUser, case .result(let value) = reply, let error = dispatch?.refusal(ofResult: value)
        else {
            return reply
        }
        return .error(.object(["code": .integer(Int64(error.code)), "message": .string(error.message)]))
    }

    private func noReply(_ place: BatchPlace?) {
        guard let place else { return }
        perform(state.withLock { $0.fill(place, nil) })
    }

    /// Handles notifications that concern the connection itself, and drops unknown notifications. False for all others.
    private func notified(_ method: String) -> Bool {
        switch method {
        case "exit":
            let status: Int32 = state.withLock { $0.calls.isShutDown } ? 0 : 1
            exitStatus.store(status, ordering: .relaxed)
            leave()
            // on stdio the service ends with the connection, also if the client does not read its replies
            if setting.transport == .stdio {
                _ = loop.scheduleTask(in: .seconds(2)) { self.service.exit(status: status) }
            }
            return true
        case "initialized": return true
        default: return dispatch?.knows(method) != true
        }
    }

    private func start(
        _ id: RequestID?, _ method: String, _ params: JSONValue, _ place: BatchPlace?, _ later: AfterReplyQueue
    ) {
        guard let dispatch else { return }
        let start = state.withLock { $0.calls.start(id, place: place) }
        let ticket: CallTicket
        switch start {
        case .run(let new): ticket = new
        case .refuse(let id, let error):
            perform(state.withLock { $0.deliver(.error(id, error), to: place) })
            if takesBytes(method) { endMessages() }
            return
        case .ignore:
            noReply(place)
            if takesBytes(method) { endMessages() }
            return
        }
        service.tally.callsTotal.count()
        service.tally.callsRunning.count()
        let work: @Sendable () async throws -> JSONText
        do {
            let started = try dispatch.start(method, params, id: id, peer: self, later: later) { outcome in
                self.finished(ticket, id, outcome, later, method)
            }
            switch started {
            case .inline(let call): return keep(.inline(call), ticket)
            case .task(let rest): work = rest
            case nil: throw Self.unknown(method, dispatch.names)
            }
        } catch {
            return finished(ticket, id, .failure(Self.explained(error, method, service)), later, method)
        }
        // Runs at once until the method first suspends; a result without suspension is queued before the next frame is
        // parsed. The connection owns the task and cancels it.
        let task = Task.immediate(executorPreference: executor) {
            let outcome: Result<JSONText, any Error>
            do {
                outcome = .success(try await work())
            } catch {
                outcome = .failure(error)
            }
            self.finished(ticket, id, outcome.mapError { Self.explained($0, method, self.service) }, later, method)
        }
        keep(.task(task), ticket)
    }

    /// Remembers the call, unless the call is over already.
    private func keep(_ call: RunningCall, _ ticket: CallTicket) {
        if state.withLock({ $0.calls.keep(call, ticket) }) { call.cancel() }
    }

    private func finished(
        _ ticket: CallTicket, _ id: RequestID?, _ outcome: Result<JSONText, RPCError>, _ later: AfterReplyQueue,
        _ method: String
    ) {
        service.tally.callsRunning.count(-1)
        var isRaw = false
        var isUnwanted = false
        let (effects, raw) = state.withLock { state in
            var effects: Effects
            switch state.calls.finished(ticket) {
            case .silent(let place, let isCancelled):
                isUnwanted = isCancelled
                effects = state.fill(place, nil)
            case .reply(let place, let cancelled):
                switch outcome {
                case .success(let text):
                    if method == "shutdown" { state.calls.shutDown() }
                    guard let id else {
                        effects = state.fill(place, nil)
                        break
                    }
                    isRaw = true
                    effects = state.deliver(.result(id, text), to: place)
                case .failure(let error):
                    // methods assume that the client cancels them
                    let isStopped = error.code == RPCError.Code.cancelled.rawValue && state.calls.isStopping
                    let reason = isStopped ? Self.stopping : error
                    effects = state.deliver(.error(id, cancelled ? Self.cancelled : reason), to: place)
                }
            }
            effects.isLast = state.phase == .open && state.raw == nil && state.calls.isIdle
            // no other call can have ended: on a hijacked connection no call begins
            return (effects, state.raw)
        }
        perform(effects)
        let isDone = if case .success = outcome { true } else { false }
        if let raw {
            settle(raw, isRaw: isRaw) { [isUnwanted] in if isDone { later.run(isUnwanted: isUnwanted) } }
        } else if isDone {
            later.run(isUnwanted: isUnwanted)
        }
        if raw == nil ? !isDone : !isRaw, takesBytes(method) { endMessages() }
    }

    // MARK: errors

    private static var cancelled: RPCError {
        RPCError(.cancelled, "Cancelled by the client", data: ["reason": .string("cancelled")])
    }

    private static var stopping: RPCError { RPCError(.stopping, "the service is stopping") }

    private static func unknown(_ method: String, _ names: [String]) -> RPCError {
        var data: JSONObject = ["method": .string(method)]
        let near = method.hasPrefix("$/") ? [] : NameSuggestions.of(method, among: names)
        if !near.isEmpty { data["near"] = .array(near.map { .string($0) }) }
        let all = method.contains("/") ? "" : "; data.send makes a request, and rpc.discover lists all methods"
        let suggestion = near.first.map { "; did you mean \($0)?" } ?? all
        return RPCError(.methodNotFound, "Method not found: \(method)\(suggestion)", data: data)
    }

    /// The error for the client, from the error that a method threw.
    private static func explained(_ error: any Error, _ method: String, _ service: any ServiceHooks) -> RPCError {
        if let error = error as? RPCError { return error }
        if error is CancellationError { return stopping }
        let report = "\(method): \(type(of: error)): \(error)"
        service.logger.error("bug in a method: \(report)")
        return RPCError(
            .internalError, "a bug in outrider ended \(method); please report it", data: ["report": .string(report)])
    }
}
