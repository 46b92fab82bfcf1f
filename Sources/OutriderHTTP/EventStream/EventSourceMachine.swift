// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides what becomes of an event stream when a connection is answered, and when it ends (WHATWG HTML section 9.2.3).
///
///     connecting ──200──▶ open ──ended──▶ waiting ──time is over──▶ connecting
///         └──anything else──▶ waiting, or ended ◀──for good──┘
///
/// What ended for good may be connecting again, if somebody else knows how to help; what was closed stays so.
///
/// Only a status of 200 with the type text/event-stream opens it; 204 says that there will be no more. The first connection
/// must succeed, unless the policy says otherwise. Once it has been open, it is opened again whenever the connection ends,
/// is lost, cannot be made, or is answered with a status that may pass; not when the server says something else, and not
/// when the stream itself is at fault.
///
/// Responsible for: which answers count, when to reconnect, and when to give up.
/// Not responsible for: the events, the clock, and how connections are made.
package struct EventSourceMachine: Sendable {
    package enum State: Sendable, Equatable { case connecting, open, waiting, ended, closed }

    /// What to do with an answer.
    package enum Answer: Sendable, Equatable {
        /// Read it.
        case read
        /// It is none of an event stream: the attempt failed so.
        case refuse(HTTPFailure)
    }

    /// What to do after the end of a connection.
    package enum End: Sendable, Equatable {
        /// Connect again after so many seconds.
        case reconnect(after: Double)
        /// There is nothing more, and nothing is wrong.
        case finish
        case fail(HTTPFailure)
    }

    /// The type of an event stream.
    package static let mediaType = "text/event-stream"

    private let policy: ReconnectPolicy
    package private(set) var state = State.connecting
    /// Attempts in a row that brought nothing.
    package private(set) var failures = 0
    private var wasOpen = false
    /// When the connection was opened, in seconds of any clock that goes forward.
    private var opened = 0.0
    private var hasMoved = false

    package init(_ policy: ReconnectPolicy) { self.policy = policy }

    /// Whether it will be opened again when the connection just ends; otherwise that is the end of the stream.
    package var reconnects: Bool { policy.isEnabled }

    /// A connection is being made.
    package mutating func connecting() {
        if state != .closed { state = .connecting }
    }

    /// The head of a final answer has come.
    package mutating func answered(_ facts: ResponseFacts, now: Double) -> Answer {
        if let failure = Self.fault(facts) { return .refuse(failure) }
        guard state != .closed else { return .refuse(HTTPFailure(.explicitlyCancelled, "the stream was closed")) }
        state = .open
        wasOpen = true
        hasMoved = false
        opened = now
        return .read
    }

    /// Bytes of the stream have come: the server is well.
    package mutating func moved() { hasMoved = true }

    /// The connection is over, or could not be made.
    ///
    /// - Parameters:
    ///   - failure: why; nil where it just ended.
    ///   - asked: the server's reconnection time, in seconds; nil if it has told none.
    ///   - retryAfter: that of the answer which was refused, in seconds.
    ///   - chance: at random from 0 to 1.
    package mutating func ended(
        _ failure: HTTPFailure?, asked: Double?, retryAfter: Double? = nil, now: Double, chance: Double
    ) -> End {
        let wasGood = state == .open && (hasMoved || now - opened >= (asked ?? policy.delay))
        guard state != .closed else { return failure.map(End.fail) ?? .finish }
        state = .ended
        guard policy.isEnabled, wasOpen || policy.initial, Self.mayPass(failure) else {
            return failure.map(End.fail) ?? .finish
        }
        failures = wasGood ? 0 : failures &+ 1
        if let max = policy.max, failures >= max { return .fail(Self.gaveUp(failures, failure)) }
        state = .waiting
        return .reconnect(
            after: policy.delay(after: failures, asked: asked, retryAfter: retryAfter, chance: chance))
    }

    /// Nobody wants it any more.
    package mutating func close() { state = .closed }

    // MARK: rules

    /// Why an answer opens no event stream; nil if it does.
    private static func fault(_ facts: ResponseFacts) -> HTTPFailure? {
        if facts.status == 204 {
            return HTTPFailure(
                .eventStreamRetryRefused, "the server has no more events, and asks not to come back (\(facts.shown))",
                retryable: false, sent: .sent, details: [.status(204)])
        }
        if let failure = Validation([ValidationRule(status: StatusRanges([200...200]))]).fault(facts, []) {
            return failure
        }
        let type = facts.contentType.flatMap(AcceptableTypes.type)?.essence
        guard type != mediaType else { return nil }
        let found = type.map { "its Content-Type is \($0)" } ?? "it has no Content-Type"
        return HTTPFailure(
            .eventStreamWrongContentType, "the answer is no event stream: \(found), not \(mediaType) (\(facts.shown))",
            retryable: false, sent: .sent, details: [.acceptable([mediaType])] + (type.map { [.contentType($0)] } ?? [])
        )
    }

    /// Whether another attempt could do better.
    private static func mayPass(_ failure: HTTPFailure?) -> Bool {
        guard let failure else { return true }
        if RetryPolicy.networkKinds.contains(failure.kind) { return true }
        guard failure.kind == .unacceptableStatusCode else { return false }
        return failure.details.contains { detail in
            if case .status(let status) = detail { passing.contains(status) } else { false }
        }
    }

    /// Statuses of a server that may do better later (RFC 9110 sections 15.5.9 and 15.6, RFC 6585 section 4).
    private static let passing: Set<Int> = [408, 429, 500, 502, 503, 504]

    private static func gaveUp(_ failures: Int, _ cause: HTTPFailure?) -> HTTPFailure {
        let why = cause?.message ?? "the connection ended before anything came"
        return HTTPFailure(
            .eventStreamReconnectLimit, "the event stream was lost, and \(failures) attempts brought nothing: \(why)",
            retryable: true, sent: .maybeSent, details: cause.map { [.cause($0)] } ?? [])
    }
}
