// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import Synchronization

/// Reviews the responses of a request during the exchange, so that the exchange fails with a rule or a conversion, and
/// retriers see both.
final class ResponseReview: Sendable {
    private struct Converted {
        var body: SerializedBody?
        var failure: HTTPFailure?
    }

    private let validation: Validation?
    private let serialize: SerializeSpec
    private let handlers: [ResponseRecipient]
    /// Whether to convert the body during the exchange: the caller insists on a shape, or callbacks convert the body.
    private let checksShape: Bool
    /// Whether retriers see the failures of the handlers.
    private let checksHandlers: Bool
    /// Whether the converted body stays for the reply.
    private let keepsBody: Bool
    private let callbacks: (any ResponseCallbacks)?
    /// The conversion of the last response.
    private let converted = Mutex(Converted())

    /// Whether there may be something to review. An initializer that returns nil makes an object, too.
    static func mayReview(_ spec: RequestSpec, _ callbacks: (any ResponseCallbacks)?) -> Bool {
        callbacks != nil || spec.options != nil || spec.shared != nil
            || spec.destination == .inline && spec.serialize.insists
    }

    /// Nil if there is nothing to review. Sets the needed options in the plan.
    ///
    /// - Parameter isOfCall: the reply follows the exchange at once, and takes the converted body.
    init?(_ spec: inout RequestSpec, _ callbacks: (any ResponseCallbacks)?, isOfCall: Bool) {
        let insists = spec.destination == .inline && spec.serialize.insists
        let validation = spec.options?.validation
        let retries = !(spec.shared?.plan.retriers.isEmpty ?? true)
        let callsClient = spec.destination == .inline && spec.serialize.callsClient
        let handlers = spec.options?.handlers ?? []
        let checksHandlers = retries && handlers.contains { $0.serialize.insists || $0.validation != nil }
        guard validation != nil || insists || callsClient || checksHandlers else { return nil }
        self.validation = validation
        serialize = spec.serialize
        self.handlers = handlers
        checksShape = insists || callsClient
        self.checksHandlers = checksHandlers
        keepsBody = callsClient || isOfCall
        self.callbacks = callbacks
        spec.plan.judgesHead = spec.plan.judgesHead || validation?.looksAtHead ?? false
        spec.plan.reviewsResponse = true
    }

    /// Whether the exchange failed because the last response has not the shape on which the caller insists. The engine
    /// may have added to the message why there was no retry.
    func isOfShape(_ failure: HTTPFailure?) -> Bool {
        guard let failure, var own = converted.withLock({ $0.failure }) else { return false }
        guard failure.message.hasPrefix(own.message) else { return false }
        own.message = failure.message
        return own == failure
    }

    /// The converted body of the last response, if the exchange ended with that failure of its conversion, or without a
    /// failure. The reply takes the body; only what callbacks made stays for further replies.
    func takeBody(_ failure: HTTPFailure?) -> SerializedBody? {
        guard failure == nil || isOfShape(failure) else { return nil }
        return converted.withLock { converted in
            if failure == nil, converted.failure != nil { return nil }
            defer { if !serialize.callsClient { converted.body = nil } }
            return converted.body
        }
    }

    /// Throws the failure of a rule about the head.
    func judge(_ moment: ExchangeMoment) async throws(HTTPFailure) {
        guard let validation, validation.looksAtHead else { return }
        let work = ResponseWork(facts: ResponseFacts(moment), callbacks: callbacks)
        guard let failure = await work.faultOfHead(validation) else { return }
        moment.exchange.tell(.requestValidated) { .outcome(failure, attempt: moment.attempt) }
        throw failure
    }

    /// The first failure of a rule about the status or the type.
    func headFault(_ moment: ExchangeMoment, isEmpty: Bool) -> HTTPFailure? {
        guard let validation else { return nil }
        let facts = ResponseFacts(moment)
        for rule in validation.rules {
            guard let failure = rule.fault(facts, isEmpty: isEmpty) else { continue }
            moment.exchange.tell(.requestValidated) { .outcome(failure, attempt: moment.attempt) }
            return failure
        }
        return nil
    }

    /// Throws the failure of a rule about the response, or of its conversion. Returns the first failure of a handler.
    func review(_ received: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) -> HTTPFailure? {
        converted.withLock { $0 = Converted() }
        let work = ResponseWork(facts: ResponseFacts(moment), callbacks: callbacks)
        if let validation {
            let failure = await work.fault(validation, received, includingHead: false)
            moment.exchange.tell(.requestValidated) { .outcome(failure, attempt: moment.attempt) }
            if let failure { throw failure }
        }
        if checksShape { try await convert(received, work) }
        guard checksHandlers else { return nil }
        for handler in handlers where !handler.callsClient {
            if let failure = await work.result(handler, received, failure: nil).failure { return failure }
        }
        return nil
    }

    /// Throws the failure of the conversion. A body that stays stored is only checked, without callbacks.
    private func convert(_ received: ExchangeOutcome.Body, _ work: ResponseWork) async throws(HTTPFailure) {
        if case .kept(let body) = received, serialize.callsClient || body.size > Conclusion.mostBytes { return }
        let made = await work.body(try await received.whole(), serialize, failure: nil)
        let body = keepsBody && !received.isKept ? made : nil
        converted.withLock { $0 = Converted(body: body, failure: made.failure) }
        if let failure = made.failure { throw failure }
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

    func headFault(_ moment: ExchangeMoment, isEmpty: Bool) -> HTTPFailure? {
        reviewer.headFault(moment, isEmpty: isEmpty)
    }

    func review(_ received: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) -> HTTPFailure? {
        try await reviewer.review(received, moment)
    }

    func retry(
        _ name: String, _ failure: HTTPFailure, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> RetryVerdict { .doNotRetry }
}
