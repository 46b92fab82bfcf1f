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

    /// Changes these settings to what `spec` has, and the tokens to those that are given, if any. All else stays as the store
    /// has it, whatever the caller believes that to be.
    ///
    /// - Throws: `credential_replaced` for one that was deleted and made anew, as all that is told which one is meant.
    func change(
        _ id: CredentialID, _ settings: [CredentialSpec.Setting], of spec: CredentialSpec,
        _ secrets: CredentialSecrets, access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot

    /// Of the record on disk as it stands, in microseconds and without a keeper; nil where that cannot be said.
    func mark(of name: String) -> RecordMark?

    /// What is known now; nil for an unknown name.
    func read(_ name: String) async throws(OAuthFailure) -> CredentialSnapshot?

    /// What is known of all of them, by name.
    func list() async throws(OAuthFailure) -> [CredentialSnapshot]

    /// Asks the token endpoint under the lock of the credential, and keeps what it says. If the store has a later
    /// generation than `generation` by then, that is the result, and no server is asked: nil asks in any case.
    ///
    /// Once begun, it is carried to its end, even if all callers stop waiting.
    func obtain(
        _ request: TokenRequest, for id: CredentialID, newerThan generation: UInt64?
    ) async throws(OAuthFailure) -> CredentialSnapshot

    /// Asks for codes for a device (RFC 8628 section 3.1), for the scope of the credential unless another is given: the
    /// answer's body, as it came with status 200, at most 64 KiB.
    func authorizeDevice(_ id: CredentialID, scope: [String]?) async throws(OAuthFailure) -> [UInt8]

    /// Revokes the tokens where the server can (RFC 7009: the refresh token first), and forgets them; with `spec`
    /// forgets that the credential exists, too. Tokens of a later generation than `generation` are left alone: nil means all.
    ///
    /// - Returns: why the server did not revoke them, if it was to; they are forgotten all the same.
    /// - Throws: why nothing was forgotten.
    func erase(
        _ id: CredentialID, spec: Bool, revoke: Bool, upTo generation: UInt64?
    ) async throws(OAuthFailure) -> OAuthFailure?

    /// RFC 7662, for the access token.
    func introspect(_ id: CredentialID) async throws(OAuthFailure) -> [UInt8]
}
