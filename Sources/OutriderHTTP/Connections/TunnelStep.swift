// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What a handshake with a proxy wants next.
package enum TunnelStep: Sendable, Equatable {
    /// More bytes of the proxy.
    case wait
    /// These sent, then more bytes.
    case send([UInt8])
    /// The way to the origin is open.
    case open
    /// The proxy said no. `isReusable`: on the same connection it may be asked again.
    case refused(ResponseHead, isReusable: Bool)
    /// It is no proxy, or not a proper one; the sentence says what it did, and begins with a verb.
    case failed(HTTPFailure.Kind, String)
}

/// A handshake with a proxy that opens a way to an origin: bytes in, steps out.
package protocol TunnelMachine: Sendable {
    /// What is sent first.
    mutating func begin() -> [UInt8]
    mutating func received(_ bytes: [UInt8]) -> TunnelStep
}
