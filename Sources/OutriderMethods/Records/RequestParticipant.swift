// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP

/// A participant in a request beside the client's callbacks: it decides on retries first, adapts last, and forwards the
/// calls that are for other advisors.
protocol RequestParticipant: ExchangeDelegate {
    /// The key of the participant among the exchange's delegates.
    static var key: String { get }
    /// The exchange's other delegates.
    var inner: (any ExchangeDelegate)? { get set }
    /// Fields that redirects keep.
    static var keptFields: [String] { get }
    /// Whether an attempt follows the plain end of a connection.
    var reconnects: Bool { get }

    func adapted(_ attempt: Attempt) -> Attempt
}

extension RequestParticipant {
    func join(_ plan: inout ExchangePlan, before others: (any ExchangeDelegate)?) {
        inner = others
        plan.adaptations.append(.callback(Self.key))
        plan.retriers.insert(.callback(Self.key), at: 0)
        plan.judgesHead = true
        plan.redirect.keepHeaders += Self.keptFields
        plan.isLasting = reconnects
    }

    func adapt(_ name: String, _ moment: ExchangeMoment) async throws(HTTPFailure) -> Attempt {
        if name == Self.key { return adapted(moment.request) }
        return try await inner?.adapt(name, moment) ?? moment.request
    }

    func redirect(
        _ name: String, _ hop: RedirectHop, next: Attempt, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> Attempt? {
        guard let inner else { return next }
        return try await inner.redirect(name, hop, next: next, moment)
    }

    func challenge(
        _ name: String, _ callback: AuthenticationCallback, _ moment: ExchangeMoment
    ) async -> CallbackCredential? {
        await inner?.challenge(name, callback, moment)
    }

    func review(_ body: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) -> HTTPFailure? {
        try await inner?.review(body, moment)
    }
}
