// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The proxy part of a pooled connection's key.
package final class ProxyRoute: Sendable, Hashable {
    /// Without its credential.
    package let server: ProxyServer
    /// Whether the connection is a CONNECT or SOCKS tunnel to the origin; otherwise the proxy forwards requests.
    package let isTunnel: Bool
    /// The user that authenticated the tunnel; no other user shares the connection. Nil for forwarding, where each
    /// request authenticates for itself.
    package let user: UserCredential?

    package init(_ server: ProxyServer, isTunnel: Bool, user: UserCredential?) {
        var server = server
        server.credential = nil
        self.server = server
        self.isTunnel = isTunnel
        self.user = user
    }

    package static func == (one: ProxyRoute, other: ProxyRoute) -> Bool {
        one === other || (one.server == other.server && one.isTunnel == other.isTunnel && one.user == other.user)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(server)
        hasher.combine(isTunnel)
        hasher.combine(user)
    }
}

/// The proxy credentials of a single attempt. Sent to the proxy alone.
package final class ProxyAuthorization: Sendable {
    /// The value of Proxy-Authorization (RFC 9110 section 11.7.2).
    package let value: FieldText
    package let credential: UserCredential
    /// Whether the proxy has refused the same attempt a moment ago.
    package let isRepetition: Bool

    package convenience init(_ value: String, _ credential: UserCredential) { self.init(FieldText(value), credential) }

    package init(_ value: FieldText, _ credential: UserCredential, isRepetition: Bool = false) {
        (self.value, self.credential, self.isRepetition) = (value, credential, isRepetition)
    }

    /// Whether the value is a Digest proof (RFC 7616 section 3.4).
    package var isDigest: Bool { value.text.hasPrefix("Digest ") }
}
