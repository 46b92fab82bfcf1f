// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The evaluation of a server's certificates under a policy, made without a request.
package struct TLSExamination: Sendable {
    /// Of the handshake; nil if there was none.
    package var facts: TLSFacts?
    /// The certificates from the server, or those given instead, in DER.
    package var served: [[UInt8]] = []
    /// Why the server is not trusted, or why the handshake failed.
    package var failure: HTTPFailure?
    /// How the server was verified.
    package var verified: VerifiedBy?
    package var revocation: TLSFacts.Revocation?
    /// The verified path in DER, the server's own certificate first.
    package var path: [[UInt8]] = []

    package init(failure: HTTPFailure? = nil) { self.failure = failure }
}
