// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What a server's certificates are worth under a policy, found out without a request.
package struct TLSExamination: Sendable {
    /// Of the handshake; nil if there was none.
    package var facts: TLSFacts?
    /// What the server sent, or what was given in its place, in DER.
    package var served: [[UInt8]] = []
    /// Why the server is not believed, or why there was no handshake.
    package var failure: HTTPFailure?
    /// Why the server is believed.
    package var verified: VerifiedBy?
    package var revocation: TLSFacts.Revocation?
    /// The verified path in DER, the server's own certificate first.
    package var path: [[UInt8]] = []

    package init(failure: HTTPFailure? = nil) { self.failure = failure }
}
