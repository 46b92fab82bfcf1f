// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides whether and when a WebSocket whose connection ended is opened again.
///
///     connecting ──101──▶ open ──ended──▶ waiting ──delay──▶ connecting
///         └──refused──▶ waiting, or ended       └──for good──▶ ended
///
/// Responsible for: which ends lead to another connection, delays, giving up.
/// Not responsible for: the clock, how connections are made, events.
package struct WebSocketReconnect: Sendable {
    package struct Policy: Sendable, Equatable {
        /// Default false.
        package var isEnabled = false
        /// Seconds before the first new attempt. Default 1.
        package var delay = 1.0
        /// Seconds before any attempt at most; the delay doubles with each that fails. Default 60.
        package var longest = 60.0
        /// Attempts in a row that may fail; nil for no limit. Default nil.
        package var max: Int?
        /// Further close codes that are followed by another connection.
        package var codes: Set<Int> = []
        /// Whether the first connection, too, is attempted again. Default false.
        package var initial = false

        package init() {}
    }

    /// How a connection ended.
    package enum Cause: Sendable, Equatable {
        /// A Close frame with the code, or 1006 without a code; the service's own code if the connection failed.
        case closed(Int)
        /// The opening handshake failed.
        case refused(HTTPFailure)
    }

    package enum Step: Sendable, Equatable {
        case reconnect(after: Double)
        case finish
        case fail(HTTPFailure)
    }

    /// Close codes that are followed by another connection.
    private static let passingCodes: Set<Int> = [1001, 1006, 1011, 1012, 1013, 1014]

    private let policy: Policy
    /// Attempts in a row without a connection that stayed open.
    package private(set) var failures = 0
    private var wasOpen = false
    private var isOpen = false
    private var openedAt = 0.0

    package init(_ policy: Policy) { self.policy = policy }

    package mutating func opened(now: Double) {
        wasOpen = true
        isOpen = true
        openedAt = now
    }

    /// Notes that the connection ended, or could not be made.
    ///
    /// - Parameters:
    ///   - retryAfter: of the refusing response, in seconds.
    ///   - chance: at random from 0 to 1.
    package mutating func ended(_ cause: Cause, retryAfter: Double? = nil, now: Double, chance: Double) -> Step {
        let wasGood = isOpen && now - openedAt >= policy.delay
        isOpen = false
        guard policy.isEnabled, wasOpen || policy.initial, mayPass(cause) else {
            if case .refused(let failure) = cause { return .fail(failure) }
            return .finish
        }
        failures = wasGood ? 0 : failures &+ 1
        if let max = policy.max, failures >= max { return .fail(gaveUp(cause)) }
        var backoff = ReconnectPolicy()
        backoff.delay = min(policy.delay, policy.longest)
        backoff.longest = policy.longest
        return .reconnect(
            after: backoff.delay(after: failures, serverDelay: nil, retryAfter: retryAfter, chance: chance))
    }

    private func mayPass(_ cause: Cause) -> Bool {
        switch cause {
        case .closed(let code): return Self.passingCodes.contains(code) || policy.codes.contains(code)
        case .refused(let failure):
            if ReconnectPolicy.mayPass(failure) { return true }
            guard failure.kind == .webSocketHandshakeRefused || failure.kind == .unacceptableStatusCode else {
                return false
            }
            return failure.details.contains { detail in
                if case .status(let status) = detail { ValidationRule.transient.contains(status) } else { false }
            }
        }
    }

    private func gaveUp(_ cause: Cause) -> HTTPFailure {
        var details: [FailureDetail] = []
        var why = "the connection ended"
        switch cause {
        case .closed(let code):
            details.append(.closeCode(code))
            why += " with code \(code)"
        case .refused(let failure):
            details.append(.cause(failure))
            why = failure.message
        }
        return HTTPFailure(
            .webSocketReconnectLimit, "the WebSocket was lost, and \(failures) attempts in a row failed: \(why)",
            retryable: true, sent: .maybeSent, details: details)
    }
}
