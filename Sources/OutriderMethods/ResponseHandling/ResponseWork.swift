// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP

/// Validates a response, and converts its body, with callbacks if a rule names one.
///
/// Without callbacks, as in `evaluate.*`, a rule with a callback fails.
struct ResponseWork: Sendable {
    var facts: ResponseFacts
    var callbacks: (any ResponseCallbacks)?

    /// Longer bodies are processed away from the event loop.
    static let longBody = 64 << 10

    // MARK: validation

    /// The first objection of the rules for the head.
    func faultOfHead(_ validation: Validation) async -> HTTPFailure? {
        for rule in validation.rules where rule.onHeaders {
            if let failure = rule.fault(facts, isEmpty: facts.saysEmpty) { return failure }
            if let callback = rule.callback, let failure = await objection(callback, nil) { return failure }
        }
        return nil
    }

    /// The first objection of all rules, or only of those for the body.
    func fault(
        _ validation: Validation, _ body: ExchangeOutcome.Body, includingHead: Bool
    ) async -> HTTPFailure? {
        for rule in validation.rules {
            let isJudged = rule.onHeaders && !includingHead
            if !isJudged, let failure = rule.fault(facts, isEmpty: body.isEmpty) { return failure }
            if rule.schema != nil, let failure = await schemaFault(rule, body) { return failure }
            if !isJudged, let callback = rule.callback, let failure = await objection(callback, body) { return failure }
        }
        return nil
    }

    private func schemaFault(_ rule: ValidationRule, _ body: ExchangeOutcome.Body) async -> HTTPFailure? {
        do throws(HTTPFailure) {
            let bytes = try await body.whole()
            let facts = facts
            return await Self.run(bytes) { rule.schemaFault(facts, bytes) }
        } catch {
            var failure = error
            if failure.kind == .inputFileReadFailed { failure.kind = .dataFileReadFailed }
            return failure
        }
    }

    private func objection(_ callback: CallbackSpec, _ body: ExchangeOutcome.Body?) async -> HTTPFailure? {
        guard let callbacks else { return Self.noClient(.customValidationFailed, "callback.validate") }
        do throws(HTTPFailure) {
            try await callbacks.validate(callback, facts, body: body)
            return nil
        } catch {
            return error
        }
    }

    // MARK: serialization

    /// The body in the requested shape, or the nearest shape with the reason.
    func body(
        _ bytes: [UInt8], _ spec: SerializeSpec, failure: HTTPFailure?, whole: ExchangeOutcome.Body? = nil
    ) async -> SerializedBody {
        let (chosen, branch) = spec.chosen(facts, failure: failure, isEmpty: bytes.isEmpty)
        guard branch?.value == nil, chosen.callsClient else {
            let facts = facts
            return await Self.run(bytes, spec) {
                Serialization.serialize(bytes, as: spec, facts, failure: failure)
            }
        }
        var body = await serialized(bytes, whole ?? .bytes(bytes), chosen, failure)
        body.branch = branch?.name
        return body
    }

    /// The result of a handler: its value, or the first failure.
    func result(
        _ handler: ResponseRecipient, _ whole: ExchangeOutcome.Body, failure: HTTPFailure?
    ) async -> HandlerResult {
        var failure = failure
        if failure == nil, let validation = handler.validation {
            failure = await fault(validation, whole, includingHead: true)
        }
        let (chosen, branch) = handler.serialize.chosen(facts, failure: failure, isEmpty: whole.isEmpty)
        let ignoresError =
            chosen.extras?.ignoresError == true || chosen.extras?.callback != nil || branch?.value != nil
            || branch?.when.error != nil
        if let failure, !ignoresError { return HandlerResult(id: handler.id, failure: failure) }
        var bytes: [UInt8] = []
        do throws(HTTPFailure) {
            bytes = try await whole.whole()
        } catch {
            if chosen.extras?.callback == nil { return HandlerResult(id: handler.id, failure: failure ?? error) }
        }
        let serialized = await body(bytes, handler.serialize, failure: failure, whole: whole)
        if let failure = serialized.failure { return HandlerResult(id: handler.id, failure: failure) }
        return HandlerResult(id: handler.id, body: ResponseBodyShape(serialized, bytes, facts))
    }

    private func serialized(
        _ bytes: [UInt8], _ whole: ExchangeOutcome.Body, _ spec: SerializeSpec, _ failure: HTTPFailure?
    ) async -> SerializedBody {
        if let callback = spec.extras?.callback {
            guard let callbacks else {
                return fallback(bytes, Self.noClient(.customSerializationFailed, "callback.serialize"))
            }
            do throws(HTTPFailure) {
                let reply = try await callbacks.serialize(callback, facts, body: whole, failure: failure)
                var body = SerializedBody(.json(reply.value))
                body.holder = reply.holder
                return body
            } catch {
                return fallback(bytes, error)
            }
        }
        guard let callback = spec.extras?.preprocess?.callback, !bytes.isEmpty else {
            return Serialization.serialize(bytes, as: spec, facts)
        }
        guard let callbacks else {
            return fallback(bytes, Self.noClient(.customSerializationFailed, "callback.preprocess"))
        }
        do throws(HTTPFailure) {
            let reply = try await callbacks.preprocess(callback, facts, body: bytes)
            let (changed, facts) = (reply.value, facts)
            var body = await Self.run(changed, spec) { Serialization.preprocessed(changed, as: spec, facts) }
            body.holder = reply.holder
            return body
        } catch {
            return fallback(bytes, error)
        }
    }

    /// The received body, if the client's callback failed.
    private func fallback(_ bytes: [UInt8], _ failure: HTTPFailure) -> SerializedBody {
        var body = Serialization.serialize(
            bytes, as: SerializeSpec(), contentType: facts.contentType, emptyIsFine: true)
        body.failure = failure
        return body
    }

    private static func noClient(_ kind: HTTPFailure.Kind, _ method: String) -> HTTPFailure {
        HTTPFailure(kind, "no client is connected for \(method)", sent: .sent)
    }

    /// Runs short work at once; long work, and decoders that may load something, away from the event loop.
    private static func run<Value: Sendable>(
        _ bytes: [UInt8], _ spec: SerializeSpec? = nil, _ work: @escaping @Sendable () -> Value
    ) async -> Value {
        let labels = [spec?.encoding, spec?.extras?.fallback]
        let isShort = bytes.count <= longBody && !labels.contains { $0.map(TextDecoding.mayBlock) ?? false }
        return isShort ? work() : await background(work)
    }
}
