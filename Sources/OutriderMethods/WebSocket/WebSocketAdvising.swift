// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderRPC

// MARK: ExchangeDelegate

extension WebSocketSource: ExchangeDelegate, RequestParticipant {
    /// Joins the plan of a request: decides on retries first, and adapts last.
    func join(_ plan: inout ExchangePlan, before others: (any ExchangeDelegate)?) -> any ExchangeDelegate {
        state.withLock { $0.inner = others }
        plan.adaptations.append(.callback(Self.key))
        plan.retriers.insert(.callback(Self.key), at: 0)
        plan.judgesHead = true
        // the handshake goes along everywhere
        plan.redirect.keepHeaders += WebSocketHandshake.reservedFields
        plan.isLasting = options.reconnect.isEnabled
        return self
    }

    private var inner: (any ExchangeDelegate)? { state.withLock { $0.inner } }

    func adapt(_ name: String, _ moment: ExchangeMoment) async throws(HTTPFailure) -> Attempt {
        guard name == Self.key else {
            guard let inner else { return moment.request }
            return try await inner.adapt(name, moment)
        }
        let handshake = makeHandshake()
        state.withLock { state in
            state.handshake = handshake
            if state.stage != .over { state.stage = .opening }
        }
        var attempt = moment.request
        for name in WebSocketHandshake.reservedFields { attempt.fields.remove(name) }
        for field in handshake.fields.list { attempt.fields.add(field.name, field.value) }
        attempt.upgrade = .webSocket(self)
        return attempt
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

    func judge(_ moment: ExchangeMoment) async throws(HTTPFailure) {
        guard let head = moment.head else { return }
        guard head.status == 101 else {
            try await inner?.judge(moment)
            throw WebSocketHandshake.refused(head.status, head.fields)
        }
        // a protocol is changed from HTTP/1.1 on (RFC 9110 sections 7.8 and 15.2)
        guard head.version != "1.0" else {
            throw WebSocketHandshake.refused(101, head.fields, "its response is of HTTP/1.0, which has no status 101")
        }
        guard let handshake = state.withLock({ $0.handshake }) else { return }
        let agreement = try handshake.agreement(with: head.fields)
        state.withLock { $0.agreement = agreement }
    }

    func review(_ body: ExchangeOutcome.Body, _ moment: ExchangeMoment) async throws(HTTPFailure) -> HTTPFailure? {
        try await inner?.review(body, moment)
    }

    func retry(
        _ name: String, _ failure: HTTPFailure, _ moment: ExchangeMoment
    ) async throws(HTTPFailure) -> RetryVerdict {
        guard name == Self.key else {
            // once open, only the rules of reconnecting decide
            if state.withLock({ $0.stage != .opening }) { return .doNotRetry }
            return try await inner?.retry(name, failure, moment) ?? .doNotRetry
        }
        if let delay = state.withLock({ $0.delay.take() }) { return .retry(after: delay) }
        // the rules have decided, and have counted this connection
        if failure.kind == .webSocketReconnectLimit { throw failure }
        let wasOpen = state.withLock { $0.stage == .open }
        if wasOpen {
            // the connection broke: `finish` decides as after a regular end
            do throws(HTTPFailure) {
                try await finish()
            } catch {
                if let delay = state.withLock({ $0.delay.take() }) { return .retry(after: delay) }
                if error != failure, error.kind == .webSocketReconnectLimit { throw error }
            }
            return .doNotRetry
        }
        return try refused(failure, moment)
    }

    /// A connection could not be made.
    private func refused(_ failure: HTTPFailure, _ moment: ExchangeMoment) throws(HTTPFailure) -> RetryVerdict {
        guard options.reconnect.isEnabled else { return .doNotRetry }
        let retryAfter = moment.head.flatMap { RetryAfter.seconds($0.fields, now: Int64(WallTime.now.seconds)) }
        let now = now
        let chance = Double.random(in: 0...1)
        let step = state.withLock { state in
            let step = state.reconnect.ended(.refused(failure), retryAfter: retryAfter, now: now, chance: chance)
            // messages are refused until the next attempt, as after a lost connection
            if case .reconnect = step, state.wasOpen, state.stage == .opening { state.stage = .reconnecting }
            return step
        }
        switch step {
        case .finish: return .doNotRetry
        case .fail(let reason):
            if reason != failure { throw reason }
            return .doNotRetry
        case .reconnect(let delay):
            if options.tellsStates {
                store(SocketState(kind: .reconnecting, attempt: moment.attempt + 1, after: delay).record)
            }
            return .retry(after: delay)
        }
    }
}
