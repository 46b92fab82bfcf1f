// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What an attempt brings that is not sent: the course of a stub, or of an entry of a cassette.
package struct AttemptScript: Sendable {
    package struct Head: Sendable {
        package var status: Int
        package var reason: String
        package var version: String
        package var fields: HTTPFields
        /// The body is as on the wire, in the coding that its fields name, if any.
        package var isCoded = false

        package init(status: Int, reason: String = "", version: String = "1.1", fields: HTTPFields = []) {
            self.status = status
            self.reason = reason
            self.version = version
            self.fields = fields
        }
    }

    /// Seconds before the head, or before the failure in its place.
    package var delay = 0.0
    /// Nil if the attempt fails before it.
    package var head: Head?
    /// The pieces of the body, each after so many seconds.
    package var chunks: [StubReply.Chunk] = []
    /// Bytes a second at which the body comes; nil for all at once.
    package var rate: Int?
    /// Bytes of the body after which the failure comes; nil for all.
    package var cut: Int?
    package var trailers: HTTPFields = []
    package var failure: HTTPFailure?
    /// The body does not end: the reader stops.
    package var staysOpen = false
    /// The messages of a WebSocket, behind a head with status 101.
    package var messages: [ReplayMessage]?

    /// As what a request was found in a cassette: a key that is worked out once.
    package final class Origin: Sendable {
        package let key: RequestMatcher.Key

        package init(_ key: RequestMatcher.Key) { self.key = key }
    }

    package init(head: Head? = nil) { self.head = head }
}

/// A script that any number of attempts follow: a single reference in place of its parts.
package final class PreparedScript: Sendable {
    package let value: AttemptScript

    package init(_ value: AttemptScript) { self.value = value }
}

/// A message of a recorded WebSocket.
package struct ReplayMessage: Sendable, Equatable {
    package var isSent: Bool
    /// As in RFC 6455: 1 for text, 2 for bytes, 8 for the end.
    package var opcode: UInt8
    package var bytes: [UInt8]
    /// Seconds since 1970.
    package var time: Double

    package init(isSent: Bool, opcode: UInt8, bytes: [UInt8], time: Double) {
        self.isSent = isSent
        self.opcode = opcode
        self.bytes = bytes
        self.time = time
    }
}

extension AttemptScript {
    /// The course of a stub.
    package init(_ reply: StubReply, for attempt: Attempt) {
        delay = reply.delay
        var fields = reply.fields
        switch reply.fault {
        case nil: break
        case .slow(let rate): self.rate = rate
        case .truncated(let after):
            cut = after
            failure = .cutShort(attempt.url.host, after)
        case .lost(let after?):
            cut = after
            failure = .cutShort(attempt.url.host, after)
        case .timeout(let phase, let isReal):
            failure = .staged(.timeout(phase, isReal: isReal), attempt)
            if isReal { delay = attempt.timeouts.seconds(of: phase) }
            return
        case .some(let fault):
            failure = .staged(fault, attempt)
            return
        }
        trailers = reply.trailers
        if reply.chunks.isEmpty {
            let bytes = reply.body
            if !bytes.isEmpty { chunks = [StubReply.Chunk(after: 0, bytes[...])] }
            if !fields.contains("Content-Length"), !fields.contains("Transfer-Encoding"), reply.status != 204,
                reply.status >= 200
            {
                fields.add("Content-Length", "\(bytes.count)")
            }
        } else {
            chunks = reply.chunks
        }
        head = Head(status: reply.status, fields: fields)
    }
}

extension Timeouts {
    /// How long that phase may take, in seconds.
    package func seconds(of phase: HTTPFailure.Phase) -> Double {
        switch phase {
        case .resolve: resolve
        case .connect, .proxy: connect
        case .tls: tls
        case .firstByte: firstByte
        case .request, .response: idle
        case .queue, .total: total
        }
    }
}

extension HTTPFailure {
    fileprivate static func cutShort(_ host: String, _ count: Int) -> HTTPFailure {
        HTTPFailure(
            .connectionLost, "\(host) closed the connection after \(count) bytes of the response's body (staged)",
            phase: .response, sent: .sent)
    }

    /// The failure that a stub stages: kind, phase and retryability of the real one.
    package static func staged(_ fault: Fault, _ attempt: Attempt) -> HTTPFailure {
        let host = attempt.url.host
        switch fault {
        case .nameNotFound:
            return HTTPFailure(
                .nameNotFound, "the host name \(host) was not found: Name or service not known (staged)",
                phase: .resolve, retryable: false, underlying: .init(.dns, -2, "Name or service not known"))
        case .refused:
            return HTTPFailure(
                .connectionRefused, "\(host):\(attempt.url.port) refused the connection (staged)", phase: .connect,
                underlying: .init(.posix, 111, "Connection refused"))
        case .tls:
            return HTTPFailure(
                .tlsHandshakeFailed,
                "the TLS handshake with \(host) failed: the server sent the alert handshake_failure (staged)",
                phase: .tls, underlying: .init(.tls, 40, "handshake failure"), details: [.alert("handshake_failure")])
        case .malformed:
            return HTTPFailure(
                .malformedResponse, "\(host) sent something that is no HTTP response (staged)", phase: .firstByte,
                sent: .sent)
        case .offline:
            return HTTPFailure(
                .offline, "there is no network, and so no way to \(host) (staged)", phase: .connect,
                underlying: .init(.posix, 101, "Network is unreachable"))
        case .timeout(let phase, _):
            let seconds = attempt.timeouts.seconds(of: phase)
            let isSent = [.firstByte, .response, .total].contains(phase)
            return HTTPFailure(
                .timedOut, "\(phase.rawValue) with \(host) took longer than \(seconds) s (staged)", phase: phase,
                sent: isSent ? .sent : phase == .request ? .maybeSent : .notSent)
        case .lost, .truncated, .slow:
            return HTTPFailure(
                .connectionLost, "\(host) closed the connection without a response (staged)", phase: .firstByte,
                sent: .maybeSent)
        }
    }
}

extension AttemptScript.Head {
    /// Whether a response to the method may have a body (RFC 9110 section 6.4.1).
    package func hasBody(to method: String) -> Bool { method != "HEAD" && status != 204 && status != 304 }

    /// The declared length of the body; nil if none is declared, or that of a coding that the body no longer has.
    package func expectedBytes(to method: String) -> Int64? {
        guard hasBody(to: method) else { return 0 }
        if !isCoded, fields.contains("Content-Encoding") { return nil }
        return fields.first("Content-Length").flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
