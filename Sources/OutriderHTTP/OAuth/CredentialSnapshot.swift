// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A moment by both clocks; what is asked of it is answered by the one that is less favourable.
package struct ClockPair: Sendable, Hashable {
    /// Seconds since 1970, as the calendar was set at that moment.
    package var wall: Double
    /// Seconds since the machine started, with those in which it slept.
    package var boot: Double

    package init(wall: Double, boot: Double) {
        self.wall = wall
        self.boot = boot
    }
}

/// An access token, and how long it lasts.
package struct AccessToken: Sendable, Equatable {
    package var token: Secret
    /// `Bearer` as a rule (RFC 6749 section 7.1).
    package var type: String
    package var obtained: ClockPair
    /// Nil if the server did not say.
    package var expires: ClockPair?
    /// What the server granted; nil for what was asked (RFC 6749 section 5.1).
    package var scope: [String]?
    /// What was asked for, and not granted.
    package var missingScope: [String]

    package init(
        _ token: Secret, type: String = "Bearer", obtained: ClockPair, expires: ClockPair? = nil,
        scope: [String]? = nil, missingScope: [String] = []
    ) {
        self.token = token
        self.type = type
        self.obtained = obtained
        self.expires = expires
        self.scope = scope
        self.missingScope = missingScope
    }

    /// Seconds for which it lasts, by the clock that says less; nil if unknown. Clocks set back say nothing.
    package func validity(at now: ClockPair) -> Double? {
        guard let expires else { return nil }
        return min(expires.wall - now.wall, expires.boot - now.boot)
    }
}

/// Which credential is meant: one that was deleted and made anew under its name is another.
package struct CredentialID: Sendable, Equatable {
    package var name: String
    /// Nil for whichever has that name.
    package var birth: UInt64?

    package init(_ name: String, birth: UInt64? = nil) {
        self.name = name
        self.birth = birth
    }
}

/// Tells one writing of a record from another, without reading it.
package enum RecordMark: Sendable, Equatable {
    /// There is none: the credential was deleted.
    case absent
    case written(inode: UInt64, nanoseconds: UInt64)
}

/// What the service knows of a credential: never a refresh token, never a client secret.
package struct CredentialSnapshot: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        /// There was no login yet.
        case empty
        /// There are tokens; the access token may have expired.
        case ready
        /// Only a person can help.
        case needsLogin(OAuthFailure)
        /// There are new tokens, and no place to write them.
        case unsaved
    }

    package var spec: CredentialSpec
    /// Of its record; 0 for one that the service keeps itself.
    package var birth: UInt64 = 0
    /// Place and time of the record; nil if the record was not looked at.
    package var mark: RecordMark?
    package var state: State
    /// Grows by one with each change of the tokens.
    package var generation: UInt64
    package var access: AccessToken?
    package var hasRefreshToken: Bool
    package var lastRefresh: ClockPair?

    package init(_ spec: CredentialSpec, state: State = .empty, generation: UInt64 = 0) {
        self.spec = spec
        self.state = state
        self.generation = generation
        access = nil
        hasRefreshToken = false
        lastRefresh = nil
    }

    package var id: CredentialID { CredentialID(spec.name, birth: birth) }
}
