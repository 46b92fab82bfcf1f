// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension HTTPURL {
    /// Reads an absolute URL as the WHATWG URL standard does, but refuses where that standard guesses: no credentials,
    /// no backslashes, no white space, no missing slashes or hosts, no port 0, no zone ids.
    ///
    /// Characters beyond ASCII are percent-encoded as UTF-8 in path and query and become Punycode in the host; dot
    /// segments are resolved; the fragment is kept aside. Throws `invalidURL` or `unsupportedScheme` with the pointer
    /// `/url`.
    package init(parsing text: String) throws(HTTPFailure) {
        if let url = PlainURL.read(text) {
            self = url
        } else {
            var reader = URLReader(text)
            self = try reader.read()
        }
    }
}

/// Parses a URL step by step.
struct URLReader {
    private let text: String
    private let bytes: [UInt8]
    private var position = 0

    static let maximumLength = HTTPURL.maximumLength

    init(_ text: String) {
        self.text = text
        // copying all of a string at once is much faster than byte by byte
        let isShort = text.utf8.count <= Self.maximumLength
        bytes = isShort ? Array(text.utf8) : Array(text.utf8.prefix(Self.maximumLength + 1))
    }

    mutating func read() throws(HTTPFailure) -> HTTPURL {
        try checkBytes()
        let (scheme, isUnix) = try scheme()
        let authority = try authority()
        var url = HTTPURL(scheme: scheme, host: "localhost", port: 0, target: "/")
        if isUnix {
            url.socketPath = try socketPath(authority)
            url.port = url.defaultPort
        } else {
            (url.host, url.port) = try hostAndPort(authority, url.defaultPort)
        }
        let (target, fragment) = Self.target(bytes[position...])
        url.target = target
        url.fragment = fragment
        return url
    }

    /// Throws `invalidURL` for an empty or too long text, and for bytes that no part of a URL may have.
    func checkBytes() throws(HTTPFailure) {
        if bytes.isEmpty { throw .invalidURL("the url is empty") }
        if bytes.count > Self.maximumLength { throw .invalidURL("the url is longer than \(Self.maximumLength) bytes") }
        if let index = bytes.firstIndex(where: { $0 <= 0x20 || $0 == 0x7F }) {
            if bytes[index] == 0x20 { throw .invalidURL("the url contains a space at byte \(index): write %20") }
            throw .invalidURL("the url contains a control character at byte \(index): percent-encode it")
        }
        guard bytes.contains(UInt8(ascii: "\\")) else { return }
        let end = bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.count
        if let index = bytes[..<end].firstIndex(of: UInt8(ascii: "\\")) {
            throw .invalidURL("the url contains a backslash at byte \(index): write / or %5C")
        }
    }

