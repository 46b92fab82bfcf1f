// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// One sending of a request: exactly what goes on the wire, after all encoding and adaptation.
package struct Attempt: Sendable {
    package var method: String
    package var url: HTTPURL
    /// Complete but for Host, Content-Length, Transfer-Encoding and Connection, which the transport writes.
    package var fields: HTTPFields
    package var body: AttemptBody
    package var timeouts: Timeouts
    package var trust: Trust
    /// Connections to one origin that may exist at once; further attempts wait. Default 6, as URLSession has it.
    package var connectionsPerHost: Int
    /// Undo gzip and deflate, and offer them in Accept-Encoding where the caller wrote none.
    package var decodesContent: Bool
    /// Refuse an answer whose body is longer than this, in decoded bytes; nil for no limit.
    package var maximumBodyBytes: Int?
    /// Send the body only once the server has said 100 Continue, or has kept silent for a while (RFC 9110 section 10.1.1).
    package var expectsContinue: Bool

    /// Which proxy leads to which URL; nil for the direct way to all.
    package var proxies: ProxyRules?
    /// What this sending says to its proxy; nil for nothing.
    package var proxyAuthorization: ProxyAuthorization?
    /// For showing it: with what it is signed, or will be when it is asked.
    package var login: Login?

    package init(method: String, url: HTTPURL, fields: HTTPFields, body: AttemptBody = .none) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        timeouts = Timeouts()
        trust = .system
        connectionsPerHost = 6
        decodesContent = true
        expectsContinue = false
    }
}

/// Whom to believe on TLS connections. Part of the key of a pooled connection.
package enum Trust: Sendable, Hashable {
    /// The roots of the system, or those of SSL_CERT_FILE.
    case system
    /// The certificates in a PEM file, and no others.
    case roots(file: String)
}
