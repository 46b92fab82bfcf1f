// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides the next steps of an HTTP/1.1 connection (RFC 9112).
///
///     idle ──begin──▶ busy ──headReceived──▶ busy, responding ──bodyEnded──▶ idle
///       │              │  ▲                        │
///       │              │  └── informational        └── not reusable, or early ──▶ ended
///       └────closed────┴──────────closed─────────────────────────────────────────▶ ended
///
/// Responsible for: the framing of responses; whether the connection may carry another request; the effect of a close.
/// Not responsible for: parsing bytes, timeouts, the next user of the connection.
package struct HTTP1Machine: ~Copyable {
    private enum State {
        case idle
        case busy(Exchange)
        case ended
    }

    private struct Exchange {
        var method: String
        let logsIn: Bool
        var requestSent = false
        /// Whether any byte of the response has arrived.
        var hasReceived = false
        var framing: BodyFraming?
        var reusable = true
    }

    private var state = State.idle
    /// Requests carried so far, the running one included.
    package private(set) var requests = 0
    /// Seconds for which the connection may lie idle after the last response; nil if its server names no limit.
    package private(set) var idleSeconds: Double?

    package init() {}

    /// Whether an earlier request used the same connection.
    package var isReused: Bool { requests > 1 }

    package var isIdle: Bool {
        if case .idle = state { true } else { false }
    }

    package enum Head: Equatable {
        /// 1xx: another head follows.
        case informational
        /// The final head, and the framing of its body. `stopSending`: the server has refused a request whose body is
        /// still being sent; the rest need not be sent.
        case response(BodyFraming, stopSending: Bool)
    }

    package enum End: Equatable {
        /// The connection may carry another request.
        case reuse
        /// The connection must be closed.
        case close
    }

    /// Takes the connection for a request; false if not idle.
    ///
    /// - Parameter logsIn: whether the request logs its connection in (``Attempt/logsIn``). Other programs would then
    ///   send their requests under the same identity, so that the connection carries no request after the login.
    package mutating func begin(method: String, logsIn: Bool = false) -> Bool {
        guard isIdle else { return false }
        state = .busy(Exchange(method: method, logsIn: logsIn))
        requests &+= 1
        return true
    }

    /// The last byte of the request is with the kernel.
    package mutating func requestSent() {
        guard case .busy(var exchange) = state else { return }
        exchange.requestSent = true
        state = .busy(exchange)
    }

    package enum Arrival: Equatable {
        case wanted
        /// Bytes without a request: the connection must close, or they would count as the next request's response.
        case unasked
        /// The bytes cannot begin a response and belong to the previous response, as a body longer than its length or a
        /// body behind a 304. The connection must be closed, as if the server had not received the running request
        /// (RFC 9112 section 9.2).
        case leftOver
    }

    /// Handles received bytes.
    ///
    /// - Parameter beginsResponse: whether the first of them can begin a status line.
    package mutating func bytesReceived(beginsResponse: @autoclosure () -> Bool) -> Arrival {
        guard case .busy(var exchange) = state else {
            state = .ended
            return .unasked
        }
        if exchange.hasReceived { return .wanted }
        if isReused, !beginsResponse() { return .leftOver }
        exchange.hasReceived = true
        state = .busy(exchange)
        return .wanted
    }

    /// Handles a head. Throws `malformedResponse`, after which the connection must be closed.
    package mutating func headReceived(_ head: ResponseHead) throws(HTTPFailure) -> Head {
        guard case .busy(var exchange) = state, exchange.framing == nil else {
            state = .ended
            throw HTTPFailure(.malformedResponse, "the server sent a response without a request", sent: .sent)
        }
        do {
            try Self.check(head)
            exchange.hasReceived = true
            if head.status < 200 {
                state = .busy(exchange)
                return .informational
            }
            let (framing, clear) = try BodyFraming.of(head, to: exchange.method)
            exchange.framing = framing
            let options = ConnectionOptions(head)
            // the next step of a login needs the same connection
            let isLogin = exchange.logsIn && !ConnectionLogin.asksForAnotherStep(head)
            exchange.reusable = clear && options.staysOpen && !isLogin
            idleSeconds = options.idleSeconds
            state = .busy(exchange)
            return .response(framing, stopSending: !exchange.requestSent && head.status >= 300)
        } catch {
            state = .ended
            throw error
        }
    }

    /// The body of the final response is complete; also called after a head whose framing is `none`.
    package mutating func bodyEnded() -> End {
        guard case .busy(let exchange) = state, exchange.framing != nil, exchange.reusable, exchange.requestSent else {
            state = .ended
            return .close
        }
        state = .idle
        return .reuse
    }

    /// The other end closed, or the connection broke.
    package mutating func closed() -> ConnectionEnd {
        defer { state = .ended }
        guard case .busy(let exchange) = state else { return .quiet }
        switch exchange.framing {
        case .untilClose: return .endsBody
        case .some(_): return .inBody
        case nil: return exchange.hasReceived ? .inHead : .beforeResponse(replayable: isReused)
        }
    }

    private static func check(_ head: ResponseHead) throws(HTTPFailure) {
        guard head.version.major == 1 else {
            throw HTTPFailure(.malformedResponse, "the server responded with HTTP/\(head.version)", sent: .sent)
        }
        guard (100...999).contains(head.status) else {
            throw HTTPFailure(.malformedResponse, "the status \(head.status) is no HTTP status", sent: .sent)
        }
        if head.status == 101 {
            throw HTTPFailure(
                .malformedResponse, "the server switched protocols without a request to upgrade", sent: .sent)
        }
    }
}
