// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Why there is no token.
package struct OAuthFailure: Error, Sendable, Equatable {
    /// Whose turn it is.
    package enum Kind: String, Sendable, CaseIterable {
        /// The same may work later: the network, 5xx, 429, somebody else holds the lock.
        case temporary
        /// The server wants a person: `invalid_grant` for tokens that nobody else has renewed.
        case needsLogin
        /// The server will never say yes to this client: `invalid_client`, `unauthorized_client`, `invalid_scope`.
        case config
        /// The request was sent, and nobody knows what came of it.
        case unknownOutcome
        /// The store cannot be read or written; nothing was sent.
        case store
    }

    package var kind: Kind
    /// One word: the server's `error` (RFC 6749 section 5.2), or ours, such as `refresh_busy`.
    package var reason: String
    /// One sentence that names the remedy.
    package var message: String
    /// Seconds after which to try again, where somebody said.
    package var retryAfter: Double?

    package init(_ kind: Kind, _ reason: String, _ message: String, retryAfter: Double? = nil) {
        self.kind = kind
        self.reason = reason
        self.message = message
        self.retryAfter = retryAfter
    }
}