    /// The index of the colon behind the scheme; nil if the text has no scheme.
    static func endOfScheme(_ bytes: [UInt8]) -> Int? {
        guard let first = bytes.first, isLetter(first) else { return nil }
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: ":"): return index
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), 0x30...0x39: continue
            default: if !isLetter(byte) { return nil }
            }
        }
        return nil
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static let usual: [([UInt8], HTTPURL.Scheme)] = [
        (Array("https://".utf8), .https), (Array("http://".utf8), .http),
    ]

    private mutating func scheme() throws(HTTPFailure) -> (HTTPURL.Scheme, unix: Bool) {
        for (prefix, scheme) in Self.usual where bytes.starts(with: prefix) && bytes.count > prefix.count {
            guard bytes[prefix.count] != UInt8(ascii: "/") else { break }
            position = prefix.count
            return (scheme, false)
        }
        guard let colon = Self.endOfScheme(bytes) else { throw .invalidURL(withoutScheme) }
        let name = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
        position = colon + 1
        let slashes = bytes[position...].prefix { $0 == UInt8(ascii: "/") }.count
        let isUnix = name == "http+unix" || name == "https+unix"
        guard let scheme = HTTPURL.Scheme(rawValue: isUnix ? String(name.dropLast(5)) : name),
            scheme != .tcp, scheme != .tls
        else {
            // "example.org:80", "localhost:8080/x" and "ada:s3cret@host" look like schemes, but are meant as hosts
            let isPort = bytes[position...].first.map { (0x30...0x39).contains($0) } ?? false
            let isUser = hasCredentials && name != "mailto"
            if slashes < 2, name.contains(".") || isPort || isUser { throw .invalidURL(withoutScheme) }
            throw HTTPFailure(
                .unsupportedScheme,
                "\(FieldRules.shown(name)) is not supported: use http or https, or ws or wss for a WebSocket",
                pointer: "/url")
        }
        guard slashes >= 2 else { throw .invalidURL("\(name): must be followed by //") }
        guard slashes == 2 else { throw .invalidURL("the url has no host between the slashes") }
        position += 2
        return (scheme, isUnix)
    }

    /// Whether credentials seem to stand before the host of a text without a scheme.
    private var hasCredentials: Bool { bytes.prefix { !"/?#".utf8.contains($0) }.contains(UInt8(ascii: "@")) }

    /// Shows the text unless there may be a secret in the text.
    private var withoutScheme: String {
        if hasCredentials {
            return "the url has no scheme: add https://, and give the credentials in auth (in a shell: -u NAME)"
        }
        let harmless = !text.utf8.contains { "@?#".utf8.contains($0) }
        return "\(harmless ? FieldRules.shown(text) : "the url") has no scheme: add https://"
    }

    private mutating func authority() throws(HTTPFailure) -> ArraySlice<UInt8> {
        let authority = bytes[position...].prefix {
            $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
        }
        if authority.contains(UInt8(ascii: "@")) {
            throw .invalidURL("the URL holds credentials, which are refused (give them in auth; in a shell: -u NAME)")
        }
        if authority.isEmpty { throw .invalidURL("the url has no host") }
        position = authority.endIndex
        return authority
    }

    private func socketPath(_ authority: ArraySlice<UInt8>) throws(HTTPFailure) -> String {
        let path = PercentEncoding.decode(authority)
        guard path.first == UInt8(ascii: "/") else {
            throw .invalidURL("the host of a +unix url is the absolute path of a socket with / written as %2F")
        }
        guard path.count <= 107 else {
            throw .invalidURL("the path of a socket is at most 107 bytes, not \(path.count)")
        }
        guard !path.contains(0), let text = String(validating: path, as: UTF8.self) else {
            throw .invalidURL("the path of the socket is not UTF-8 text")
        }
        return text
    }

    private func hostAndPort(
        _ authority: ArraySlice<UInt8>, _ defaultPort: Int
    ) throws(HTTPFailure) -> (String, Int) {
        if authority.first == UInt8(ascii: "[") {
            guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else {
                throw .invalidURL("the IPv6 address has no closing bracket")
            }
            let rest = authority[(close + 1)...]
            guard rest.isEmpty || rest.first == UInt8(ascii: ":") else {
                throw .invalidURL("only a port may follow the brackets of an IPv6 address")
            }
            let host = try IPAddressText.ipv6(authority[(authority.startIndex + 1)..<close])
            return (host, try port(rest.dropFirst(), defaultPort))
        }
        let colon = authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
        let rest = authority[colon...].dropFirst()
        if rest.contains(UInt8(ascii: ":")) {
            throw .invalidURL("the host contains several colons: write an IPv6 address in brackets")
        }
        if colon == authority.startIndex { throw .invalidURL("the url has no host") }
        return (try HostName.canonical(authority[..<colon]), try port(rest, defaultPort))
    }

    private func port(_ digits: ArraySlice<UInt8>, _ defaultPort: Int) throws(HTTPFailure) -> Int {
        if digits.isEmpty { return defaultPort }
        var port = 0
        for digit in digits {
            // the text may be a password with a slash: http://user:pass/word@host/
            guard (0x30...0x39).contains(digit) else { throw .invalidURL("the port is not a number") }
            port = min(port * 10 + Int(digit &- 0x30), 65536)
        }
        guard (1...65535).contains(port) else {
            throw .invalidURL("the port is out of range: 1 to 65535")
        }
        return port
    }

    /// The request target and the fragment, from the bytes behind the authority.
    static func target(_ bytes: ArraySlice<UInt8>) -> (target: String, fragment: String?) {
        let path = bytes.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        var rest = bytes[path.endIndex...]
        var target: [UInt8] = []
        target.reserveCapacity(bytes.count + 16)
        PercentEncoding.path.append(path, to: &target)
        target = URLPath.withoutDots(target)
        if rest.first == UInt8(ascii: "?") {
            let query = rest.prefix { $0 != UInt8(ascii: "#") }
            rest = rest[query.endIndex...]
            PercentEncoding.writtenQuery.append(query, to: &target)
        }
        var fragment: [UInt8]?
        if rest.first == UInt8(ascii: "#") {
            var escaped: [UInt8] = []
            PercentEncoding.fragment.append(rest.dropFirst(), to: &escaped)
            fragment = escaped
        }
        return (String(decoding: target, as: UTF8.self), fragment.map { String(decoding: $0, as: UTF8.self) })
    }
}
