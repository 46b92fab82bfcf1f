// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The complete stored state of a credential, in the sealed record.
package struct CredentialRecord: Sendable, Equatable {
    package var spec: CredentialSpec
    package var secrets: CredentialSecrets
    package var access: AccessToken?
    /// A random ID of the credential's creation: a credential deleted and recreated under the same name has another. 0
    /// in records from versions without this ID.
    package var birth: UInt64 = 0
    /// Increases with each change of the tokens.
    package var generation: UInt64
    /// Increases with each login and each token that was given, not with a refresh: the user may be another one.
    package var login: UInt64 = 0
    /// Why a person must log in; nil while no login is needed.
    package var failure: OAuthFailure?
    package var lastRefresh: ClockPair?
    /// The boot of the machine whose clock the times were read from.
    package var boot: String
    /// Whether the server replaces the refresh token with each refresh; nil while unknown.
    package var rotates: Bool?
    /// Seconds for which a redeemed refresh token may be redeemed again: learned from a successful repeat.
    package var grace: Double

    /// The assumed grace period of an unknown server, in seconds.
    package static let usualGrace = 10.0

    package init(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, access: AccessToken?, generation: UInt64, boot: String
    ) {
        self.spec = spec
        self.secrets = secrets
        self.access = access
        self.generation = generation
        self.boot = boot
        grace = Self.usualGrace
    }

    /// Whether the record may continue with another spec and the given secrets. Secrets stored for a token endpoint are
    /// never sent to a different token endpoint: after such a change, only the given secrets may be used.
    package func maySuit(_ other: CredentialSpec, _ given: CredentialSecrets, _ givenAccess: AccessToken?) -> Bool {
        guard spec.identity == other.identity else { return false }
        if spec.endpoints.token == other.endpoints.token { return true }
        let keepsAccess = access != nil && given.refreshToken == nil && givenAccess == nil
        return !keepsAccess && (secrets.refreshToken == nil || given.refreshToken != nil)
            && (secrets.clientSecret == nil || given.clientSecret != nil)
            && (secrets.assertion == nil || given.assertion != nil)
    }

    /// Takes given secrets, and given tokens in place of the known ones.
    package mutating func take(_ given: CredentialSecrets, _ givenAccess: AccessToken?, boot: String) {
        secrets.clientSecret = given.clientSecret ?? secrets.clientSecret
        secrets.assertion = given.assertion ?? secrets.assertion
        let hasTokens = given.refreshToken != nil || givenAccess != nil
        if hasTokens {
            secrets.refreshToken = given.refreshToken ?? secrets.refreshToken
            access = givenAccess
            self.boot = boot
            failure = nil
            rotates = nil
            generation &+= 1
        }
        if hasTokens || given.assertion != nil || given.clientSecret != nil { login &+= 1 }
    }

    /// Forgets the tokens, and keeps all else.
    package mutating func forgetTokens() {
        access = nil
        secrets.refreshToken = nil
        failure = nil
        rotates = nil
        generation &+= 1
        login &+= 1
    }

    /// The part that the service may know. Times of an earlier boot, or of a container whose clock is ahead, are
    /// converted to the current clock by wall-clock time. If the wall clock was set back to before those times, the
    /// elapsed time is unknown, and the access token counts as expired.
    package func snapshot(at now: ClockPair, boot: String, isSaved: Bool = true) -> CredentialSnapshot {
        var snapshot = CredentialSnapshot(spec, generation: generation)
        (snapshot.birth, snapshot.login) = (birth, login)
        snapshot.access = access
        snapshot.lastRefresh = lastRefresh
        if boot != self.boot || now.boot < (access?.obtained.boot ?? 0) {
            let shift = now.boot - now.wall
            snapshot.access?.obtained.boot = (access?.obtained.wall ?? 0) + shift
            let isLost = now.wall < (access?.obtained.wall ?? 0)
            snapshot.access?.expires?.boot = isLost ? now.boot : (access?.expires?.wall ?? 0) + shift
            snapshot.lastRefresh?.boot = (lastRefresh?.wall ?? 0) + shift
        }
        snapshot.hasRefreshToken = secrets.refreshToken != nil && !provesItself
        if let failure, !provesItself {
            snapshot.state = .needsLogin(failure)
        } else if !isSaved {
            snapshot.state = .unsaved
        } else {
            snapshot.state = access != nil || snapshot.hasRefreshToken ? .ready : .empty
        }
        return snapshot
    }

    /// All secrets that requests to the server have.
    package func secrets(beside request: TokenRequest?) -> [Secret] {
        let own = [secrets.clientSecret, secrets.refreshToken, secrets.assertion, access?.token].compactMap { $0 }
        let basic = secrets.clientSecret.map { Secret(OAuthForm.basic(spec.clientID, $0)) }
        return own + (request?.secrets ?? []) + (basic.map { [$0] } ?? [])
    }

    /// Whether the client gets any number of tokens by its own proof: a refresh token is then superfluous (RFC 6749
    /// section 4.4.3), and the end of a refresh token must not end the credential.
    var provesItself: Bool {
        switch (spec.grant, spec.authentication) {
        case (.clientCredentials, _): true
        case (.jwtBearer, .privateKeyJWT): secrets.assertion == nil
        default: false
        }
    }
}

extension CredentialRecord: Packed {
    package func pack(into writer: inout PackedWriter) {
        writer.put(1, spec)
        writer.put(2, secrets)
        writer.put(3, access)
        writer.put(4, generation)
        writer.put(5, failure)
        writer.put(6, lastRefresh)
        writer.put(7, boot)
        writer.put(8, rotates)
        // never the last field: a truncated record is detected by its missing fields
        writer.put(10, birth)
        writer.put(11, login)
        writer.put(9, grace)
    }

    package init(packed scanner: PackedScanner) throws(PackedFault) {
        self.init(
            try scanner.value(1).orFault(), try scanner.value(2).orFault(), access: try scanner.value(3),
            generation: try scanner.number(4).orFault(), boot: try scanner.text(7).orFault())
        failure = try scanner.value(5)
        lastRefresh = try scanner.value(6)
        rotates = try scanner.flag(8)
        grace = try scanner.real(9).orFault()
        birth = try scanner.number(10) ?? 0
        login = try scanner.number(11) ?? 0
    }
}
