// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP

/// The final result of a response: body, failure and handlers.
struct Conclusion: Sendable {
    /// Nil for a kept body, which the caller names.
    var body: ResponseBodyShape?
    var failure: HTTPFailure?
    var results: [HandlerResult] = []

    /// The longest kept body that is read into memory for rules and handlers.
    static let mostBytes = 8 << 20

    /// Converts the response into the requested shapes.
    ///
    /// - Parameters:
    ///   - failure: of the exchange, including validation.
    ///   - made: the body, if the exchange has converted the body already.
    static func make(
        _ outcome: ExchangeOutcome, _ destination: BodyDestination, _ spec: SerializeSpec,
        _ handlers: [ResponseRecipient],
        _ work: ResponseWork, failure: HTTPFailure?, made: SerializedBody? = nil
    ) async -> Conclusion {
        var conclusion = Conclusion(failure: failure)
        if destination == .inline, !outcome.body.isKept, !outcome.isWithoutItsBody {
            let bytes = (try? await outcome.body.whole()) ?? []
            let serialized: SerializedBody
            if let made { serialized = made } else { serialized = await work.body(bytes, spec, failure: failure) }
            var body = ResponseBodyShape(serialized, bytes, work.facts)
            body.size = outcome.bodyBytes
            body.isTruncated = outcome.isTruncated
            conclusion.body = body
            conclusion.failure = failure ?? serialized.failure
        }
        let missing = outcome.isWithoutItsBody ? Self.missing(destination) : nil
        for handler in handlers {
            conclusion.results.append(await work.result(handler, outcome.body, failure: failure ?? missing))
        }
        return conclusion
    }

    private static func missing(_ destination: BodyDestination) -> HTTPFailure {
        let reason =
            destination == .discard
            ? "bodyTo keeps no body for handlers (use inline, stored or file)"
            : "the body went to the call that asked for it"
        return HTTPFailure(.inputDataNilOrZeroLength, reason, sent: .sent)
    }
}

extension ExchangeOutcome {
    /// Whether bytes came that are no longer here.
    var isWithoutItsBody: Bool {
        if case .none = body { bodyBytes > 0 } else { false }
    }
}

extension ExchangeOutcome.Body {
    var isKept: Bool {
        if case .kept = self { true } else { false }
    }
}

extension KeptBody {
    /// The whole body, for rules and handlers. Throws inputFileReadFailed, and limitExceeded for too long a body.
    func wholeForRules() async throws(HTTPFailure) -> [UInt8] {
        guard size <= Conclusion.mostBytes else {
            throw HTTPFailure(
                .limitExceeded,
                "the kept body has \(size) bytes, and rules and handlers read at most \(Conclusion.mostBytes)",
                sent: .sent)
        }
        do throws(HTTPFailure) {
            return try await read(at: 0, count: size)
        } catch {
            throw HTTPFailure(
                .inputFileReadFailed, "the kept body could not be read: \(error.message)", sent: .sent,
                underlying: error.underlying, details: path.map { [.path($0)] } ?? [])
        }
    }
}
