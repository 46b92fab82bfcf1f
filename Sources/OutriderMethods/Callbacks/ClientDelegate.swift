// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC
import Synchronization

/// Runs the callbacks of an exchange, each on its own client.
final class ClientDelegate: ExchangeDelegate {
    /// A callback: the client, and the options of the call.
    struct Code: Sendable {
        var spec: CallbackSpec
        var runner: CallbackRunner
        /// The first reply holds for all attempts.
        var isCalledOnce = false
        /// The parameters to encode; nil for an adapter.
        var parameters: JSONValue?
        /// The request names a Content-Type of its own, which stays with the body of an encoder.
        var keepsType = false
        /// Shares challenge callbacks among requests.
        var prompt: SharedChallengePrompt?
    }

    /// The callbacks of a request, by the keys that the engine uses.
    struct CallbackRegistry: Sendable {
        private var codes: [Code] = []

        var isEmpty: Bool { codes.isEmpty }

        /// Returns the key, which no client can choose as a name.
        mutating func add(_ code: Code) -> String {
            codes.append(code)
            return "\0\(codes.count - 1)"
        }

        func code(_ key: String) -> Code? {
            guard key.utf8.first == 0, let index = Int(key.dropFirst()), codes.indices.contains(index) else {
                return nil
            }
            return codes[index]
        }
    }

    private let registry: CallbackRegistry
    private let callbacks: ClientResponseCallbacks
    private let review: ResponseReview?
    /// The callback for the head of a response; nil if none.
    private let disposition: CallbackSpec?
    private let adapted = Mutex<[String: AttemptChange]>([:])
    private let decided = Mutex<[String: RetryVerdict]>([:])

    /// - Parameters:
    ///   - callbacks: runs callbacks on the client that made the request.
    ///   - review: reviews responses before callbacks do; nil for none.
    init(
        _ registry: CallbackRegistry, _ callbacks: ClientResponseCallbacks, _ review: ResponseReview?,
        disposition: CallbackSpec?
    ) {
        self.registry = registry
        self.callbacks = callbacks
        self.review = review
        self.disposition = disposition
    }

    func adapt(_ name: String, _ moment: ExchangeMoment) async throws(HTTPFailure) -> Attempt {
        let code = code(name)
        if let change = adapted.withLock({ $0[name] }) {
            var attempt = moment.request
            try change.apply(to: &attempt, keepsType: code.keepsType)
            return attempt
        }
        let reply: CallbackReply<AttemptChange> =
            if let parameters = code.parameters {
                try await call(.encode, code, moment, .encode(moment.request, parameters, retries: moment.retries))
            } else {
                try await call(.adapt, code, moment, .adapt(moment.request, retries: moment.retries))
            }
        let (attempt, change) = try await code.runner.apply(reply, to: moment.request, keepsType: code.keepsType)
        if code.isCalledOnce { adapted.withLock { $0[name] = change } }
        return attempt
    }

