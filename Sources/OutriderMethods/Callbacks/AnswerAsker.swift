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
    private let attempt = Atomic(1)

    init(_ asker: Asker, _ names: QuestionNames, _ events: any DecisionOutlet) {
        self.asker = asker
        self.names = names
        self.events = events
    }

    /// Sets the attempt that the next callbacks are about.
    func turn(to attempt: Int) { self.attempt.store(attempt, ordering: .relaxed) }

    func validate(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: ExchangeOutcome.Body?
    ) async throws(HTTPFailure) {
        let shown = body.map { CallbackBody($0, contentType: facts.contentType, limit: limit) }
        let answer: ValidateAnswer = try await ask(.validate, spec, .validate(facts, shown))
        if !answer.isValid { throw ValidationRule.objection(answer.reason, facts) }
    }

    func serialize(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: ExchangeOutcome.Body, failure: HTTPFailure?
    ) async throws(HTTPFailure) -> JSONText {
        let shown = CallbackBody(body, contentType: facts.contentType, limit: limit)
        let answer: SerializeAnswer = try await ask(.serialize, spec, .serialize(facts, shown, failure))
        return JSONText(written: JSONWriter.bytes(of: answer.value))
    }

    func preprocess(
        _ spec: CallbackSpec, _ facts: ResponseFacts, body: [UInt8]
    ) async throws(HTTPFailure) -> [UInt8] {
        let shown = CallbackBody(.bytes(body), contentType: facts.contentType, limit: limit)
        let answer: PreprocessAnswer = try await ask(.preprocess, spec, .preprocess(facts, shown))
        return answer.bytes
    }

    /// The most bytes of a body in a callback: as much as the client can read, even with every character escaped.
    private var limit: Int { min(8 << 20, (asker.peer.terms.maxMessageBytes ?? 48 << 20) / 6) }

    private func ask<Answer: JSONDecodable>(
        _ kind: CallbackKind, _ spec: CallbackSpec, _ content: CallbackQuestion.Content
    ) async throws(HTTPFailure) -> Answer {
        var names = names
        names.callback = spec.name
        names.attempt = attempt.load(ordering: .relaxed)
        do throws(RPCError) {
            return try await asker.ask(kind, spec, names, content, events: events)
        } catch {
            throw kind.failure(error) ?? HTTPFailure(.sessionTaskFailed, error.message, underlying: error.underlying)
        }
    }
}
