// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// Tokens of credentials: applied before each attempt, and refreshed after a refusal.
extension ExchangeDriver {
    /// Throws `missingCredential`, `excessiveRefresh`, `refreshFailed`, `timedOut`, and `requestAdaptationFailed` if a
    /// required token must not be sent to the origin.
    func applyToken(
        of name: String, isRequired: Bool, to attempt: inout Attempt, home: HTTPURL
    ) async throws(HTTPFailure) {
        let isPlayed = exchange.stage?.playsOnly(attempt.url.description) == true
        guard let shared = try await isPlayed ? played(name) : exchange.environment.shared(name) else {
            return attempt.fields.set("Authorization", "Bearer \(SecretFields.mask)")
        }
        guard try mayKnow(shared.snapshot.spec, attempt, home, isRequired) else { return }
        exchange.hold()
        defer { exchange.release() }
        let token = try await currentToken(of: shared, attempt)
        // the spec may have changed during the wait for the token
        let spec = shared.snapshot.spec
        guard try mayKnow(spec, attempt, home, isRequired) else { return }
        let credential = try Credential.token(token, origins: spec.origins)
        credential.apply(to: &attempt, home: home)
        let now = shared.snapshot
        given[name] = GivenToken(
            shared: shared, token: token, credential: credential,
            principal: now.access == token ? now.principal : nil, statuses: spec.refreshStatuses)
    }

    // MARK: cassettes

    private func isPlayed(_ attempt: Attempt) -> Bool {
        exchange.stage?.playsOnly(attempt.url.description) == true
    }

    /// The credential as a stage plays it; nil if the stage has no token for it, so that a stand-in will do.
    private func played(_ name: String) async -> SharedCredential? {
        let credentials = exchange.stage?.credentials(beside: exchange.environment.credentials)
        guard let found = try? await credentials?.find(name), renews(found) || found.snapshot.access != nil else {
            return nil
        }
        return found
    }

    /// Whether the stage has the response to a refresh.
    private func renews(_ shared: SharedCredential) -> Bool {
        exchange.stage?.renews(shared.snapshot, beside: exchange.environment.credentials) == true
    }

    // MARK: tokens

    /// The token, refreshed if it has expired. Nothing is sent for a request that may use stored responses only: an expired
    /// token then stands for its user.
    private func currentToken(of shared: SharedCredential, _ attempt: Attempt) async throws(HTTPFailure) -> AccessToken
    {
        // a token that was not renewed in the recorded run is good enough, whatever the time
        if let token = shared.snapshot.access, isPlayed(attempt), !shared.hasToken, !renews(shared) { return token }
        guard exchange.isOffline else {
            return try await shared.token(
                for: .request, within: patience(of: attempt), recorder: exchange.stage?.recorder
            ).0
        }
        if let token = shared.snapshot.access { return token }
        throw HTTPFailure(
            .notCached,
            "\(attempt.url.origin): the credential \(shared.snapshot.spec.name) has no access token, and none is fetched for a"
                + " request with onlyIfCached; send the request without onlyIfCached")
    }

    /// Whether the token may be sent to the attempt's origin; throws if the token is required but not allowed there.
    private func mayKnow(
        _ spec: CredentialSpec, _ attempt: Attempt, _ home: HTTPURL, _ isRequired: Bool
    ) throws(HTTPFailure) -> Bool {
        if Credential.mayKnow(attempt.url, home: home, origins: spec.origins) {
            if attempt.isConfidential { return true }
            guard isRequired else { return false }
            let why =
                attempt.proxy != nil
                ? "through a proxy, which could read it: use https, or no proxy for this machine"
                : "in the open, where connectTo leads to another machine: use https, or no connectTo"
            throw HTTPFailure(
                .requestAdaptationFailed,
                "the credential \(spec.name) must not go to \(attempt.url.origin) \(why)", pointer: "/auth/oauth")
        }
        guard isRequired else { return false }
        let origins = spec.origins.map(\.origin).joined(separator: ", ")
        let command = "outrider call oauth.set credential=\(spec.name) origins:='[\"\(attempt.url.origin)\"]'"
        throw HTTPFailure(
            .requestAdaptationFailed,
            "the credential \(spec.name) must not go to \(attempt.url.origin): its origins are "
                + (origins.isEmpty ? "none (allow this one: \(command))" : origins), pointer: "/auth/oauth")
    }

