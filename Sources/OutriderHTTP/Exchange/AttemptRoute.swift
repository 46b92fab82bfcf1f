// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension Attempt {
    /// The proxy for the attempt; nil for a direct connection.
    package var proxy: ProxyServer? { proxies?.server(for: url) }

    /// Whether the route to the server hides the request: under TLS, or on a connection to this machine itself. A plain
    /// request through a proxy leaves this machine, whatever the name of its host.
    package var isConfidential: Bool {
        url.isSecure || (url.isConfidential(through: proxies) && security.target(for: url) == nil)
    }

    /// The proxy as part of the connection's key.
    package var route: ProxyRoute? {
        guard let proxy else { return nil }
        guard proxy.speaksHTTP else { return ProxyRoute(proxy, isTunnel: true, user: proxy.credential) }
        return ProxyRoute(proxy, isTunnel: isTunneled, user: isTunneled ? proxyAuthorization?.credential : nil)
    }

    /// Whether an HTTP proxy opens a tunnel (CONNECT) instead of forwarding the request.
    package var isTunneled: Bool { url.isSecure || url.isStream || upgrade != nil }
}

extension HTTPURL {
    /// Whether the route hides a request: under TLS, or on a direct connection to this machine.
    package func isConfidential(through proxies: ProxyRules?) -> Bool {
        isSecure || (isLocal && proxies?.server(for: self) == nil)
    }
}
