// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension Attempt {
    /// The proxy that it goes through; nil for the direct way.
    package var proxy: ProxyServer? { proxies?.server(for: url) }

    /// Whether nothing between here and the server can read it: under TLS, or on a connection to this machine itself. Through
    /// a proxy no plain request stays on this machine, whatever its host is called.
    package var isConfidential: Bool {
        url.isSecure || (url.isConfidential(through: proxies) && security.target(for: url) == nil)
    }

    /// The same, as connections see it.
    package var route: ProxyRoute? {
        guard let proxy else { return nil }
        guard proxy.speaksHTTP else { return ProxyRoute(proxy, isTunnel: true, user: proxy.credential) }
        return ProxyRoute(proxy, isTunnel: isTunneled, user: isTunneled ? proxyAuthorization?.credential : nil)
    }

    /// Whether an HTTP proxy is asked for a way (CONNECT) instead of being given the request.
    package var isTunneled: Bool { url.isSecure || url.isStream || upgrade != nil }
}

extension HTTPURL {
    /// Whether nothing on the way to it can read a request: under TLS, or on a direct connection to this machine.
    package func isConfidential(through proxies: ProxyRules?) -> Bool {
        isSecure || (isLocal && proxies?.server(for: self) == nil)
    }
}
