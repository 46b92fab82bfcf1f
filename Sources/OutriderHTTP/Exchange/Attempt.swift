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

    package init(method: String, url: HTTPURL, fields: HTTPFields, body: AttemptBody = .none) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        timeouts = Timeouts()
        trust = .system
        connectionsPerHost = 6
        decodesContent = true
    }
}

/// What an attempt carries.
package enum AttemptBody: Sendable, Equatable {
    case none
    case bytes([UInt8])
    /// A regular file, read piece by piece; its size when the attempt began.
    case file(path: String, size: Int64)
}

/// Whom to believe on TLS connections. Part of the key of a pooled connection.
package enum Trust: Sendable, Hashable {
    /// The roots of the system, or those of SSL_CERT_FILE.
    case system
    /// The certificates in a PEM file, and no others.
    case roots(file: String)
}

extension AttemptBody {
    /// Whether it can be sent once more.
    package var isReplayable: Bool {
        switch self {
        case .none, .bytes, .file: true
        }
    }
}
