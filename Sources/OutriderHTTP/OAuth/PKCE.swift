// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import Crypto
internal import OutriderJSON

/// Proof that the same client requests and redeems an authorization code (RFC 7636), with S256 only.
package struct PKCE: Sendable, Equatable {
    package let verifier: Secret

    /// - Parameter random: 32 unpredictable bytes (RFC 7636 section 4.1).
    package init(random: [UInt8]) { verifier = Secret(Base64.encodeForURL(random)) }

    /// The challenge in the authorization request (RFC 7636 section 4.2).
    package var challenge: String {
        var hash = SHA256()
        verifier.withBytes { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return Base64.encodeForURL(Array(hash.finalize()))
    }

    package static let method = "S256"
}
