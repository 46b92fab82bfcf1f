// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Decides what may happen next on one HTTP/1.1 connection (RFC 9112).
///
///     idle ──begin──▶ busy ──headReceived──▶ busy, answering ──bodyEnded──▶ idle
///       │              │  ▲                        │
///       │              │  └── informational        └── not reusable, or early ──▶ ended
///       └────closed────┴──────────closed─────────────────────────────────────────▶ ended
///
/// Responsible for: the framing of answers; whether the connection may carry another request; what a close means.
/// Not responsible for: parsing bytes, timeouts, who gets the connection next.
package struct HTTP1Machine: ~Copyable {
    private enum State {
        case idle
        case busy(Exchange)
        case ended
    }

    private struct Exchange {
        var method: String
        var requestSent = false
        /// Whether any byte of an answer has come.
        var heard = false
        var framing: BodyFraming?
        var reusable = true
    }

    private var state = State.idle
    /// The last answer could have no body: what its server sent behind it all the same may still come.
    private var followsBodyless = false
    /// Requests carried so far, the running one included.
    package private(set) var requests = 0

    package init() {}

    /// Whether the running request, if there is one, uses a connection that had carried another.
    package var isReused: Bool { requests > 1 }

    package var isIdle: Bool {
        if case .idle = state { true } else { false }
    }

    package enum Head: Equatable {
        /// 1xx: another head follows.
        case informational
        /// The final head; its body is framed so. `stopSending`: the server has refused a request whose body is still
        /// moving, so the rest of it must not be sent.
        case answer(BodyFraming, stopSending: Bool)
    }

    package enum End: Equatable {
        /// The connection may carry another request.
        case reuse
        /// The connection must be closed.
        case close
    }

    /// Takes the connection for a request; false if it is not idle.
    package mutating func begin(method: String) -> Bool {
        guard isIdle else { return false }
        state = .busy(Exchange(method: method))
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
        /// Nobody asked for them: the connection must be closed, for an unasked answer would be taken for the next request's.
        case unasked
        /// They belong to the answer before, which was to have no body. The connection must be closed as by a server that
        /// has not heard of the running request.
        case leftOver
    }

    /// Bytes came.
    ///
    /// - Parameter beginsAnswer: whether the first of them can be the beginning of a status line.
    package mutating func bytesReceived(beginsAnswer: Bool) -> Arrival {
        guard case .busy(var exchange) = state else {
            state = .ended
            return .unasked
        }
        if exchange.heard { return .wanted }
        if followsBodyless, !beginsAnswer { return .leftOver }
        exchange.heard = true
        state = .busy(exchange)
        return .wanted
    }

    /// A head came. Throws `malformedResponse`, after which the connection must be closed.
    package mutating func headReceived(_ head: ResponseHead) throws(HTTPFailure) -> Head {
        guard case .busy(var exchange) = state, exchange.framing == nil else {
            state = .ended
            throw HTTPFailure(.malformedResponse, "the server sent an answer that nobody asked for", sent: .sent)
        }
        do {
            try Self.check(head)
            exchange.heard = true
            if head.status < 200 {
                state = .busy(exchange)
                return .informational
            }
            let (framing, clear) = try BodyFraming.of(head, to: exchange.method)
            exchange.framing = framing
            exchange.reusable = clear && Self.staysOpen(head)
            state = .busy(exchange)
            return .answer(framing, stopSending: !exchange.requestSent && head.status >= 300)
        } catch {
            state = .ended
            throw error
        }
    }

    /// The body of the final answer is complete; also called after a head whose framing is `none`.
    package mutating func bodyEnded() -> End {
        guard case .busy(let exchange) = state, exchange.framing != nil, exchange.reusable, exchange.requestSent else {
            state = .ended
            return .close
        }
        followsBodyless = exchange.framing == BodyFraming.none
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
        case nil: return exchange.heard ? .inHead : .beforeResponse(replayable: isReused)
        }
    }

    private static func check(_ head: ResponseHead) throws(HTTPFailure) {
        guard head.version.major == 1 else {
            throw HTTPFailure(.malformedResponse, "the server answered with HTTP/\(head.version)", sent: .sent)
        }
        guard (100...999).contains(head.status) else {
            throw HTTPFailure(.malformedResponse, "the status \(head.status) is no HTTP status", sent: .sent)
        }
        if head.status == 101 {
            throw HTTPFailure(
                .malformedResponse, "the server switched protocols, which nobody asked it to do", sent: .sent)
        }
    }

    /// RFC 9112 section 9.3.
    static func staysOpen(_ head: ResponseHead) -> Bool {
        var staysOpen = head.version >= .http11
        for field in head.fields.list where HTTPFields.same(field.name, "Connection") {
            if field.value == "keep-alive" {
                staysOpen = true
                continue
            }
            for option in FieldRules.listed(field.value) {
                if HTTPFields.same(option, "close") { return false }
                if HTTPFields.same(option, "keep-alive") { staysOpen = true }
            }
        }
        return staysOpen
    }
}
