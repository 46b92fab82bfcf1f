// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The source of tokens for shared credentials, and their environment.
struct TokenSource: Sendable {
    /// Nil for none: then only callbacks of clients provide tokens.
    var vault: (any CredentialVault)?
    var clock: @Sendable () -> ClockPair
    var later: @Sendable (Double, @escaping @Sendable () -> Void) -> ScheduledWork
    var tell: @Sendable (CredentialEvent, CredentialSnapshot) -> Void

    var now: ClockPair { clock() }
    /// For jitter.
    var chance: Double { Double.random(in: 0...1) }

    func mark(_ name: String) -> RecordMark? { vault?.mark(of: name) }

    /// The credential in the store; nil if missing or unreadable.
    func stored(_ name: String) async -> CredentialSnapshot? {
        guard let vault else { return nil }
        let found = try? await vault.read(name)
        return found ?? nil
    }

    /// A snapshot with a new token.
    func obtain(
        _ snapshot: CredentialSnapshot, _ reason: RefreshReason, _ refreshers: Refreshers,
        _ recorder: (any TokenRecorder)?
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        if snapshot.spec.grant == .callback { return try await callbackToken(snapshot, reason, refreshers) }
        guard let vault else { throw Self.noVault }
        guard let request = snapshot.renewal else {
            throw OAuthFailure(
                .needsLogin, "no_refresh_token", "there is no refresh token: \(snapshot.spec.grant.newTokens)")
        }
        return try await vault.obtain(
            request, for: snapshot.id, newerThan: snapshot.generation, recorder: recorder)
    }

    private func callbackToken(
        _ snapshot: CredentialSnapshot, _ reason: RefreshReason, _ refreshers: Refreshers
    ) async throws(OAuthFailure) -> CredentialSnapshot {
        let access = try await refreshers.refresh(snapshot, reason)
        guard !snapshot.spec.isKeptByService else {
            var fresh = snapshot
            fresh.access = access
            fresh.state = .ready
            fresh.generation &+= 1
            fresh.lastRefresh = now
            return fresh
        }
        guard let vault else { throw Self.noVault }
        // the settings may have changed by now
        var fresh = try await vault.change(
            snapshot.id, [], of: snapshot.spec, CredentialSecrets(), access: access)
        fresh.lastRefresh = fresh.lastRefresh ?? now
        return fresh
    }

    /// Erases invalid tokens from the store, but not those of a newer login.
    func forgetTokens(_ snapshot: CredentialSnapshot) async {
        guard !snapshot.spec.isKeptByService, let vault else { return }
        do throws(OAuthFailure) {
            _ = try await vault.erase(snapshot.id, spec: false, revoke: false, upTo: snapshot.generation, recorder: nil)
        } catch {
            // the tokens are stale, and marked so
        }
    }

    static let noVault = OAuthFailure(
        .store, "no_store", "this service keeps no secrets: start it with a place for credentials")
}

extension CredentialSnapshot {
    /// The request that brings another token; nil if only a person or the client can get one.
    var renewal: TokenRequest? {
        switch spec.grant {
        case .callback: nil
        case .clientCredentials: .clientCredentials
        case .jwtBearer where !hasRefreshToken: .jwtBearer
        default: hasRefreshToken ? .refresh : nil
        }
    }
}

extension CredentialSpec {
    /// Whether only the service keeps the tokens: there is no other secret, and the tokens end with the service.
    var isKeptByService: Bool { grant == .callback && persistence == .memory }
}

extension CredentialSpec.Grant {
    /// How a person brings new tokens.
    fileprivate var newTokens: String {
        switch self {
        case .authorizationCode: "log in again (oauth.login)"
        case .device: "log in again (oauth.device)"
        case .refresh, .clientCredentials, .jwtBearer, .callback: "give one with oauth.set"
        }
    }
}
