// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Code of a client that gets the tokens of a credential (`CredentialSpec.Grant.callback`).
package protocol TokenRefresher: Sendable {
    /// The client, which has one refresher for a credential.
    var client: ObjectIdentifier { get }
    /// Whether the client has disconnected.
    var isGone: Bool { get }

    /// Gets a new access token. Throws `OAuthFailure.clientGone` if the client cannot reply any more.
    ///
    /// - Parameter reason: why the token of the snapshot is not sufficient.
    func refresh(
        _ credential: CredentialSnapshot, _ reason: RefreshReason
    ) async throws(OAuthFailure) -> AccessToken
}

/// The reason for a new token.
package enum RefreshReason: String, Sendable, CaseIterable {
    /// No token exists yet.
    case missing
    /// The token expires soon, or has expired.
    case expired
    /// A server refused the token.
    case refused
    /// A caller requested a new token.
    case asked
}

/// Receives the events of credentials.
package protocol CredentialObserver: AnyObject, Sendable {
    func receive(_ event: CredentialEvent, _ credential: CredentialSnapshot)
}

package enum CredentialEvent: Sendable, Equatable {
    case created
    case refreshing(RefreshReason)
    case refreshed
    case failed(OAuthFailure)
    /// A person or a program has changed the tokens.
    case changed
    case deleted
    /// The login did not happen, or failed.
    case loginFailed(OAuthFailure)

    package var name: String {
        switch self {
        case .created: "created"
        case .refreshing: "refreshing"
        case .refreshed: "refreshed"
        case .failed: "failed"
        case .changed: "changed"
        case .deleted: "deleted"
        case .loginFailed: "loginFailed"
        }
    }
}