    func retry(
        _ name: String, _ failure: HTTPFailure, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> RetryVerdict {
        let code = code(name)
        if let verdict = decided.withLock({ $0[name] }) { return verdict }
        let content = CallbackParameters.Content.retry(failure, moment.request, moment.head, retries: moment.retries)
        do throws(RPCError) {
            let reply: CallbackReply<RetryDecision> = try await reply(.retry, code, moment, content)
            let verdict = reply.value.verdict
            if code.isCalledOnce { decided.withLock { $0[name] = verdict } }
            return verdict
        } catch {
            return error.code == RPCError.Code.callbackFailed.rawValue ? .unusable(error.message) : .doNotRetry
        }
    }

    func redirect(
        _ name: String, _ hop: RedirectHop, next: Attempt, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> Attempt? {
        let content = CallbackParameters.Content.redirect(hop, next)
        let code = code(name)
        guard let reply: CallbackReply<RedirectDecision> = try await callIfPossible(.redirect, code, moment, content),
            reply.value.follows
        else { return nil }
        guard let change = reply.value.change else { return next }
        do throws(HTTPFailure) {
            return try await code.runner.apply(CallbackReply(value: change, charge: reply.charge), to: next).attempt
        } catch {
            // a pointer would lead into the reply, not into the params of the request
            var failure = error
            failure.pointer = nil
            failure.message = "the redirect of \(FieldRules.shown(code.spec.name)) cannot be followed: \(error.message)"
            throw failure
        }
    }

    func destination(
        _ name: String, _ file: ArrivedFile, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> ArrivedFile.Destination? {
        let content = CallbackParameters.Content.destination(file, moment.request, moment.head)
        let reply: CallbackReply<DestinationDecision>? =
            try await callIfPossible(.destination, code(name), moment, content)
        return reply?.value.destination
    }

    func cacheResponse(_ name: String, _ draft: CacheDraft, _ moment: ExchangeMoment) async -> CacheDraft? {
        let content = CallbackParameters.Content.cacheResponse(draft, moment.request)
        do throws(RPCError) {
            let reply: CallbackReply<CacheDecision> = try await reply(.cacheResponse, code(name), moment, content)
            return reply.value.applied(to: draft)
        } catch {
            return nil
        }
    }

    func challenge(
        _ name: String, _ callback: AuthenticationCallback, _ moment: ExchangeMoment
    ) async -> CallbackCredential? {
        let content = CallbackParameters.Content.challenge(callback, moment.request, moment.head)
        var code = code(name)
        guard let prompt = code.prompt, let offer = callback.offers.first else { return nil }
        let space = ProtectionSpace(callback.source, of: callback.url, realm: offer.realm)
        return await prompt.credential(
            for: space, sentAt: moment.sent, refused: callback.refused, within: code.spec.timeout,
            callbacks.runner.engine
        ) { seconds in
            code.spec.timeout = seconds
            do throws(RPCError) {
                let reply: CallbackReply<ChallengeDecision> =
                    try await self.reply(.challenge, code, moment, content)
                return .some(reply.value.given)
            } catch {
                // other waiting requests may have more time, or not be cancelled
                return error.isOfCaller ? nil : .some(nil)
            }
        }
    }

    func judge(_ moment: ExchangeMoment) async throws(HTTPFailure) {
        callbacks.turn(to: moment)
        try await review?.judge(moment)
        guard let disposition else { return }
        let code = Code(spec: disposition, runner: callbacks.runner)
        let content = CallbackParameters.Content.disposition(moment.request, moment.head)
        let reply: CallbackReply<DispositionDecision>? =
            try await callIfPossible(.disposition, code, moment, content)
        if reply?.value.isAllowed == false {
            throw HTTPFailure(.explicitlyCancelled, "the client did not want the body of the response", sent: .sent)
        }
    }

    func headFault(_ moment: ExchangeMoment, isEmpty: Bool) -> HTTPFailure? {
        review?.headFault(moment, isEmpty: isEmpty)
    }

    func review(_ body: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) -> HTTPFailure? {
        callbacks.turn(to: moment)
        return try await review?.review(body, moment)
    }

    // MARK: callbacks

    /// The callback of the key; any other name is the request's own callback.
    private func code(_ key: String) -> Code {
        registry.code(key) ?? Code(spec: CallbackSpec(key), runner: callbacks.runner)
    }

    /// Throws the failure that results from a missing reply.
    private func call<Value: JSONDecodable & Sendable>(
        _ kind: CallbackKind, _ code: Code, _ moment: ExchangeMoment, _ content: CallbackParameters.Content
    ) async throws(HTTPFailure) -> CallbackReply<Value> {
        do throws(RPCError) {
            return try await reply(kind, code, moment, content)
        } catch {
            throw kind.failure(error) ?? HTTPFailure(.sessionTaskFailed, error.message, underlying: error.underlying)
        }
    }

    /// Nil without a reply; the exchange then continues.
    private func callIfPossible<Value: JSONDecodable & Sendable>(
        _ kind: CallbackKind, _ code: Code, _ moment: ExchangeMoment, _ content: CallbackParameters.Content
    ) async throws(HTTPFailure) -> CallbackReply<Value>? {
        do throws(RPCError) {
            return try await reply(kind, code, moment, content)
        } catch {
            return nil
        }
    }

    private func reply<Value: JSONDecodable & Sendable>(
        _ kind: CallbackKind, _ code: Code, _ moment: ExchangeMoment, _ content: CallbackParameters.Content
    ) async throws(RPCError) -> CallbackReply<Value> {
        var names = callbacks.names
        names.callback = code.spec.name
        names.attempt = moment.attempt
        return try await code.runner.reply(
            kind, code.spec, names, content, events: callbacks.events, isReconnect: moment.isReconnect)
    }
}
