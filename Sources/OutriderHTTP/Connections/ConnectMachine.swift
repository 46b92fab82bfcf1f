// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Requests a tunnel from an HTTP proxy (RFC 9110 section 9.3.6, RFC 9112 section 3.2.3).
///
///     begin ─▶ head ──2xx──▶ open
///               ▲ │ └─────────other──▶ refusal's body ──▶ refused
///               └─┘ 1xx
///
/// A proxy's response is never an origin's response: an acceptance has no body whatever its fields declare, and no byte
/// may follow before the client has sent its first, unless the peer may speak first. Of a refusal only the head is
/// kept.
package struct ConnectMachine: TunnelMachine {
    /// Most bytes of a head.
    package static let mostHead = 64 << 10
    /// The longest body of a refusal that is read to keep the connection.
    package static let mostBody = 64 << 10
    /// Most informational heads (1xx).
    package static let mostInformational = 20

    private enum State {
        case head
        case body(ResponseHead, left: Int64)
        case over
    }

    private let authority: String
    private let userAgent: String?
    private let authorization: FieldText?
    private let peerMaySpeakFirst: Bool
    private var state = State.head
    private var held: [UInt8] = []
    /// The index from which the search for the end of the head continues.
    private var searched = 0
    private var informational = 0

    /// - Parameters:
    ///   - url: of the origin.
    ///   - authorization: the value of Proxy-Authorization; of the request's own fields, the proxy gets only
    ///     User-Agent.
    ///   - peerMaySpeakFirst: the tunnel carries a protocol such as SSH or SMTP, not HTTP or TLS.
    package init(to url: HTTPURL, userAgent: String?, authorization: FieldText?, peerMaySpeakFirst: Bool = false) {
        authority = url.authorityWithPort
        self.userAgent = userAgent
        self.authorization = authorization
        self.peerMaySpeakFirst = peerMaySpeakFirst
    }

    package mutating func begin() -> [UInt8] {
        var bytes = Array("CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n".utf8)
        for (name, value) in [
            ("User-Agent", userAgent.map { FieldText($0).bytes }), ("Proxy-Authorization", authorization?.bytes),
        ] {
            // attempts are checked where they are built; this is the last place before the wire
            guard let value, !value.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { continue }
            bytes += Array("\(name): ".utf8) + value + [0x0D, 0x0A]
        }
        return bytes + [0x0D, 0x0A]
    }

    package mutating func received(_ bytes: [UInt8]) -> TunnelStep {
        switch state {
        case .over: return .failed(.malformedResponse, "sent more than it was asked for")
        case .body(let head, let left): return took(Int64(bytes.count), of: left, head)
        case .head:
            held += bytes
            return readHead()
        }
    }

    package var early: [UInt8] { held }

    package var cutRefusal: ResponseHead? {
        if case .body(let head, _) = state { head } else { nil }
    }

    private mutating func readHead() -> TunnelStep {
        while let end = endOfHead() {
            guard end <= Self.mostHead else { return tooLong }
            guard let head = ResponseHead(parsing: held[..<end]), head.version.major == 1 else {
                return fail("did not respond in HTTP/1.1")
            }
            held.removeFirst(end)
            searched = 0
            guard head.status < 200 else { return responded(head) }
            informational += 1
            if head.status == 101 { return fail("switched to a protocol that was not asked for") }
            if informational > Self.mostInformational {
                return fail("sent too many informational responses")
            }
        }
        if held.count > Self.mostHead { return tooLong }
        // a server of another protocol may send nothing more
        return held.prefix(5).elementsEqual("HTTP/".utf8.prefix(held.count))
            ? .wait : fail("did not respond in HTTP/1.1")
    }

    private var tooLong: TunnelStep {
        mutating get {
            state = .over
            return .failed(.limitExceeded, "sent a head of more than \(Self.mostHead >> 10) KiB")
        }
    }

    private mutating func fail(_ what: String) -> TunnelStep {
        state = .over
        return .failed(.malformedResponse, what)
    }

    private mutating func responded(_ head: ResponseHead) -> TunnelStep {
        if head.status < 300 {
            // an origin with TLS waits for the client's first byte: these bytes are the proxy's own
            guard held.isEmpty || peerMaySpeakFirst else {
                return fail("sent \(held.count) bytes into the tunnel that are not the origin's")
            }
            state = .over
            return .open
        }
        // only the request for a password is followed by another request on the same connection
        guard head.status == 407, let (framing, isClear) = try? BodyFraming.of(head, to: "CONNECT"), isClear,
            ConnectionOptions(head).staysOpen, case .length(let length) = framing, length <= Int64(Self.mostBody)
        else {
            state = .over
            return .refused(head, isReusable: false)
        }
        let count = Int64(held.count)
        held = []
        return took(count, of: length, head)
    }

    private mutating func took(_ count: Int64, of left: Int64, _ head: ResponseHead) -> TunnelStep {
        guard count >= left else {
            state = .body(head, left: left - count)
            return .wait
        }
        state = .over
        return .refused(head, isReusable: count == left)
    }

    /// The index behind the empty line; nil if not yet received.
    private mutating func endOfHead() -> Int? {
        let start = max(0, searched - 3)
        for index in held.indices[start...] where held[index] == 0x0A {
            if index >= 1, held[index - 1] == 0x0A { return index + 1 }
            if index >= 2, held[index - 1] == 0x0D, held[index - 2] == 0x0A { return index + 1 }
        }
        searched = held.count
        return nil
    }
}
