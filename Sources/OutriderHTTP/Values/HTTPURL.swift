// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// An http, https, ws, wss, http+unix or https+unix URL that may be requested: parsed once, and the only reading used
/// for pool keys, Host, TLS names and connecting. The endpoint of a TCP stream has the same form: tcp://host:port.
///
/// Copies share their storage; a change to a shared URL copies the storage first.
package struct HTTPURL: Sendable, Hashable, CustomStringConvertible {
    /// The most bytes of a URL: far more than servers accept, and a bound for all processing.
    package static let maximumLength = 64 << 10

    package enum Scheme: String, Sendable {
        case http, https, ws, wss
        /// The endpoint of a stream without HTTP, in plain or with TLS. No URL of a client has these.
        case tcp, tls
    }

    private var parts: Parts

    package init(scheme: Scheme, host: String, port: Int, target: String, socketPath: String? = nil) {
        parts = Parts(Values(scheme: scheme, host: host, port: port, target: target, socketPath: socketPath), nil)
    }

    /// - Parameter text: the URL as `description` would write the URL.
    init(scheme: Scheme, host: String, port: Int, target: String, text: String) {
        parts = Parts(Values(scheme: scheme, host: host, port: port, target: target), text)
    }

    private struct Values: Hashable {
        var scheme: Scheme
        var host: String
        var port: Int
        var target: String
        var socketPath: String?
        var fragment: String?
    }

    // proof: changed only through `values` of a URL with the sole reference.
    private final class Parts: @unchecked Sendable {
        var values: Values
        /// The description, if it is known without being written; nil after a change.
        var text: String?

        init(_ values: Values, _ text: String?) {
            self.values = values
            self.text = text
        }
    }

    private var values: Values {
        get { parts.values }
        _modify {
            if isKnownUniquelyReferenced(&parts) { parts.text = nil } else { parts = Parts(parts.values, nil) }
            yield &parts.values
        }
    }

    package var scheme: Scheme {
        get { parts.values.scheme }
        set { values.scheme = newValue }
    }
    /// Lower-case, ASCII; an IPv6 address without its brackets. A dot at the end is kept, since Host includes that dot.
    package var host: String {
        get { parts.values.host }
        set { values.host = newValue }
    }
    /// 1 to 65535; the default of the scheme if none was written.
    package var port: Int {
        get { parts.values.port }
        set { values.port = newValue }
    }
    /// From the path on, percent-encoded: "/a/b?c=d". Empty only for tcp and tls.
    package var target: String {
        get { parts.values.target }
        set { values.target = newValue }
    }
    /// The length of the path and the query.
    package var targetBytes: Int { parts.values.target.utf8.count }
    /// Set for `http+unix://%2Fpath%2Fto.sock/target`: connect to this socket instead of a host.
    package var socketPath: String? {
        get { parts.values.socketPath }
        set { values.socketPath = newValue }
    }
    /// The fragment, percent-encoded: for reports, never sent.
    package var fragment: String? {
        get { parts.values.fragment }
        set { values.fragment = newValue }
    }

    package static func == (one: HTTPURL, other: HTTPURL) -> Bool {
        one.parts === other.parts || one.parts.values == other.parts.values
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(parts.values) }

    package var isSecure: Bool { scheme == .https || scheme == .wss || scheme == .tls }

    /// Whether the URL is the endpoint of a TCP stream.
    package var isStream: Bool { scheme == .tcp || scheme == .tls }

    /// 0 for a TCP stream, which has none.
    package var defaultPort: Int { isStream ? 0 : isSecure ? 443 : 80 }

    /// The value of the Host field (RFC 9110 section 7.2).
    package var authority: String {
        if socketPath == nil, port == defaultPort, !isIPv6 { return host }
        return written(hasScheme: false, hasTarget: false)
    }

    /// Whether the host is an IPv6 address, which stands in brackets before a port.
    package var isIPv6: Bool {
        let colon = UInt8(ascii: ":")
        return host.utf8.withContiguousStorageIfAvailable { $0.contains(colon) } ?? host.utf8.contains(colon)
    }

    /// The host without a dot at the end: for TLS and comparisons, which use no such dot.
    package var hostName: String {
        host.utf8.last == UInt8(ascii: ".") ? String(host.dropLast()) : host
    }

    /// The URL without its fragment: the form that keys, journals and comparisons use.
    package var description: String { parts.text ?? written(hasScheme: true, hasTarget: true) }

    /// The URL with its fragment: the form that results name (RFC 9110 section 10.2.2).
    package var described: String {
        guard let fragment else { return description }
        return description + "#" + fragment
    }

    /// Scheme and authority: "https://example.org:8443". Used in messages; never contains secrets.
    package var origin: String { written(hasScheme: true, hasTarget: false) }

    /// Written byte by byte: every request is named by its URL, and strings that grow are dear.
    private func written(hasScheme: Bool, hasTarget: Bool) -> String {
        let way = hasScheme ? socketPath.map { "+unix://" + PercentEncoding.segment.escape($0) } ?? "://" : ""
        let scheme = hasScheme ? self.scheme.rawValue : ""
        let host = socketPath == nil ? self.host : hasScheme ? "" : "localhost"
        let target = hasTarget ? self.target : ""
        let isIPv6 = isIPv6
        let port = socketPath == nil && port != defaultPort ? String(port) : ""
        let most =
            scheme.utf8.count &+ way.utf8.count &+ host.utf8.count &+ port.utf8.count &+ target.utf8.count &+ 3
        return String(unsafeUninitializedCapacity: most) { memory in
            var count = 0
            func add(_ text: String) {
                let rest = UnsafeMutableBufferPointer(rebasing: memory[count...])
                count += rest.initialize(fromContentsOf: text.utf8)
            }
            add(scheme)
            add(way)
            if isIPv6 { add("[") }
            add(host)
            if isIPv6 { add("]") }
            if !port.isEmpty {
                add(":")
                add(port)
            }
            add(target)
            return count
        }
    }
}
