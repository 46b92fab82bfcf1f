// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// When each phase of an attempt ended, as durations. Nil for a phase that did not take place, as on a reused
/// connection.
package struct Timeline: Sendable, Equatable {
    /// Waiting for a place in the pool.
    package var queue: Duration?
    package var resolve: Duration?
    package var connect: Duration?
    /// The proxy's reply to CONNECT or the SOCKS handshake.
    package var proxy: Duration?
    /// The TLS handshakes: with an https proxy, and with the origin.
    package var tls: Duration?
    /// From having a connection to the last byte of the request.
    package var request: Duration?
    /// From the last byte of the request to the first byte of the response.
    package var firstByte: Duration?
    /// From the first byte of the response to its last.
    package var response: Duration?
    package var total: Duration?
    /// Whether the connection had carried a request before.
    package var reused = false
    /// The address at the other end, "127.0.0.1:443" or "[::1]:443" or a socket path.
    package var remote: String?
    /// The results of the handshake with the server; nil without TLS.
    package var tlsFacts: TLSFacts?
    /// "TLSv1.3", for TLS connections.
    package var tlsVersion: String? { tlsFacts?.version }
    /// The protocol that the server chose by ALPN, "h2" or "http/1.1".
    package var alpn: String? { tlsFacts?.alpn }
    /// The number of the connection, and over HTTP/2 of the stream.
    package var connection: UInt64?
    package var stream: UInt32?
    package var bytesSent: Int64 = 0
    package var bytesReceived: Int64 = 0
    /// Body bytes after content decoding.
    package var bodyBytes: Int64 = 0

    package init() {}

    /// The phases by their names in the contract, in their order.
    package var phases: [(name: String, time: Duration?)] {
        [
            ("queue", queue), ("dns", resolve), ("connect", connect), ("proxy", proxy), ("tls", tls),
            ("request", request), ("firstByte", firstByte), ("response", response),
        ]
    }
}
