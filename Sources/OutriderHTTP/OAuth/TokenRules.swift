// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What the tokens of one credential are refreshed by; made of its spec.
package struct TokenRules: Sendable, Equatable {
    /// Nil for as many refreshes as there are reasons.
    package var window: RefreshWindow?
    /// Seconds before expiry from which on a token is refreshed before it is used.
    package var refreshBefore: Double
    /// New requests wait during any refresh, also during one that a refused token led to.
    package var holds: Bool
    package var onFailure: CredentialSpec.OnFailure
    /// Whether a server is asked that must be left in peace when it is in trouble; the client's own code need not be.
    package var backsOff: Bool

    package init(_ spec: CredentialSpec) {
        window = spec.window
        refreshBefore = spec.refreshBefore
        holds = spec.holds
        onFailure = spec.onFailure
        backsOff = spec.grant != .callback
    }

    /// So much time left, in seconds, is too little to use a token, by what its whole life was.
    ///
    /// The last fifth of its life, or `refreshBefore` if that is shorter: a little more or less each time, so that not all
    /// come at once. Never less than a minute, as far as its life and `refreshBefore` allow.
    ///
    /// - Parameter spread: from 0.9 to 1.1.
    func margin(lifetime: Double?, spread: Double) -> Double {
        guard let lifetime, lifetime > 0 else { return 0 }
        let usual = min(refreshBefore, lifetime / 5) * spread
        return max(usual, min(60, refreshBefore, lifetime / 2))
    }

    /// Seconds for which no server is asked after so many temporary failures in a row: nothing after the first, then 2, 4, 8
    /// … 60.
    ///
    /// - Parameter retryAfter: what the server wants, believed up to 5 minutes.
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
    /// There is none, and no way to get one without a person.
    case missingCredential
    /// There were too many refreshes within the window.
    case excessiveRefresh
    case refreshFailed(OAuthFailure)
}

extension AccessToken {
    /// The lifetime in seconds that the server gave with the token; nil if unknown.
    var lifetime: Double? { validity(at: obtained) }
}
