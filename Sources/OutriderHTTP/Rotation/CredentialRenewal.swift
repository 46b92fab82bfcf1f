// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto

extension CredentialRecord {
    /// The record with the received tokens.
    ///
    /// - Parameters:
    ///   - sentAt: when the request was sent.
    ///   - replayAge: seconds between a lost refresh and the repeat that succeeded; nil if the first attempt succeeded.
    func renewed(
        by response: TokenResponse, to request: TokenRequest, sentAt: ClockPair, replayAge: Double?, boot: String
    ) -> CredentialRecord {
        var next = self
        next.generation &+= 1
        next.access = response.access(sentAt: sentAt)
        next.failure = nil
        next.lastRefresh = sentAt
        next.boot = boot
        if request == .refresh {
            let isOther = response.refreshToken != nil && response.refreshToken != secrets.refreshToken
            next.rotates = isOther
            next.secrets.refreshToken = response.refreshToken ?? secrets.refreshToken
            if isOther, let replayAge { next.grace = max(grace, replayAge) }
        } else {
            // another login: its tokens replace all earlier tokens
            next.secrets.refreshToken = provesItself ? nil : response.refreshToken
            if request.isLogin { next.login &+= 1 }
        }
        next.judgeScope(of: response, to: request, before: access)
        return next
    }

    /// Sets the granted scope. A server may omit the scope if all requested scopes are granted (RFC 6749 section 5.1);
    /// for a refresh, the earlier grant then still holds (section 6).
    private mutating func judgeScope(of response: TokenResponse, to request: TokenRequest, before: AccessToken?) {
        let isRefresh = request == .refresh
        // GitHub separates the granted words by commas
        let parts = response.scope?.flatMap { $0.split(separator: ",").map(String.init) } ?? []
        guard let granted = response.scope.map({ Set($0).union(parts) }) else {
            if isRefresh {
                access?.scope = before?.scope
                access?.missingScope = before?.missingScope ?? []
            } else if let requested = request.scope, !requested.isEmpty {
                access?.scope = requested
            }
            return
        }
        var requested = request.scope ?? spec.scope
        if isRefresh, let before, let scope = before.scope { requested = scope + before.missingScope }
        let lacksIdentity = isRefresh ? before?.missingScope.contains("openid") == true : response.idToken == nil
        access?.missingScope = requested.filter { word in
            if granted.contains(word) { return false }
            // many servers do not list these two, and grant them by sending the token
            return switch word {
            case "offline_access": secrets.refreshToken == nil && response.refreshToken == nil
            case "openid": lacksIdentity
            default: true
            }
        }
    }

    /// The same tokens with a failure that requires a login.
    func failing(_ failure: OAuthFailure) -> CredentialRecord {
        var next = self
        next.failure = failure
        return next
    }

    /// The record to use if its successor is damaged. A replaced refresh token is lost with the successor.
    package func succeedingDamaged() -> CredentialRecord {
        var next = self
        next.generation &+= 2
        if secrets.refreshToken != nil {
            next.failure = OAuthFailure(
                .needsLogin, "record_damaged",
                "the record of '\(spec.name)' was damaged, and is put aside; log in again")
        }
        return next
    }

    /// SHA-256 of the refresh token; empty without a token.
    var refreshTokenHash: [UInt8] {
        guard let token = secrets.refreshToken else { return [] }
        var hash = SHA256()
        token.withBytes { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return Array(hash.finalize())
    }
}

extension TokenRequest {
    /// Why the required ID token is invalid; nil if valid or not required.
    func fault(in tokens: TokenResponse, for spec: CredentialSpec, at now: ClockPair) -> OAuthFailure? {
        guard case .authorizationCode(_, _, _, let nonce?, let keys, _) = self else { return nil }
        guard let idToken = tokens.idToken else {
            return OAuthFailure(
                .needsLogin, "id_token_invalid",
                "the server sent no ID token for '\(spec.name)'; the tokens are not kept")
        }
        let rules = IDTokenRules(issuer: spec.issuer ?? "", clientID: spec.clientID, nonce: nonce, keys: keys ?? "")
        do throws(OAuthFailure) {
            try rules.check(idToken, now: now.wall)
            return nil
        } catch {
            return error
        }
    }
}

extension OAuthFailure {
    /// - Parameters:
    ///   - why: how the connection failed.
    ///   - isLogin: no request repeats a login.
    package static func outcomeUnknown(_ name: String, why: String? = nil, isLogin: Bool = false) -> OAuthFailure {
        outcomeUnknown(name, "and its response was lost\(why.map { " (\($0))" } ?? "")", isLogin)
    }

    static func unreadableResponse(_ name: String, isLogin: Bool) -> OAuthFailure {
        outcomeUnknown(name, "and its response cannot be read", isLogin)
    }

    private static func outcomeUnknown(_ name: String, _ what: String, _ isLogin: Bool) -> OAuthFailure {
        let remedy = isLogin ? "log in again" : "the next request clears it up"
        return OAuthFailure(
            .unknownOutcome, "outcome_unknown", "the token endpoint of '\(name)' was asked, \(what); \(remedy)")
    }

    /// The failure for an unusable member of the response.
    static func unusableToken(_ name: String, _ member: String) -> OAuthFailure {
        OAuthFailure(
            .unknownOutcome, unusableTokenReason,
            "the \(member) that the token endpoint of '\(name)' gave has characters that none may have (RFC 6749 appendix "
                + "A); it is not kept")
    }

    /// The reason for unusable tokens: a login is not repeated for this failure.
    static let unusableTokenReason = "unusable_token"

    static func refreshLost(_ name: String) -> OAuthFailure {
        OAuthFailure(
            .needsLogin, "refresh_outcome_unknown",
            "a response with new tokens of '\(name)' was lost, and the server does not repeat it; log in again")
    }

    static func noRefreshToken(_ name: String) -> OAuthFailure {
        OAuthFailure(
            .needsLogin, "no_refresh_token", "'\(name)' has no refresh token; log in, or give one when it is created")
    }

    private static let pausedReason = "paused"

    /// Whether no server was contacted: after failures, all processes leave the server alone for `retryAfter` seconds.
    var isPause: Bool { reason == Self.pausedReason }

    static func paused(_ name: String, _ seconds: Double) -> OAuthFailure {
        OAuthFailure(
            .temporary, pausedReason,
            "the token endpoint of '\(name)' has failed, and is left alone for a while",
            retryAfter: seconds)
    }

    package static func unknownCredential(_ name: String) -> OAuthFailure {
        OAuthFailure(.config, "unknown_credential", "there is no credential '\(name)'; create it first")
    }

    package static func otherIdentity(_ name: String) -> OAuthFailure {
        OAuthFailure(
            .config, "identity_mismatch",
            "there is a credential '\(name)' for another issuer, client, token endpoint or resource; choose another name, or "
                + "delete that one")
    }

    /// The caller refers to an earlier credential of the same name.
    package static func replaced(_ name: String) -> OAuthFailure {
        OAuthFailure(
            .config, replacedReason, "'\(name)' was deleted and created again meanwhile: see oauth.get, then retry")
    }

    package static let replacedReason = "credential_replaced"

    private static let clientGoneReason = "client_gone"

    /// The client whose code gets the tokens cannot reply any more.
    package static let clientGone = OAuthFailure(
        .temporary, clientGoneReason,
        "the client that gets the token is gone: connect it again, or name another callback with oauth.create")

    package var isOfGoneClient: Bool { reason == Self.clientGoneReason }

    static let restless = OAuthFailure(
        .store, "store_damaged", "the files of the credential do not come to rest; is the disk in order?")
}
