// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A server that does not speak TLS where TLS was expected. Its first bytes tell, whereas the failure of the handshake
/// depends on whether the server has closed the connection already.
package enum PlainPeer: Sendable, Equatable {
    case http
    case other

    /// Nil if the first byte is the type of a TLS record (RFC 8446 section 5.1), or absent.
    package init?(firstBytes: some Collection<UInt8>) {
        guard let first = firstBytes.first, !(20...23).contains(first) else { return nil }
        self = firstBytes.starts(with: "HTTP/".utf8) ? .http : .other
    }

    /// - Parameter isUpgrade: the stream was plain until now.
    package func failure(
        with host: String, isUpgrade: Bool, _ underlying: HTTPFailure.Underlying?
    ) -> HTTPFailure {
        let words =
            switch self {
            case _ where isUpgrade:
                "answers in plain: it offers no TLS here, or its go-ahead was not read whole before tcp.startTls"
            case .http: "speaks plain HTTP on this port (http:// in place of https:// uses no TLS)"
            case .other: "does not speak TLS on this port"
            }
        return HTTPFailure(
            .tlsHandshakeFailed, "the TLS handshake with \(host) failed: the server \(words)", phase: .tls,
            underlying: underlying)
    }
}
