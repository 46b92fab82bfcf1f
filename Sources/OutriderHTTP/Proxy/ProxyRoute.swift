// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The way through a proxy, as far as connections differ by it: part of the key of a pooled connection.
package final class ProxyRoute: Sendable, Hashable {
    /// Without its credential.
    package let server: ProxyServer
    /// Whether the connection leads through the proxy to the origin; otherwise it ends there, and requests are forwarded.
    package let isTunnel: Bool
    /// Who asked for the tunnel: nobody else may use it. A connection for forwarding belongs to nobody, since each request
    /// on it says for itself who asks.
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

/// What one sending says to its proxy about who asks. It goes to the proxy alone, and is made anew for each sending.
package final class ProxyAuthorization: Sendable {
    /// The value of Proxy-Authorization (RFC 9110 section 11.7.2).
    package let value: String
    package let credential: UserCredential

    package init(_ value: String, _ credential: UserCredential) {
        self.value = value
        self.credential = credential
    }
}
