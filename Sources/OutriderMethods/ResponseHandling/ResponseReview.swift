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
        let callsClient = spec.destination == .inline && spec.serialize.callsClient
        if validation == nil, !retries, !callsClient { return nil }
        let handlers = spec.options?.handlers ?? []
        let insists =
            spec.destination == .inline && spec.serialize.insists || handlers.contains { $0.serialize.insists }
        let checksShape = retries && insists || callsClient
        guard validation != nil || checksShape else { return nil }
        self.validation = validation
        serialize = spec.serialize
        self.handlers = handlers
        self.checksShape = checksShape
        hasRetriers = retries
        self.callbacks = callbacks
        spec.plan.judgesHead = spec.plan.judgesHead || validation?.looksAtHead ?? false
        spec.plan.reviewsResponse = true
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
    func review(_ received: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) {
        body.withLock { $0 = nil }
        let work = ResponseWork(facts: ResponseFacts(moment), callbacks: callbacks)
        if let validation {
            let failure = await work.fault(validation, received, includingHead: false)
            moment.exchange.tell(.requestValidated) { .outcome(failure, attempt: moment.attempt) }
            if let failure { throw failure }
        }
        guard checksShape else { return }
        if !received.isKept {
            let made = await work.body(try await received.whole(), serialize, failure: nil)
            body.withLock { $0 = made }
            if let failure = made.failure { throw failure }
        }
        guard hasRetriers else { return }
        for handler in handlers where !handler.callsClient {
            if let failure = await work.result(handler, received, failure: nil).failure { throw failure }
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
    var callsClient: Bool { serialize.callsClient || validation?.callsClient ?? false }
}

/// A delegate without callbacks: only rules that are data.
final class ReviewOnly: ExchangeDelegate {
    private let reviewer: ResponseReview

    init(_ reviewer: ResponseReview) { self.reviewer = reviewer }

    func adapt(_ name: String, _ moment: ExchangeMoment) async throws(HTTPFailure) -> Attempt { moment.request }

    func redirect(
        _ name: String, _ hop: RedirectHop, next: Attempt, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> Attempt? { nil }

    func judge(_ moment: ExchangeMoment) async throws(HTTPFailure) { try await reviewer.judge(moment) }

    func review(_ received: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) {
        try await reviewer.review(received, moment)
    }

    func retry(
        _ name: String, _ failure: HTTPFailure, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> RetryVerdict { .doNotRetry }
}
