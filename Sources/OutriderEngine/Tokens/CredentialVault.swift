// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// The store of credentials. A short-lived process does the work, and only that process sees the secrets.
///
/// Each method that may send a request takes the recorder of its caller; nil if the request is not recorded.
package protocol CredentialVault: AnyObject, Sendable {
    /// Stores a credential, or changes a known one. Existing tokens stay, unless `secrets` has a refresh token or
    /// `access` is given.
    func store(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot

    /// Changes these settings to those of `spec`, and the tokens if given. All else stays as stored, whatever the
    /// caller's copy says.
    ///
    /// - Throws: `credential_replaced` if the credential was deleted and made anew, as all calls with an ID do.
    func change(
        _ id: CredentialID, _ settings: [CredentialSpec.Setting], of spec: CredentialSpec,
        _ secrets: CredentialSecrets, access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot

    /// The mark of the record on disk, within microseconds and without a helper; nil if unknown.
    func mark(of name: String) -> RecordMark?

    /// The credential; nil for an unknown name.
    func read(_ name: String) async throws(OAuthFailure) -> CredentialSnapshot?

    /// All credentials, by name.
    func list() async throws(OAuthFailure) -> [CredentialSnapshot]

    /// Calls the token endpoint under the lock of the credential, and stores the response. If the store already has a
    /// later generation than `generation`, returns that without a request; nil always sends a request.
    ///
    /// Once begun, the call is carried to its end, even if all callers stop waiting.
    func obtain(
        _ request: TokenRequest, for id: CredentialID, newerThan generation: UInt64?, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> CredentialSnapshot

    /// Requests codes for a device (RFC 8628 section 3.1), for the scope of the credential unless another is given.
    /// Returns the body of the response with status 200, at most 64 KiB.
    func authorizeDevice(
        _ id: CredentialID, scope: [String]?, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> [UInt8]

    /// Revokes the tokens if the server can (RFC 7009: the refresh token first), and forgets them; with `spec` forgets
    /// the credential, too. Tokens of a later generation than `generation` stay: nil means all.
    ///
    /// - Returns: why the server did not revoke the tokens, if asked to; they are forgotten all the same.
    /// - Throws: if the tokens could not be forgotten.
    func erase(
        _ id: CredentialID, spec: Bool, revoke: Bool, upTo generation: UInt64?, recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> OAuthFailure?

    /// RFC 7662, for the access token.
    func introspect(_ id: CredentialID, recorder: (any TokenRecorder)?) async throws(OAuthFailure) -> [UInt8]

    /// The cassette or the stubs that have all responses, so that no time has to pass between requests; nil for servers.
    var played: (any PlayedResponses)? { get }
}

extension CredentialVault {
    package var played: (any PlayedResponses)? { nil }
}

/// Responses of authorization servers that are at hand.
package protocol PlayedResponses: Sendable {
    /// Whether there is a response for a request of the credential.
    func has(_ request: TokenRequest, for name: String) -> Bool
}

/// Records requests to authorization servers.
package protocol TokenRecorder: Sendable {
    /// Takes a request without its secrets.
    func record(_ entry: CassetteEntry)
}
