// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A bidirectional byte stream in place of an HTTP exchange. Shared, immutable.
package final class Duplex: Sendable {
    /// tcp for plain bytes, tls for a handshake before the first byte.
    package let endpoint: HTTPURL
    package let tls: DuplexTLS
    /// Gives the bytes that are sent. Its end is the end of writing.
    package let feed: any BodyFeed
    package let owner: any DuplexOwner

    package init(_ endpoint: HTTPURL, tls: DuplexTLS, feed: any BodyFeed, owner: any DuplexOwner) {
        self.endpoint = endpoint
        self.tls = tls
        self.feed = feed
        self.owner = owner
    }
}

/// How TLS is begun on a stream.
package struct DuplexTLS: Sendable {
    /// The name that the certificate must be valid for; nil for the host that was connected to.
    package var serverName: String?
    /// Protocols offered by ALPN (RFC 7301), the preferred first; none for no offer.
    package var protocols: [String] = []

    package init() {}
}

/// The TLS of an open stream.
package struct DuplexSecurity: Sendable, Equatable {
    /// "TLSv1.3".
    package var version: String?
    /// The server's choice among the offered protocols (ALPN); nil for none.
    package var negotiated: String?

    /// Further results of the handshake.
    package var facts: TLSFacts

    package init(_ facts: TLSFacts) {
        version = facts.version
        negotiated = facts.alpn
        self.facts = facts
    }
}

/// Observes a stream, on the event loop of its connection; must return quickly.
package protocol DuplexOwner: AnyObject, Sendable {
    /// The connection is open; the timeline holds the address and the durations.
    func opened(_ control: any DuplexControl, _ timeline: Timeline, _ security: DuplexSecurity?)

    /// All bytes of the peer were passed on, and no more will arrive; writing continues.
    func readEnded()

    /// All bytes were sent, and their end.
    func writeEnded()
}

/// Changes an open stream. May be called from anywhere.
package protocol DuplexControl: AnyObject, Sendable {
    /// Begins TLS as a client, behind the first `written` bytes of the feed. `completion` is called once, on any
    /// thread.
    ///
    /// Fails with `tlsUpgradeFailed`, which ends the stream, if more plain bytes arrived than the `delivered` bytes
    /// that the client has read: an attacker may have added them (RFC 3207 section 6).
    func startTLS(
        _ tls: DuplexTLS, written: Int, delivered: Int,
        _ completion: @escaping @Sendable (Result<DuplexSecurity, HTTPFailure>) -> Void)

    /// Ends reading; later bytes are dropped.
    func closeRead()
}
