// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// How an attempt authenticates. A value; the field is written once method, target and body are known.
package struct Signature: Sendable {
    package enum Proof: Sendable {
        /// Whether the server expects UTF-8 in normal form (NFC).
        case basic(isUTF8: Bool)
        /// The challenge, the count of uses of its nonce including this use, and the client nonce.
        case digest(DigestChallenge, count: UInt32, clientNonce: String)
    }

    package var space: ProtectionSpace
    package var credential: UserCredential
    package var proof: Proof
    /// Sent without a challenge.
    package var isEarly = false

    package init(_ space: ProtectionSpace, _ credential: UserCredential, _ proof: Proof, isEarly: Bool = false) {
        self.space = space
        self.credential = credential
        self.proof = proof
        self.isEarly = isEarly
    }

    package var scheme: UserCredential.Scheme {
        if case .digest = proof { .digest } else { .basic }
    }

    /// The value of the field for Basic.
    package var basicValue: String {
        if case .basic(isUTF8: true) = proof { credential.normalized.basicValue } else { credential.basicValue }
    }

    /// The hash of the body that is needed before sending; nil for none.
    package var bodyHash: DigestAlgorithm? {
        guard case .digest(let challenge, _, _) = proof, challenge.protection == .authInt else { return nil }
        return challenge.algorithm
    }

    /// The Digest response; nil for Basic.
    package func digest(method: String, uri: String, bodyHash: String = "") -> DigestCredentials? {
        guard case .digest(let challenge, let count, let clientNonce) = proof else { return nil }
        return DigestCredentials(
            challenge, credential, method: method, uri: uri, count: count, clientNonce: clientNonce, bodyHash: bodyHash)
    }
}
