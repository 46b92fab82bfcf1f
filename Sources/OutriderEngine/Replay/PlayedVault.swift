// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// The store of credentials while a cassette plays all requests: what is known can be read, and nothing is sent.
package final class PlayedVault: CredentialVault {
    private let vault: any CredentialVault

    package init(_ vault: any CredentialVault) { self.vault = vault }

    private static var offline: OAuthFailure {
        OAuthFailure(
            .config, "replaying",
            "the service plays a cassette, and asks no authorization server: start it without --replay for that")
    }

    package func store(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        try await vault.store(spec, secrets, access: access)
    }

    package func change(
        _ id: CredentialID, _ settings: [CredentialSpec.Setting], of spec: CredentialSpec,
        _ secrets: CredentialSecrets, access: AccessToken?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        try await vault.change(id, settings, of: spec, secrets, access: access)
    }

    package func mark(of name: String) -> RecordMark? { vault.mark(of: name) }

    package func read(_ name: String) async throws(OAuthFailure) -> CredentialSnapshot? { try await vault.read(name) }

    package func list() async throws(OAuthFailure) -> [CredentialSnapshot] { try await vault.list() }

    package func obtain(
        _ request: TokenRequest, for id: CredentialID, newerThan generation: UInt64?
    ) async throws(OAuthFailure) -> CredentialSnapshot { throw Self.offline }

    package func authorizeDevice(_ id: CredentialID, scope: [String]?) async throws(OAuthFailure) -> [UInt8] {
        throw Self.offline
    }

    package func erase(
        _ id: CredentialID, spec: Bool, revoke: Bool, upTo generation: UInt64?
    ) async throws(OAuthFailure) -> OAuthFailure? {
        if revoke { throw Self.offline }
        return try await vault.erase(id, spec: spec, revoke: false, upTo: generation)
    }

    package func introspect(_ id: CredentialID) async throws(OAuthFailure) -> [UInt8] { throw Self.offline }
}
