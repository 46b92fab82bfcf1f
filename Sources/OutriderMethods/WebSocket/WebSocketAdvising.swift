// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP

extension WebSocketSource: RequestParticipant {
    /// The handshake goes along everywhere.
    static var keptFields: [String] { WebSocketHandshake.reservedFields }

    var inner: (any ExchangeDelegate)? {
        get { state.withLock { $0.inner } }
        set { state.withLock { $0.inner = newValue } }
    }

    var reconnects: Bool { options.reconnect.isEnabled }

    func adapted(_ attempt: Attempt) -> Attempt {
        let handshake = makeHandshake()
        state.withLock { state in
            state.handshake = handshake
            if state.stage != .over { state.stage = .opening }
        }
        var attempt = attempt
        for name in WebSocketHandshake.reservedFields { attempt.fields.remove(name) }
        for field in handshake.fields.list { attempt.fields.add(field.name, field.value) }
        attempt.upgrade = .webSocket(self)
        return attempt
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
        guard reconnects else { return .doNotRetry }
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
