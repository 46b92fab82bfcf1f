// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// An http, https, ws, wss, http+unix or https+unix URL that may be requested: parsed once, and the only reading used for
/// pool keys, Host, TLS names and connecting.
package struct HTTPURL: Sendable, Hashable, CustomStringConvertible {
    package enum Scheme: String, Sendable { case http, https, ws, wss }

    package var scheme: Scheme
    /// Lower-case, ASCII; an IPv6 address without its brackets. A dot at the end is kept, since it is part of Host.
    package var host: String
    /// 1 to 65535; the default of the scheme if none was written.
    package var port: Int
    /// From the path on, percent-encoded: "/a/b?c=d". Never empty.
    package var target: String
    /// Set for `http+unix://%2Fpath%2Fto.sock/target`: connect to this socket instead of a host.
    package var socketPath: String?
    /// What followed `#`, percent-encoded: for reporting, never sent.
    package var fragment: String?

    package init(scheme: Scheme, host: String, port: Int, target: String, socketPath: String? = nil) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.target = target
        self.socketPath = socketPath
    }

    package var isSecure: Bool { scheme == .https || scheme == .wss }

    package var defaultPort: Int { isSecure ? 443 : 80 }

    /// What the Host field says (RFC 9110 section 7.2).
    package var authority: String {
        var text = ""
        addAuthority(to: &text)
        return text
    }

    // strings are added one behind the other, because every request is named by its URL, and interpolation is dear

    private func addAuthority(to text: inout String) {
        if socketPath != nil {
            text += "localhost"
            return
        }
        let isIPv6 = host.utf8.contains(UInt8(ascii: ":"))
        if isIPv6 { text += "[" }
        text += host
        if isIPv6 { text += "]" }
        if port != defaultPort {
            text += ":"
            text += String(port)
        }
    }

    /// The host without a dot at the end: for looking up, TLS and comparisons, which know no such dot.
    package var hostName: String {
        host.utf8.last == UInt8(ascii: ".") ? String(host.dropLast()) : host
    }

    /// The whole without the fragment.
    package var description: String {
        var text = ""
        text.reserveCapacity(host.utf8.count &+ target.utf8.count &+ 24)
        addOrigin(to: &text)
        text += target
        return text
    }

    /// Scheme and authority: "https://example.org:8443". What messages name; it holds no secrets.
    package var origin: String {
        var text = ""
        addOrigin(to: &text)
        return text
    }

    private func addOrigin(to text: inout String) {
        text += scheme.rawValue
        if let socketPath {
            text += "+unix://"
            text += PercentEncoding.segment.escape(socketPath)
        } else {
            text += "://"
            addAuthority(to: &text)
        }
    }
}
