// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP

/// What became of an answer by all that its request wanted of it.
struct Conclusion: Sendable {
    /// Nil for a body that is kept: where it is says the caller.
    var body: ResponseBodyShape?
    var failure: HTTPFailure?
    var results: [HandlerResult] = []

    /// A kept body that is longer is not read into memory for rules and handlers.
    static let mostBytes = 8 << 20

    /// Brings the answer into the shapes that were wanted.
    ///
    /// - Parameters:
    ///   - failure: of the exchange, validation included.
    ///   - made: the body, where the exchange has brought it into its shape already.
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
            destination == .discard ? "the body was discarded" : "the body went to the call that asked for it"
        return HTTPFailure(.inputDataNilOrZeroLength, reason, sent: .sent)
    }
}

extension ExchangeOutcome {
    /// Whether bytes came that are not here any more.
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
    /// All of it, for rules and handlers. Throws inputFileReadFailed, and limitExceeded when it is too long for them.
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
