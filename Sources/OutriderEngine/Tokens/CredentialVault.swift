// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Where credentials are kept, and the only one who sees their secrets. Its work is done by a short-lived process.
package protocol CredentialVault: AnyObject, Sendable {
    /// Puts a credential there, or changes what is known of it. Tokens that the store has stay, unless `secrets` has a
    /// refresh token or `access` is given.
    func store(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot

    /// What is known now; nil for a name that nobody has.
    func read(_ name: String) async throws(OAuthFailure) -> CredentialSnapshot?

    /// What is known of all of them, by name.
    func list() async throws(OAuthFailure) -> [CredentialSnapshot]

    /// Asks the token endpoint under the lock of the credential, and keeps what it says. If the store has a later
    /// generation than `generation` by then, that is the answer, and nobody is asked: nil asks in any case.
    ///
    /// Once begun it is carried to its end, whoever stops waiting.
    func obtain(
        _ request: TokenRequest, for name: String, newerThan generation: UInt64?
    ) async throws(OAuthFailure) -> CredentialSnapshot

    /// Asks for codes for a device (RFC 8628 section 3.1), for the scope of the credential unless another is given: the
    /// answer's body, as it came with status 200, at most 64 KiB.
    func authorizeDevice(_ name: String, scope: [String]?) async throws(OAuthFailure) -> [UInt8]

    /// Revokes the tokens where the server can (RFC 7009: the refresh token first), and forgets them; with `spec`
    /// forgets that the credential exists, too. What the server said is the failure; they are forgotten in any case.
    func erase(_ name: String, spec: Bool, revoke: Bool) async throws(OAuthFailure)

    /// RFC 7662, for the access token.
    func introspect(_ name: String) async throws(OAuthFailure) -> [UInt8]
}
