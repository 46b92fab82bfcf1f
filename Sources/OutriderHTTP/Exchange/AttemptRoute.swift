// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension Attempt {
    /// The proxy for the attempt; nil for a direct connection.
    package var proxy: ProxyServer? { proxies?.server(for: url) }

    /// Whether the route to the server hides the request: under TLS, or on a connection to this machine itself. A plain
    /// request through a proxy leaves this machine, whatever the name of its host.
    package var isConfidential: Bool { url.isConfidential(through: proxies, security) }

    /// The proxy as part of the connection's key.
    package var route: ProxyRoute? {
        guard let proxy else { return nil }
        guard proxy.speaksHTTP else { return ProxyRoute(proxy, isTunnel: true, user: proxy.credential) }
        return ProxyRoute(proxy, isTunnel: isTunneled, user: isTunneled ? proxyAuthorization?.credential : nil)
    }

    /// The URL, with the target of connectTo as its host and port.
    package var destination: HTTPURL { security.target(for: url)?.applied(to: url) ?? url }

    /// Whether an HTTP proxy opens a tunnel (CONNECT) instead of forwarding the request: a proxy that forwards would
    /// connect to the host of the URL, and not to the target of connectTo.
    package var isTunneled: Bool {
        url.isSecure || url.isStream || upgrade != nil || security.target(for: url) != nil
    }
}

extension HTTPURL {
    /// Whether the route hides a request: under TLS, or on a direct connection to this machine, where connectTo leads
    /// nowhere else.
    package func isConfidential(through proxies: ProxyRules?, _ security: SecurityPlan) -> Bool {
        if isSecure { return true }
        guard isLocal, proxies?.server(for: self) == nil else { return false }
        return security.target(for: self)?.applied(to: self).isLocal ?? true
    }
}

/// Digest proofs, each of which is for one sending alone (RFC 7616 section 3.4).
extension Attempt {
    package var isProved: Bool { login?.scheme == .digest || proxyAuthorization?.isDigest == true }

    /// The attempt without proofs: the server sends a challenge.
    package var unproved: Attempt {
        guard isProved else { return self }
        var attempt = self
        if login?.scheme == .digest {
            attempt.fields.remove("Authorization")
            attempt.login = nil
        }
        if proxyAuthorization?.isDigest == true { attempt.proxyAuthorization = nil }
        return attempt
    }
}
