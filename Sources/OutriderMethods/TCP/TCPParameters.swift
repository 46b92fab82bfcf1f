// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderJSON

/// The TLS of a stream: `{serverName, alpn}`, or true.
struct TCPSecurityParameter: JSONDecodable {
    var tls: DuplexTLS?

    private static let mostProtocols = 16

    init(json: JSONValue) throws(JSONComplaint) {
        if case .bool(let flag) = json {
            tls = flag ? DuplexTLS() : nil
            return
        }
        guard json.object != nil || json.array?.isEmpty == true else {
            throw JSONComplaint("must be true, false or an object of serverName and alpn, not \(json.typeName)")
        }
        var fields = try JSONFields(json)
        tls = try Self.members(&fields)
        try fields.finish()
    }

    /// `serverName` and `alpn` among other members.
    static func members(_ fields: inout JSONFields) throws(JSONComplaint) -> DuplexTLS {
        var tls = DuplexTLS()
        tls.serverName = try fields.optional("serverName", as: String.self) { name in
            HTTPURL(streamTo: name, port: 1) == nil ? "must be a host name or an address" : nil
        }
        let names = try fields.texts("alpn", most: mostProtocols) { name in
            (1...255).contains(name.utf8.count) ? nil : "must be a name of 1 to 255 bytes, such as \"imap\""
        }
        tls.protocols = names ?? []
        return tls
    }
}

extension HTTPURL {
    /// The endpoint of a TCP stream; nil if `host` is neither a host name nor an address.
    init?(streamTo host: String, port: Int) {
        let isIPv6 = host.utf8.contains(UInt8(ascii: ":")) && host.utf8.first != UInt8(ascii: "[")
        guard (1...65535).contains(port), !host.utf8.contains(where: { "/?#@\\%".utf8.contains($0) }),
            var url = try? HTTPURL(parsing: "http://\(isIPv6 ? "[\(host)]" : host)/"), url.port == 80
        else { return nil }
        (url.scheme, url.port, url.target) = (.tcp, port, "")
        self = url
    }

    /// The same at a Unix socket: an absolute path, or `@name` in the abstract namespace.
    init?(streamAt path: String) {
        guard path.utf8.first == UInt8(ascii: "/") || (path.utf8.first == UInt8(ascii: "@") && path.utf8.count > 1),
            !path.utf8.contains(0)
        else { return nil }
        self.init(scheme: .tcp, host: "localhost", port: 0, target: "", socketPath: path)
    }
}

/// The destination of a TCP stream: `host` and `port`, or `path`.
struct TCPEndpoint {
    private let host: String?
    private let port: Int?
    private let path: String?

    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        host = try fields.optional("host")
        port = try fields.integer("port", in: 1...65535)
        path = try fields.optional("path")
    }

    /// The endpoint, once misspelt names are found.
    func url() throws(JSONComplaint) -> HTTPURL {
        if let path {
            guard host == nil, port == nil else {
                throw JSONComplaint(
                    "path and host exclude each other: a Unix socket has no host", at: JSONPointer(member: "path"))
            }
            guard path.utf8.count <= 107 else {
                throw JSONComplaint(
                    "path is longer than the 107 bytes of a Unix socket: use a shorter one",
                    at: JSONPointer(member: "path"))
            }
            guard let url = HTTPURL(streamAt: path) else {
                throw JSONComplaint(
                    "path must be an absolute path, or @name for an abstract socket", at: JSONPointer(member: "path"))
            }
            return url
        }
        guard let host else {
            throw JSONComplaint("give host and port, or path for a Unix socket", at: .root)
        }
        guard let port else { throw JSONComplaint("port is required", at: JSONPointer(member: "port")) }
        guard let url = HTTPURL(streamTo: host, port: port) else {
            throw JSONComplaint(
                "host must be a host name or an address, without a scheme, port or path: \(host.excerpt)",
                at: JSONPointer(member: "host"))
        }
        return url
    }
}

/// The TLS of a stream, for replies.
struct TCPSecurityShape: ObjectShape {
    var security: DuplexSecurity

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("version", security.version ?? "TLS")
        writer.member("alpn", security.negotiated)
    }
}
