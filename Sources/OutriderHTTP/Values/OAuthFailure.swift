// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Why a token could not be obtained.
package struct OAuthFailure: Error, Sendable, Equatable {
    /// The remedy that the failure calls for.
    package enum Kind: String, Sendable, CaseIterable {
        /// The same may work later: network failures, 5xx, 429, a lock held by another process.
        case temporary
        /// A person must log in: `invalid_grant` for tokens that no other process has renewed.
        case needsLogin
        /// The server permanently refuses this client: `invalid_client`, `unauthorized_client`, `invalid_scope`.
        case config
        /// The request was sent, and its outcome is unknown.
        case unknownOutcome
        /// The store cannot be read or written; nothing was sent.
        case store
    }

    package var kind: Kind
    /// A single word: the server's `error` (RFC 6749 section 5.2), or a reason of the service, such as `refresh_busy`.
    package var reason: String
    /// A sentence that names the remedy.
    package var message: String
    /// Seconds before the next attempt, if known.
    package var retryAfter: Double?

    package init(_ kind: Kind, _ reason: String, _ message: String, retryAfter: Double? = nil) {
        self.kind = kind
        self.reason = reason
        self.message = message
        self.retryAfter = retryAfter
    }
}
