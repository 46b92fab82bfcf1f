// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The properties that attempts must share to share a connection. No other property may influence a connection.
package struct PoolKey: Sendable, Hashable {
    package var isSecure: Bool
    package var host: String
    package var port: Int
    package var socketPath: String?
    package var security: ConnectionSecurity
    /// Nil for a direct connection.
    package var proxy: ProxyRoute?
    package var addresses: AddressPolicy
    /// Nil for the URL's own host and port.
    package var connectTo: ConnectTarget?
    /// Connections of requests that insist on a version are not shared with the others.
    package var version: HTTPVersionChoice

    package init(
        _ url: HTTPURL, security: ConnectionSecurity = .standard, proxy: ProxyRoute? = nil,
        addresses: AddressPolicy = .any, connectTo: ConnectTarget? = nil, version: HTTPVersionChoice = .http11
    ) {
        isSecure = url.isSecure
        host = url.host
        port = url.port
        socketPath = url.socketPath
        self.security = security
        self.connectTo = connectTo
        self.proxy = proxy
        self.addresses = addresses
        // plain http uses HTTP/1.1 unless HTTP/2 is requested, and can share those connections
        self.version = version == .auto && !url.isSecure ? .http11 : version
    }

    /// Most keys differ in host or port: the rest is left to the comparison.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(host)
        hasher.combine(port)
        if let socketPath { hasher.combine(socketPath) }
        if let proxy { hasher.combine(proxy) }
        if let connectTo { hasher.combine(connectTo) }
    }

    /// Whether a connection of this key may carry several attempts at once.
    package var mayBeShared: Bool { version != .http11 }
}
