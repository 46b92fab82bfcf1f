// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A proxy: its protocol, address and credential.
package struct ProxyServer: Sendable, Hashable, CustomStringConvertible {
    package enum Kind: String, Sendable, CaseIterable {
        /// HTTP: forwards http requests, opens tunnels for https (RFC 9110 sections 3.7 and 9.3.6).
        case http
        /// The same over TLS.
        case https
        /// RFC 1928; names are looked up here.
        case socks5
        /// RFC 1928; names are looked up by the proxy.
        case socks5h
    }

    package var kind: Kind
    /// The address, with the path "/": `https` for a proxy over TLS, `http` for all others.
    package var url: HTTPURL
    /// The credential from the proxy's URL or setting, if any.
    package var credential: UserCredential?

    package init(_ kind: Kind, at url: HTTPURL, credential: UserCredential? = nil) {
        self.kind = kind
        self.url = url
        self.credential = credential
    }

    package var speaksHTTP: Bool { kind == .http || kind == .https }

    /// "proxy.example:3128", for messages.
    package var name: String { url.authorityWithPort }

    /// Shows `***` in place of a password.
    package var description: String { text(withSecrets: false) }

    package func text(withSecrets: Bool) -> String {
        var user = ""
        if let credential {
            let password = withSecrets ? PercentEncoding.segment.escape(credential.password) : SecretFields.mask
            user = "\(PercentEncoding.segment.escape(credential.username)):\(password)@"
        }
        return "\(kind.rawValue)://\(user)\(name)"
    }
}

extension ProxyServer {
    /// The longest URL, in bytes.
    private static let maximumLength = 4096

    /// Reads `http://user:password@host:port`. Default scheme: http. Default port: 80, 443 for https, and 1080 for
    /// SOCKS. User and password are percent-decoded.
    ///
    /// Throws `invalidURL` or `unsupportedScheme`; neither message shows a possible password.
    package init(parsing text: String) throws(HTTPFailure) {
        guard text.utf8.count <= Self.maximumLength else {
            throw Self.fault("is longer than \(Self.maximumLength) bytes")
        }
        let (kind, rest) = try Self.kind(of: text)
        // by bytes: a slash with an accent behind it is another character
        let authority = rest.utf8.prefix { !"/?#".utf8.contains($0) }
        let end = rest.utf8[authority.endIndex...]
        guard end.isEmpty || end.elementsEqual("/".utf8) else { throw Self.fault("must end after its port") }
        self.kind = kind
        var place = authority
        if let mark = authority.lastIndex(of: UInt8(ascii: "@")) {
            credential = try Self.credential(authority[..<mark], kind)
            place = authority[authority.index(after: mark)...]
        }
        url = try Self.url(Substring(place), kind)
    }

    private static func kind(of text: String) throws(HTTPFailure) -> (Kind, Substring) {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
            return (.http, text[...])
        }
        let scheme = text[..<colon].lowercased()
        guard let kind = Kind(rawValue: scheme) else {
            throw HTTPFailure(
                .unsupportedScheme,
                "the scheme of a proxy cannot be \(FieldRules.shown(scheme)): use http, https, socks5 or socks5h",
                pointer: "/proxy")
        }
        return (kind, Substring(bytes[colon...].dropFirst(3)))
    }

    private static func credential(
        _ written: Substring.UTF8View, _ kind: Kind
    ) throws(HTTPFailure) -> UserCredential {
        let parts = written.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        var texts: [String] = []
        for part in parts {
            guard let text = String(validating: PercentEncoding.decode(Array(part)), as: UTF8.self) else {
                throw fault("has a user or a password that is not UTF-8 text")
            }
            texts.append(text)
        }
        let credential = UserCredential(texts.first ?? "", texts.count > 1 ? texts[1] : "")
        if let fault = credential.fault(for: kind) { throw self.fault("has a \(fault.member) that \(fault.message)") }
        return credential
    }

    private static func url(_ place: Substring, _ kind: Kind) throws(HTTPFailure) -> HTTPURL {
        do throws(HTTPFailure) {
            let plain = try HTTPURL(parsing: "http://\(place)")
            let secure = try HTTPURL(parsing: "https://\(place)")
            if kind == .https { return secure }
            var url = plain
            // no port was written
            if kind != .http, plain.port != secure.port { url.port = 1080 }
            return url
        } catch {
            throw fault("is no proxy's URL: \(error.message)")
        }
    }

    private static func fault(_ message: String) -> HTTPFailure {
        HTTPFailure(.invalidURL, "the proxy \(message)", pointer: "/proxy")
    }
}

extension UserCredential {
    /// Why the credential cannot be sent to a proxy of this kind; nil if valid.
    package func fault(for kind: ProxyServer.Kind) -> (member: String, message: String)? {
        if kind == .http || kind == .https { return fault }
        // RFC 1929 section 2: each has a length of one byte, and the user has at least one byte
        if username.isEmpty { return ("username", "must not be empty for SOCKS") }
        if username.utf8.count > 255 { return ("username", "must not be longer than 255 bytes for SOCKS") }
        if password.utf8.count > 255 { return ("password", "must not be longer than 255 bytes for SOCKS") }
        return nil
    }
}

extension HTTPURL {
    /// Host and port, always with the port: the target of CONNECT (RFC 9110 section 9.3.6).
    package var authorityWithPort: String {
        let host = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return "\(host):\(port)"
    }
}
