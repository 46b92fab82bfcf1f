// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The properties that attempts must share to share a connection. No other property may influence a connection.
///
/// Copies share their storage, and are compared by identity first.
package struct PoolKey: Sendable, Hashable {
    private var parts: Parts

    package init(
        _ url: HTTPURL, security: ConnectionSecurity = .standard, proxy: ProxyRoute? = nil,
        addresses: AddressPolicy = .any, connectTo: ConnectTarget? = nil, version: HTTPVersionChoice = .http11
    ) {
        parts = Parts(
            Values(
                isSecure: url.isSecure, host: url.host, port: url.port, socketPath: url.socketPath, security: security,
                proxy: proxy, addresses: addresses, connectTo: connectTo,
                version: Self.version(version, isSecure: url.isSecure)))
    }

    private struct Values: Equatable {
        var isSecure: Bool
        var host: String
        var port: Int
        let socketPath: String?
        var security: ConnectionSecurity
        var proxy: ProxyRoute?
        let addresses: AddressPolicy
        var connectTo: ConnectTarget?
        var version: HTTPVersionChoice

        /// Most keys differ in host or port: the rest is left to the comparison.
        var hash: Int {
            var hasher = Hasher()
            hasher.combine(host)
            hasher.combine(port)
            if let socketPath { hasher.combine(socketPath) }
            if let proxy { hasher.combine(proxy) }
            if let connectTo { hasher.combine(connectTo) }
            return hasher.finalize()
        }
    }

    private final class Parts: Sendable {
        let values: Values
        let hash: Int

        init(_ values: Values) {
            self.values = values
            hash = values.hash
        }
    }

    private mutating func change(_ body: (inout Values) -> Void) {
        var values = parts.values
        body(&values)
        parts = Parts(values)
    }

    package var isSecure: Bool { parts.values.isSecure }
    package var host: String { parts.values.host }
    package var port: Int { parts.values.port }
    package var socketPath: String? { parts.values.socketPath }
    package var security: ConnectionSecurity {
        get { parts.values.security }
        set { change { $0.security = newValue } }
    }
    /// Nil for a direct connection.
    package var proxy: ProxyRoute? { parts.values.proxy }
    package var addresses: AddressPolicy { parts.values.addresses }
    /// Nil for the URL's own host and port.
    package var connectTo: ConnectTarget? {
        get { parts.values.connectTo }
        set { change { $0.connectTo = newValue } }
    }
    /// Connections of requests that insist on a version are not shared with the others.
    package var version: HTTPVersionChoice {
        get { parts.values.version }
        set { change { $0.version = newValue } }
    }

    /// The key of the proxy and the trust alone, without origin and user.
    package var ofProxy: PoolKey {
        var key = self
        key.change {
            ($0.isSecure, $0.host, $0.port) = (false, "", 0)
            $0.proxy = $0.proxy.map { ProxyRoute($0.server, isTunnel: true, user: nil) }
        }
        return key
    }

    package static func == (one: PoolKey, other: PoolKey) -> Bool {
        one.isSame(as: other) || (one.parts.hash == other.parts.hash && one.parts.values == other.parts.values)
    }

    /// Whether the keys share their storage.
    package func isSame(as other: PoolKey) -> Bool { parts === other.parts }

    package func hash(into hasher: inout Hasher) { hasher.combine(parts.hash) }

    /// Whether a connection of this key may carry several attempts at once.
    package var mayBeShared: Bool { version != .http11 }

    /// Whether this is the key of a direct request for the URL, to the URL's own host and port.
    package func isDirect(
        _ url: HTTPURL, _ security: ConnectionSecurity, _ addresses: AddressPolicy, _ version: HTTPVersionChoice
    ) -> Bool {
        port == url.port && isSecure == url.isSecure && self.security === security && host == url.host
            && url.socketPath == nil && socketPath == nil && proxy == nil && connectTo == nil
            && self.addresses == addresses && self.version == Self.version(version, isSecure: url.isSecure)
    }

    /// Plain http uses HTTP/1.1 unless HTTP/2 is requested, and can share those connections.
    private static func version(_ version: HTTPVersionChoice, isSecure: Bool) -> HTTPVersionChoice {
        version == .auto && !isSecure ? .http11 : version
    }
}
