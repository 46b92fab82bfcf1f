// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Requests a connection from a SOCKS proxy of version 5 (RFC 1928), with user and password if required (RFC 1929).
///
///     begin ─▶ method ──▶ request ──▶ open
///                └──▶ login ──▲
package struct SOCKSMachine: TunnelMachine {
    /// The target of the connection.
    package enum Target: Sendable, Equatable {
        /// At most 255 bytes.
        case name(String)
        /// Four or sixteen bytes.
        case address([UInt8])
    }

    private enum State { case method, login, reply, over }

    private let target: Target
    private let port: Int
    /// With the port.
    private let origin: String
    private let credential: UserCredential?
    private let peerMaySpeakFirst: Bool
    private var state = State.method
    private var held: [UInt8] = []
    package private(set) var mayPass = false

    /// - Parameters:
    ///   - target: the address of the origin; nil lets the proxy look the name up.
    ///   - peerMaySpeakFirst: the tunnel carries a protocol such as SSH or SMTP, not HTTP or TLS.
    package init(
        to url: HTTPURL, at target: Target? = nil, credential: UserCredential?, peerMaySpeakFirst: Bool = false
    ) {
        self.target = target ?? Self.target(url)
        port = url.port
        origin = url.authorityWithPort
        self.credential = credential
        self.peerMaySpeakFirst = peerMaySpeakFirst
    }

    /// The target for a URL's host: an address if the host is an address.
    package static func target(_ url: HTTPURL) -> Target { address(url.host) ?? .name(url.hostName) }

    /// Nil if the text is no address.
    package static func address(_ text: String) -> Target? { IPAddressText.bytes(of: text).map { .address($0) } }

    package var early: [UInt8] { held }

    package mutating func begin() -> [UInt8] { credential == nil ? [5, 1, 0] : [5, 2, 0, 2] }

    package mutating func received(_ bytes: [UInt8]) -> TunnelStep {
        held += bytes
        switch state {
        case .method: return method()
        case .login: return login()
        case .reply: return reply()
        case .over: return .failed(.malformedResponse, "sent more than it was asked for")
        }
    }

    private mutating func method() -> TunnelStep {
        guard held.count >= 2 else { return held.first.map { $0 == 5 } ?? true ? .wait : notSOCKS }
        guard held[0] == 5 else { return notSOCKS }
        let method = held[1]
        held.removeFirst(2)
        guard held.isEmpty else { return fail(.malformedResponse, "sent more than it was asked for") }
        switch (method, credential) {
        case (0, _): return .send(request())
        case (2, let credential?):
            state = .login
            return .send(
                [1, UInt8(clamping: credential.username.utf8.count)] + credential.username.utf8
                    + [UInt8(clamping: credential.password.utf8.count)] + credential.password.utf8)
        case (2, nil), (255, nil):
            return fail(
                .proxyAuthenticationRequired, "requires authentication: give a user and a password in proxy")
        default: return fail(.proxyAuthenticationRequired, "offers no supported authentication method")
        }
    }

    private mutating func login() -> TunnelStep {
        guard held.count >= 2 else { return .wait }
        let isFine = held[1] == 0
        held.removeFirst(2)
        guard isFine else { return fail(.proxyAuthenticationRequired, "does not accept the user and the password") }
        guard held.isEmpty else { return fail(.malformedResponse, "sent more than it was asked for") }
        return .send(request())
    }

    private mutating func request() -> [UInt8] {
        state = .reply
        let place: [UInt8]
        switch target {
        case .name(let name): place = [3, UInt8(clamping: name.utf8.count)] + name.utf8.prefix(255)
        case .address(let bytes): place = [bytes.count == 4 ? 1 : 4] + bytes
        }
        return [5, 1, 0] + place + [UInt8(truncatingIfNeeded: port >> 8), UInt8(truncatingIfNeeded: port)]
    }

    private mutating func reply() -> TunnelStep {
        guard held.count >= 2 else { return .wait }
        guard held[0] == 5 else { return notSOCKS }
        // a refusal may end here
        guard held[1] == 0 else {
            mayPass = Self.passing.contains(held[1])
            return fail(.proxyRefused, words(held[1]))
        }
        guard held.count >= 5 else { return .wait }
        let length: Int
        switch held[3] {
        case 1: length = 10
        case 3: length = 7 + Int(held[4])
        case 4: length = 22
        default: return notSOCKS
        }
        guard held.count >= length else { return .wait }
        held.removeFirst(length)
        guard held.isEmpty || peerMaySpeakFirst else {
            return fail(.malformedResponse, "sent \(held.count) bytes that are not the origin's")
        }
        state = .over
        return .open
    }

    private var notSOCKS: TunnelStep {
        mutating get { fail(.malformedResponse, "does not speak SOCKS 5 (http:// in proxy is for an HTTP proxy)") }
    }

    private mutating func fail(_ kind: HTTPFailure.Kind, _ what: String) -> TunnelStep {
        state = .over
        held = []
        return .failed(kind, what)
    }

    /// Codes of a proxy that could not reach the origin for now.
    private static let passing: Set<UInt8> = [1, 3, 4, 5, 6]

    /// RFC 1928 section 6.
    private func words(_ code: UInt8) -> String {
        switch code {
        case 1: "failed to connect to \(origin)"
        case 2: "does not permit a connection to \(origin)"
        case 3: "cannot reach the network of \(origin)"
        case 4: "cannot reach \(origin)"
        case 5: "was refused by \(origin)"
        case 6: "gave up connecting to \(origin)"
        case 7: "does not know how to connect to \(origin)"
        case 8: "does not know the kind of the address of \(origin)"
        default: "refused a way to \(origin) with the code \(code)"
        }
    }
}
