// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization

/// Reviews the responses of a request during the exchange, so that retriers see failed rules and conversions.
final class ResponseReview: Sendable {
    private let validation: Validation?
    private let serialize: SerializeSpec
    private let handlers: [ResponseRecipient]
    /// Whether to convert the body during the exchange: for retriers, or because of callbacks.
    private let checksShape: Bool
    private let hasRetriers: Bool
    private let callbacks: (any ResponseCallbacks)?
    /// The converted body of the last response.
    private let body = Mutex<SerializedBody?>(nil)

    /// Nil if there is nothing to review, the usual case. Sets the needed options in the plan.
    init?(_ spec: inout RequestSpec, _ callbacks: (any ResponseCallbacks)?) {
        if callbacks == nil, spec.options == nil, spec.shared == nil { return nil }
        let validation = spec.options?.validation
        let retries = !(spec.shared?.plan.retriers.isEmpty ?? true)
        let asks = spec.destination == .inline && spec.serialize.asksClient
        if validation == nil, !retries, !asks { return nil }
        let handlers = spec.options?.handlers ?? []
        let insists =
            spec.destination == .inline && spec.serialize.insists || handlers.contains { $0.serialize.insists }
        let checksShape = retries && insists || asks
        guard validation != nil || checksShape else { return nil }
        self.validation = validation
        serialize = spec.serialize
        self.handlers = handlers
        self.checksShape = checksShape
        hasRetriers = retries
        self.callbacks = callbacks
        spec.plan.asksAboutHead = spec.plan.asksAboutHead || validation?.looksAtHead ?? false
        spec.plan.asksAboutResponse = true
    }

    /// The converted body of the last response.
    var made: SerializedBody? { body.withLock { $0 } }

    /// Throws the failure of a rule about the head.
    func judge(_ moment: ExchangeMoment) async throws(HTTPFailure) {
        guard let validation, validation.looksAtHead else { return }
        let work = ResponseWork(facts: ResponseFacts(moment), callbacks: callbacks)
        guard let failure = await work.faultOfHead(validation) else { return }
        moment.exchange.tell(.requestValidated) { .outcome(failure, attempt: moment.attempt) }
        throw failure
    }

    /// Throws the failure of a rule about the response, or of its conversion.
    func review(_ answer: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) {
        body.withLock { $0 = nil }
        let work = ResponseWork(facts: ResponseFacts(moment), callbacks: callbacks)
        if let validation {
            let failure = await work.fault(validation, answer, includingHead: false)
            moment.exchange.tell(.requestValidated) { .outcome(failure, attempt: moment.attempt) }
            if let failure { throw failure }
        }
        guard checksShape else { return }
        if !answer.isKept {
            let made = await work.body(try await answer.whole(), serialize, failure: nil)
            body.withLock { $0 = made }
            if let failure = made.failure { throw failure }
        }
        guard hasRetriers else { return }
        for handler in handlers where !handler.asksClient {
            if let failure = await work.result(handler, answer, failure: nil).failure { throw failure }
        }
    }
}

extension ResponseFacts {
    init(_ moment: ExchangeMoment) {
        let accept = moment.request.fields.all("Accept")
        self.init(
            method: moment.request.method, url: moment.request.url.description, accept: accept.isEmpty ? nil : accept,
            status: moment.head?.status, fields: moment.head?.fields ?? [])
    }
}

extension ResponseRecipient {
    var asksClient: Bool { serialize.asksClient || validation?.asksClient ?? false }
}

/// An advisor without callbacks: only rules that are data.
final class ReviewOnly: ExchangeDelegate {
    private let answers: ResponseReview

    init(_ answers: ResponseReview) { self.answers = answers }

    func adapt(_ name: String, _ moment: ExchangeMoment) async throws(HTTPFailure) -> Attempt { moment.request }

    func redirect(
        _ name: String, _ hop: RedirectHop, next: Attempt, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> Attempt? { nil }

    func judge(_ moment: ExchangeMoment) async throws(HTTPFailure) { try await answers.judge(moment) }

    func review(_ body: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) {
        try await answers.review(body, moment)
    }

    func retry(
        _ name: String, _ failure: HTTPFailure, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> RetryVerdict { .doNotRetry }
}
