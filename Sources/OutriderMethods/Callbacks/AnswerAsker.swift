// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// Runs the callbacks about responses on the client that made the request.
final class AnswerAsker: AnswerAsking {
    let asker: Asker
    let names: QuestionNames
    let events: any DecisionOutlet
    /// Whether values live with the call that waits for them, and so may exceed the budget as its message may.
    private let mayExceed: Bool
    private let attempt = Atomic(1)

    init(_ asker: Asker, _ names: QuestionNames, _ events: any DecisionOutlet, mayExceed: Bool) {
        self.asker = asker
        self.mayExceed = mayExceed
        self.names = names
        self.events = events
    }

    /// Sets the attempt that the next callbacks are about.
    func turn(to attempt: Int) { self.attempt.store(attempt, ordering: .relaxed) }

    func validate(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: ExchangeOutcome.Body?
    ) async throws(HTTPFailure) {
        let shown = body.map { CallbackBody($0, contentType: facts.contentType, limit: limit) }
        let reply: CallbackReply<ValidateAnswer> = try await ask(.validate, spec, .validate(facts, shown))
        if !reply.answer.isValid { throw ValidationRule.objection(reply.answer.reason, facts) }
    }

    func serialize(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: ExchangeOutcome.Body, failure: HTTPFailure?
    ) async throws(HTTPFailure) -> AnsweredValue<JSONText> {
        let shown = CallbackBody(body, contentType: facts.contentType, limit: limit)
        let reply: CallbackReply<SerializeAnswer> = try await ask(.serialize, spec, .serialize(facts, shown, failure))
        return AnsweredValue(value: reply.answer.value, holder: try holder(of: reply))
    }

    func preprocess(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: [UInt8]
    ) async throws(HTTPFailure) -> AnsweredValue<[UInt8]> {
        let shown = CallbackBody(.bytes(body), contentType: facts.contentType, limit: limit)
        let reply: CallbackReply<PreprocessAnswer> = try await ask(.preprocess, spec, .preprocess(facts, shown))
        return AnsweredValue(value: reply.answer.bytes, holder: try holder(of: reply))
    }

    /// The memory of the reply's message, for what stays of its content. Throws if that would stay beyond the budget.
    private func holder<Answer>(of reply: CallbackReply<Answer>) throws(HTTPFailure) -> ReplyMemory? {
        guard let charge = reply.charge else { return nil }
        if mayExceed || !charge.isBeyond { return ReplyMemory(charge) }
        quota.budget.countRefusal()
        throw HTTPFailure(
            .customSerializationFailed,
            "the memory of the service is full: the client's value cannot be kept (read replies that are due, or raise --memory)",
            sent: .sent)
    }

    private var quota: BodyQuota { asker.quota }

    /// The most bytes of a body in a callback: as much as the client can read, even with every character escaped.
    private var limit: Int { min(8 << 20, (asker.peer.terms.maxMessageBytes ?? 48 << 20) / 6) }

    private func ask<Answer: JSONDecodable & Sendable>(
        _ kind: CallbackKind, _ spec: CallbackSpec, _ content: CallbackQuestion.Content
    ) async throws(HTTPFailure) -> CallbackReply<Answer> {
        var names = names
        names.callback = spec.name
        names.attempt = attempt.load(ordering: .relaxed)
        do throws(RPCError) {
            return try await asker.reply(kind, spec, names, content, events: events)
        } catch {
            throw kind.failure(error) ?? HTTPFailure(.sessionTaskFailed, error.message, underlying: error.underlying)
        }
    }
}
