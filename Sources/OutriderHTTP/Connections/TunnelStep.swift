// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The next step of a handshake with a proxy.
package enum TunnelStep: Sendable, Equatable {
    /// Wait for more bytes of the proxy.
    case wait
    /// Send these bytes, then wait for more.
    case send([UInt8])
    /// The tunnel to the origin is open.
    case open
    /// The proxy refused. `isReusable`: another request may follow on the same connection.
    case refused(ResponseHead, isReusable: Bool)
    /// The peer violates the protocol; the sentence describes the violation, and begins with a verb.
    case failed(HTTPFailure.Kind, String)
}

/// A handshake with a proxy that opens a tunnel to an origin: bytes in, steps out.
package protocol TunnelMachine: Sendable {
    /// The first bytes to send.
    mutating func begin() -> [UInt8]
    mutating func received(_ bytes: [UInt8]) -> TunnelStep
    /// The refusal that had arrived, all but the rest of its body, when the connection ended; nil for any other end.
    var cutRefusal: ResponseHead? { get }
    /// The first bytes of the peer, if they came together with the end of the handshake. Refused for origins that wait
    /// for the client's first byte.
    var early: [UInt8] { get }
    /// After `failed`: whether another attempt may succeed, because the proxy could not reach the origin.
    var mayPass: Bool { get }
}

extension TunnelMachine {
    package var cutRefusal: ResponseHead? { nil }
    package var mayPass: Bool { false }
}