    /// Removes tokens from an attempt to an origin that must not receive them.
    func withholdTokens(from attempt: inout Attempt) {
        for token in given.values { token.credential.withhold(from: &attempt, home: attempt.url) }
    }

    /// Whether the attempt's token may be the reason of the failure, or of a rejected response.
    func concernsToken(_ name: String, _ failure: HTTPFailure?) -> Bool {
        if isRefusedInCassette { return true }
        guard let given = given[name], let attempt, given.credential.isIn(attempt) else { return false }
        return failure != nil || response.map { given.isRefused(by: $0.status, $0.fields) } == true
    }

    /// The verdict after a refused token.
    func tokenVerdict(_ name: String) async -> RetryVerdict {
        if let attempt, isPlayed(attempt), given[name].map({ renews($0.shared) }) != true {
            return isRefusedInCassette ? .retry(after: 0) : .doNotRetry
        }
        if exchange.isOffline { return .doNotRetry }
        guard let given = given[name], let attempt else { return .doNotRetry }
        let isRefused = response.map { given.isRefused(by: $0.status, $0.fields) }
        exchange.hold()
        defer { exchange.release() }
        do throws(HTTPFailure) {
            return try await given.shared.retry(
                used: given.token, isRefused: isRefused, within: patience(of: attempt),
                recorder: exchange.stage?.recorder)
        } catch {
            return .fail(error)
        }
    }

    /// Without a recorded refresh, a refused request is repeated if the repetition was recorded.
    private var isRefusedInCassette: Bool {
        guard let stage = exchange.stage, response?.status == 401, let attempt, let key = response?.body.origin?.key,
            stage.playsOnly(attempt.url.description)
        else { return false }
        return stage.has(attempt, key)
    }

    /// The failure if the server refused the token, so that the body is not delivered as a stream; nil otherwise.
    func refusedToken() async -> HTTPFailure? {
        guard let attempt, let response else { return nil }
        let isRefused = given.values.contains {
            $0.credential.isIn(attempt) && $0.isRefused(by: response.status, response.fields)
        }
        guard isRefused else { return nil }
        if await !keepRefused() { giveUp() }
        let facts = ResponseFacts(method: attempt.method, url: attempt.url.description, status: response.status)
        return ValidationRule.unacceptable(response.status, facts)
    }

    /// A refresh may take as long as the request; timeouts of the request pause meanwhile.
    private func patience(of attempt: Attempt) -> Double { min(attempt.timeouts.total, 600) }
}

extension GivenToken {
    /// Whether the status is in the credential's list; a Bearer challenge with an error counts only for `invalid_token`
    /// (RFC 6750 section 3.1).
    fileprivate func isRefused(by status: Int, _ fields: HTTPFields) -> Bool {
        guard statuses.contains(status) else { return false }
        let challenges = ChallengeScanner.challenges(in: fields.all(ChallengeSource.origin.challengeField))
        guard let error = challenges.first(where: { $0.isOf("Bearer") })?["error"] else { return true }
        return error == "invalid_token"
    }
}

extension ExchangeEnvironment {
    /// Throws `missingCredential` for an unknown name, and `refreshFailed` if the store cannot be read.
    fileprivate func shared(_ name: String) async throws(HTTPFailure) -> SharedCredential? {
        do throws(OAuthFailure) {
            if let shared = try await credentials.find(name) { return shared }
        } catch {
            throw HTTPFailure(
                .refreshFailed, "the credential \(name) cannot be read: \(error.message)",
                details: [.credential(name), .oauth(error)])
        }
        throw HTTPFailure(
            .missingCredential, "there is no credential named \(name): make it with oauth.create",
            details: [.credential(name)])
    }
}
