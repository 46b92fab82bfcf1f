// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension Attempt {
    /// The proxy that it goes through; nil for the direct way.
    package var proxy: ProxyServer? { proxies?.server(for: url) }

    /// The same, as connections see it.
    package var route: ProxyRoute? {
        guard let proxy else { return nil }
        guard proxy.speaksHTTP else { return ProxyRoute(proxy, isTunnel: true, user: proxy.credential) }
        return ProxyRoute(proxy, isTunnel: url.isSecure, user: url.isSecure ? proxyAuthorization?.credential : nil)
    }
}
