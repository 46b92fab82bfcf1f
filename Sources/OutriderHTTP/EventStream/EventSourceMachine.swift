// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides how an event stream reacts to responses and to the end of connections (WHATWG HTML section 9.2.3).
///
///     connecting ──200──▶ open ──ended──▶ waiting ──time is over──▶ connecting
///         └──anything else──▶ waiting, or ended ◀──for good──┘
///
/// An ended stream may connect again after a retry by the request's retriers; a closed stream stays closed.
///
/// Only a response with status 200 and type text/event-stream opens the stream; 204 ends the stream for good. The first
/// connection must succeed, unless the policy says otherwise. After that, the stream reconnects whenever a connection
/// ends, is lost, cannot be made, or gets a transient error status; never after another response, or an error in the
/// stream itself.
///
/// Responsible for: which responses are accepted, when to reconnect, and when to give up.
/// Not responsible for: the events, the clock, and how connections are made.
package struct EventSourceMachine: Sendable {
    package enum State: Sendable, Equatable { case connecting, open, waiting, ended, closed }

    /// The verdict on a response.
    package enum Verdict: Sendable, Equatable {
        /// Read the events.
        case read
        /// The response is no event stream: the attempt fails.
        case refuse(HTTPFailure)
    }

    /// The reaction to the end of a connection.
    package enum End: Sendable, Equatable {
        /// Connect again after so many seconds.
        case reconnect(after: Double)
        /// The stream is over without a failure.
        case finish
        case fail(HTTPFailure)
    }

    /// The type of an event stream.
    package static let mediaType = "text/event-stream"

    private let policy: ReconnectPolicy
    package private(set) var state = State.connecting
    /// Fruitless attempts in a row.
    package private(set) var failures = 0
    private var wasOpen = false
    /// When the connection was opened, in seconds of a monotonic clock.
    private var opened = 0.0
    private var hasMoved = false

    package init(_ policy: ReconnectPolicy) { self.policy = policy }

    /// A connection is being made.
    package mutating func connecting() {
        if state != .closed { state = .connecting }
    }

    /// Handles the head of a final response.
    package mutating func responded(_ facts: ResponseFacts, now: Double) -> Verdict {
        if let failure = Self.fault(facts) { return .refuse(failure) }
        guard state != .closed else { return .refuse(HTTPFailure(.explicitlyCancelled, "the stream was closed")) }
        state = .open
        wasOpen = true
        hasMoved = false
        opened = now
        return .read
    }

    /// Notes that bytes of the stream arrived: the server works.
    package mutating func moved() { hasMoved = true }

    /// Notes that a connection ended, or could not be made.
    ///
    /// - Parameters:
    ///   - failure: why; nil for a plain end of the response.
    ///   - serverDelay: the server's reconnection time, in seconds; nil if not set.
    ///   - retryAfter: of the refused response, in seconds.
    ///   - chance: at random from 0 to 1.
    package mutating func ended(
        _ failure: HTTPFailure?, serverDelay: Double?, retryAfter: Double? = nil, now: Double, chance: Double
    ) -> End {
        let lasting = max(serverDelay ?? policy.delay, ReconnectPolicy.shortestGood)
        let wasGood = state == .open && (hasMoved || now - opened >= lasting)
        guard state != .closed else { return failure.map(End.fail) ?? .finish }
        state = .ended
        guard policy.isEnabled, wasOpen || policy.initial, Self.mayPass(failure) else {
            return failure.map(End.fail) ?? .finish
        }
        failures = wasGood ? 0 : failures &+ 1
        if let max = policy.max, failures >= max { return .fail(Self.gaveUp(failures, failure)) }
        state = .waiting
        return .reconnect(
            after: policy.delay(after: failures, serverDelay: serverDelay, retryAfter: retryAfter, chance: chance))
    }

    /// Closes the stream for the client.
    package mutating func close() { state = .closed }

    // MARK: rules

    /// Why a response opens no event stream; nil if valid.
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
            .eventStreamWrongContentType,
            "the response is no event stream: \(found), not \(mediaType) (\(facts.shown))",
            retryable: false, sent: .sent, details: [.acceptable([mediaType])] + (type.map { [.contentType($0)] } ?? [])
        )
    }

    /// Whether the failure is transient, so that another attempt may succeed.
    private static func mayPass(_ failure: HTTPFailure?) -> Bool {
        guard let failure else { return true }
        if ReconnectPolicy.mayPass(failure) { return true }
        guard failure.kind == .unacceptableStatusCode else { return false }
        return failure.details.contains { detail in
            if case .status(let status) = detail { ValidationRule.transient.contains(status) } else { false }
        }
    }

    private static func gaveUp(_ failures: Int, _ cause: HTTPFailure?) -> HTTPFailure {
        let why = cause?.message ?? "the connection ended before anything came"
        return HTTPFailure(
            .eventStreamReconnectLimit, "the event stream was lost, and \(failures) attempts brought nothing: \(why)",
            retryable: true, sent: .maybeSent, details: cause.map { [.cause($0)] } ?? [])
    }
}
