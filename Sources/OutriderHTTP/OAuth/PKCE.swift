// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import Crypto
internal import OutriderJSON

/// Proof that who redeems an authorization code is who asked for it (RFC 7636), by S256 alone.
package struct PKCE: Sendable, Equatable {
    package let verifier: Secret

    /// - Parameter random: 32 unpredictable bytes (RFC 7636 section 4.1).
    package init(random: [UInt8]) { verifier = Secret(Base64.encodeForURL(random)) }

    /// What is shown to the server first (RFC 7636 section 4.2).
    package var challenge: String {
        var hash = SHA256()
        verifier.withBytes { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return Base64.encodeForURL(Array(hash.finalize()))
    }

    package static let method = "S256"
}
