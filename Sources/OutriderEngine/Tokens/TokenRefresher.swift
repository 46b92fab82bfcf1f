// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP

/// Code of a client that gets the tokens of one credential (`CredentialSpec.Grant.callback`).
package protocol TokenRefresher: Sendable {
    /// Gets a new access token.
    ///
    /// - Parameter reason: why the one of the snapshot is not good enough.
    func refresh(
        _ credential: CredentialSnapshot, _ reason: RefreshReason
    ) async throws(OAuthFailure) -> AccessToken
}

/// Why there is to be a new token.
package enum RefreshReason: String, Sendable, CaseIterable {
    /// There is none yet.
    case missing
    /// It ends soon, or has ended.
    case expired
    /// A server refused it.
    case refused
    /// A caller asked for a new token.
    case asked
}

/// What happens to credentials, for those who watch.
package protocol CredentialObserver: AnyObject, Sendable {
    func heard(_ event: CredentialEvent, _ credential: CredentialSnapshot)
}

package enum CredentialEvent: Sendable, Equatable {
    case created
    case refreshing(RefreshReason)
    case refreshed
    case failed(OAuthFailure)
    /// There are other tokens, from a person or a program.
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
