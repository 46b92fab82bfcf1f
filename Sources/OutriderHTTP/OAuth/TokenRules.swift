// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The refresh rules of a credential; derived from its spec.
package struct TokenRules: Sendable, Equatable {
    /// Nil for no limit.
    package var window: RefreshWindow?
    /// A token is refreshed before use from this many seconds before expiry on.
    package var refreshBefore: Double
    /// New requests wait during any refresh, also during a refresh after a refused token.
    package var holds: Bool
    package var onFailure: CredentialSpec.OnFailure
    /// Whether to back off after failures: true for servers, false for the client's own callback.
    package var backsOff: Bool

    package init(_ spec: CredentialSpec) {
        window = spec.window
        refreshBefore = spec.refreshBefore
        holds = spec.holds
        onFailure = spec.onFailure
        backsOff = spec.grant != .callback
    }

    /// Remaining seconds at which a token is due for a refresh, by its lifetime.
    ///
    /// The last fifth of the lifetime, or `refreshBefore` if shorter, times a random spread that keeps clients from
    /// refreshing at the same moment. At least a minute, as far as lifetime and `refreshBefore` allow.
    ///
    /// - Parameter spread: from 0.9 to 1.1.
    func margin(lifetime: Double?, spread: Double) -> Double {
        guard let lifetime, lifetime > 0 else { return 0 }
        let usual = min(refreshBefore, lifetime / 5) * spread
        return max(usual, min(60, refreshBefore, lifetime / 2))
    }

    /// Seconds without refreshes after so many temporary failures in a row: 0 after the first, then 2, 4, 8 … 60.
    ///
    /// - Parameter retryAfter: the server's demand, respected up to 5 minutes.
    func pause(afterFailures count: Int, retryAfter: Double?, spread: Double) -> Double {
        guard backsOff else { return 0 }
        var pause = 0.0
        if count > 1 { pause = min(60, Double(1 << min(count - 1, 6))) * spread }
        if let retryAfter, retryAfter > 0 { pause = max(pause, min(retryAfter, 300)) }
        return pause
    }
}

/// Why a caller gets no token.
package enum TokenFault: Error, Sendable, Equatable {
    /// No token exists, and only a person can obtain a new token.
    case missingCredential
    /// Too many refreshes within the window.
    case excessiveRefresh
    case refreshFailed(OAuthFailure)
}

extension AccessToken {
    /// The lifetime in seconds that the server gave with the token; nil if unknown.
    var lifetime: Double? { validity(at: obtained) }
}
