// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A connection target in place of the URL's host and port. Host field, SNI and verification stay the URL's.
package struct ConnectTarget: Sendable, Hashable, CustomStringConvertible {
    /// In its canonical form, IPv6 addresses without brackets; nil for the URL's own.
    package let host: String?
    /// Nil for the URL's own.
    package let port: Int?

    /// Reads `host:port`, `host` or `:port`; IPv6 addresses in brackets where a port follows.
    package init?(_ text: String) {
        guard text.utf8.count <= 300, !text.isEmpty else { return nil }
        var host = text[...]
        var port: Int?
        if let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) {
            let before = text[..<colon]
            let isAddress = before.utf8.contains(UInt8(ascii: ":")) && before.utf8.last != UInt8(ascii: "]")
            if !isAddress {
                let digits = text[text.utf8.index(after: colon)...]
                guard let number = FieldRules.decimal(digits).flatMap({ Int(exactly: $0) }),
                    (1...65535).contains(number)
                else { return nil }
                (host, port) = (before, number)
            }
        }
        self.port = port
        if host.isEmpty {
            self.host = nil
            return
        }
        guard let name = Self.canonical(host) else { return nil }
        self.host = name
    }

    /// A host in the form of a parsed URL; nil if the text is no host.
    static func canonical(_ text: Substring) -> String? {
        let isAddress = text.utf8.first != UInt8(ascii: "[") && text.utf8.contains(UInt8(ascii: ":"))
        let written = isAddress ? "[\(text)]" : String(text)
        guard !written.utf8.contains(UInt8(ascii: "*")), let url = try? HTTPURL(parsing: "https://\(written)/"),
            url.target == "/", url.port == 443, !written.utf8.contains(UInt8(ascii: "@"))
        else { return nil }
        return url.host
    }

    /// The URL with this target as its host and port.
    package func applied(to url: HTTPURL) -> HTTPURL {
        var changed = url
        changed.host = host ?? url.host
        changed.port = port ?? url.port
        changed.socketPath = nil
        return changed
    }

    package var description: String {
        let name = host.map { $0.utf8.contains(UInt8(ascii: ":")) ? "[\($0)]" : $0 } ?? ""
        return port.map { "\(name):\($0)" } ?? name
    }
}
