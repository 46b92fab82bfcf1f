// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The part of a hop's request that selects cookies.
package struct CookieRequest: Sendable, Equatable {
    /// Lower case, in punycode, without a dot at the end.
    package var host: String
    /// Without the query, as sent.
    package var path: String
    /// Over TLS, or to this machine.
    package var isSecure: Bool
    /// The host is an address: only that host is its domain.
    package var isAddress: Bool
    /// The registrable domain of the host, or the host if it has none.
    package var site: String
    /// The site with its scheme: two requests are same-site if theirs are equal.
    package var schemefulSite: String
    /// The top-level site in whose name the request is made; nil for a request of its own, which is always same-site.
    package var context: String?
    /// A cross-site request that sends Lax cookies: a navigation of the user by a safe method.
    package var sendsLax = false
    /// A cross-site request of the user, who goes to the URL: its response may set cookies of any SameSite.
    package var isNavigation = false

    /// Nil for a Unix socket, which has no host that a cookie could belong to.
    package init?(_ url: HTTPURL, _ suffixes: PublicSuffixes) {
        guard url.socketPath == nil else { return nil }
        host = url.hostName
        path = String(url.target.utf8.prefix { $0 != UInt8(ascii: "?") }) ?? "/"
        isAddress = IPAddressText.bytes(of: host) != nil
        isSecure = url.isSecure || Self.isThisMachine(host)
        site = suffixes.site(of: host)
        schemefulSite = "\(url.isSecure ? "https" : "http")://\(site)"
    }

    /// Whether SameSite applies.
    package var isCrossSite: Bool { context.map { $0 != schemefulSite } ?? false }

    /// Requests to this machine cannot be intercepted: as safe as TLS (RFC 6265bis section 5.8.3 leaves that open).
    private static func isThisMachine(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "::1" { return true }
        return IPAddressText.bytes(of: host).map { $0.count == 4 && $0[0] == 127 } ?? false
    }

    /// The directory of the path (RFC 6265bis section 5.1.4).
    package var defaultPath: String {
        let bytes = path.utf8
        guard bytes.first == UInt8(ascii: "/"), let slash = bytes.lastIndex(of: UInt8(ascii: "/")),
            slash != bytes.startIndex
        else { return "/" }
        return String(path[..<slash])
    }

    // MARK: matching

    /// Whether the host is the domain or lies below it (RFC 6265bis section 5.1.3).
    package func lies(in domain: String) -> Bool {
        if host == domain { return true }
        return !isAddress && Self.isBelow(host, domain)
    }

    /// Whether a cookie of that path is sent to this path (RFC 6265bis section 5.1.4).
    package func leads(through path: String) -> Bool { Self.leads(self.path, through: path) }

    static func isBelow(_ host: String, _ domain: String) -> Bool {
        let (host, domain) = (host.utf8, domain.utf8)
        guard host.count > domain.count + 1 else { return false }
        let start = host.index(host.endIndex, offsetBy: -domain.count)
        return host[host.index(before: start)] == UInt8(ascii: ".") && host[start...].elementsEqual(domain)
    }

    static func leads(_ path: String, through prefix: String) -> Bool {
        let (path, prefix) = (path.utf8, prefix.utf8)
        // strings of servers and URLs are stored contiguously
        return path.withContiguousStorageIfAvailable { path in
            prefix.withContiguousStorageIfAvailable { leads(path, through: $0) } ?? false
        } ?? false
    }

    private static func leads(
        _ path: UnsafeBufferPointer<UInt8>, through prefix: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        guard path.count >= prefix.count else { return false }
        var index = 0
        while index < prefix.count {
            if path[index] != prefix[index] { return false }
            index += 1
        }
        return path.count == prefix.count || prefix.last == UInt8(ascii: "/") || path[prefix.count] == UInt8(ascii: "/")
    }
}
