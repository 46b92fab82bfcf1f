// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Authentication state of an exchange.
struct AttemptSigning: Sendable {
    /// Nil if the request must not authenticate.
    var authenticator: Authenticator?
    /// The signature of the next request, after a challenge.
    var next: Signature?
    /// The signature of the last request.
    var sent: SentSignature?
    /// The time when the last request was sent.
    var sentAt = ContinuousClock.now
    /// The number of the attempt that the authenticator was told of.
    var attempt = 0
    var proxy = ProxySigning()
    /// The server's proof about the body that is arriving.
    var bodyProof: BodyProof?
}

/// Proxy authentication state of an exchange.
struct ProxySigning: Sendable {
    /// The signature of the next request, after a challenge.
    var next: Signature?
    /// The signature of the last request.
    var sent: SentSignature?
    /// The number of the attempt that the authenticator was told of.
    var attempt = 0
}

/// The signature of a request that was sent.
struct SentSignature: Sendable {
    var signature: Signature
    /// The Digest response to the challenge; nil for Basic.
    var digest: DigestCredentials?
}

/// The server's Digest proof (RFC 7616) of a body that is still arriving.
struct BodyProof: Sendable {
    var info: AuthenticationInfo
    var digest: DigestCredentials
    var hash: DigestHash

    mutating func take(_ chunk: ByteBuffer) { hash.update(Array(chunk.readableBytesView)) }

    /// Nil if the proof is right.
    var fault: HTTPFailure? { info.fault(of: digest, bodyHash: hash.finish()) }
}
