// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A moment by two clocks; comparisons use the less favourable clock.
package struct ClockPair: Sendable, Hashable {
    /// Seconds since 1970, as the calendar was set at that moment.
    package var wall: Double
    /// Seconds since the machine started, time asleep included.
    package var boot: Double

    package init(wall: Double, boot: Double) {
        self.wall = wall
        self.boot = boot
    }
}

/// An access token and its lifetime.
package struct AccessToken: Sendable, Equatable {
    package var token: Secret
    /// `Bearer` as a rule (RFC 6749 section 7.1).
    package var type: String
    package var obtained: ClockPair
    /// Nil if the server did not send an expiry.
    package var expires: ClockPair?
    /// The granted scope; nil if equal to the requested scope (RFC 6749 section 5.1).
    package var scope: [String]?
    /// The part of the requested scope that was not granted.
    package var missingScope: [String]

    package init(
        _ token: Secret, type: String = "Bearer", obtained: ClockPair, expires: ClockPair? = nil,
        scope: [String]? = nil, missingScope: [String] = []
    ) {
        self.token = token
        // some servers do not take "bearer" in the field
        self.type = HTTPFields.same(type, "Bearer") ? "Bearer" : type
        self.obtained = obtained
        self.expires = expires
        self.scope = scope
        self.missingScope = missingScope
    }

    /// Remaining seconds, by the clock with the lower value; nil if unknown. A clock that was set back is thus ignored.
    package func validity(at now: ClockPair) -> Double? {
        guard let expires else { return nil }
        return min(expires.wall - now.wall, expires.boot - now.boot)
    }
}

/// Identifies a credential: after deletion and a new creation, the same name has another ID.
package struct CredentialID: Sendable, Equatable {
    package var name: String
    /// Nil for any credential of that name.
    package var birth: UInt64?

    package init(_ name: String, birth: UInt64? = nil) {
        self.name = name
        self.birth = birth
    }
}

/// Identifies a write of a record, so that a change shows without reading the record.
package enum RecordMark: Sendable, Equatable {
    /// There is no record: the credential was deleted.
    case absent
    case written(inode: UInt64, nanoseconds: UInt64)
}

/// The part of a credential that the service knows: never a refresh token, never a client secret.
package struct CredentialSnapshot: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        /// There was no login yet.
        case empty
        /// There are tokens; the access token may have expired.
        case ready
        /// A person must log in.
        case needsLogin(OAuthFailure)
        /// New tokens exist, but could not be written.
        case unsaved
    }

    package var spec: CredentialSpec
    /// Of its record; 0 for a credential in the service's memory.
    package var birth: UInt64 = 0
    /// Place and time of the record; nil if the record was not looked at.
    package var mark: RecordMark?
    package var state: State
    /// Increases with each change of the tokens.
    package var generation: UInt64
    /// Grows by one with each login: a refresh leaves it as it is.
    package var login: UInt64 = 0
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

    /// The user behind the tokens, for caches; nil if only the tokens themselves tell.
    package var principal: String? { birth == 0 ? nil : "oauth \(spec.name) \(birth) \(login)" }

    package var id: CredentialID { CredentialID(spec.name, birth: birth) }
}
