// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// Runs the callbacks about responses on the client that made the request.
final class ClientResponseCallbacks: ResponseCallbacks {
    let runner: CallbackRunner
    let names: CallbackSubject
    let events: any DecisionOutlet
    /// Whether values live with the call that waits for them, and so may exceed the budget as its message may.
    private let mayExceed: Bool
    private let attempt = Atomic(1)
    private let isReconnect = Atomic(false)

    init(_ runner: CallbackRunner, _ names: CallbackSubject, _ events: any DecisionOutlet, mayExceed: Bool) {
        self.runner = runner
        self.mayExceed = mayExceed
        self.names = names
        self.events = events
    }

    /// Sets the attempt that the next callbacks are about.
    func turn(to moment: ExchangeMoment) {
        turn(to: moment.attempt)
        isReconnect.store(moment.isReconnect, ordering: .relaxed)
    }

    /// The same for callbacks after the exchange: the last attempt may have had no response.
    func turn(to number: Int) { attempt.store(number, ordering: .relaxed) }

    func validate(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: ExchangeOutcome.Body?
    ) async throws(HTTPFailure) {
        let shown = body.map { CallbackBody($0, contentType: facts.contentType, limit: limit) }
        let reply: CallbackReply<ValidateDecision> = try await call(.validate, spec, .validate(facts, shown))
        if !reply.value.isValid { throw ValidationRule.objection(reply.value.reason, facts) }
    }

    func serialize(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: ExchangeOutcome.Body, failure: HTTPFailure?
    ) async throws(HTTPFailure) -> CallbackValue<JSONText> {
        let shown = CallbackBody(body, contentType: facts.contentType, limit: limit)
        let reply: CallbackReply<SerializeDecision> = try await call(
            .serialize, spec, .serialize(facts, shown, failure))
        return CallbackValue(value: reply.value.value, holder: try holder(of: reply))
    }

    func preprocess(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: [UInt8]
    ) async throws(HTTPFailure) -> CallbackValue<[UInt8]> {
        let shown = CallbackBody(.bytes(body), contentType: facts.contentType, limit: limit)
        let reply: CallbackReply<PreprocessDecision> = try await call(.preprocess, spec, .preprocess(facts, shown))
        return CallbackValue(value: reply.value.bytes, holder: try holder(of: reply))
    }

    /// The memory of the reply's message, for what stays of its content. Throws if that would stay beyond the budget.
    private func holder<Value>(of reply: CallbackReply<Value>) throws(HTTPFailure) -> ReplyMemory? {
        guard let charge = reply.charge else { return nil }
        if mayExceed || !charge.isBeyond { return ReplyMemory(charge) }
        quota.budget.countRefusal()
        throw HTTPFailure(
            .customSerializationFailed,
            "the memory of the service is full: the client's value cannot be kept (read replies that are due, or raise --memory)",
            sent: .sent)
    }

    private var quota: BodyQuota { runner.quota }

    /// The most bytes of a body in a callback: as much as the client can read, even with every character escaped.
    private var limit: Int { min(8 << 20, (runner.peer.terms.maxMessageBytes ?? 48 << 20) / 6) }

    private func call<Value: JSONDecodable & Sendable>(
        _ kind: CallbackKind, _ spec: CallbackSpec, _ content: CallbackParameters.Content
    ) async throws(HTTPFailure) -> CallbackReply<Value> {
        var names = names
        names.callback = spec.name
        names.attempt = attempt.load(ordering: .relaxed)
        do throws(RPCError) {
            return try await runner.reply(
                kind, spec, names, content, events: events, isReconnect: isReconnect.load(ordering: .relaxed))
        } catch {
            throw kind.failure(error) ?? HTTPFailure(.sessionTaskFailed, error.message, underlying: error.underlying)
        }
    }
}
