// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport

/// A token that an attempt was given.
struct GivenToken: Sendable {
    let shared: SharedCredential
    let token: AccessToken
    let credential: Credential
    /// Statuses that say that it is no longer good.
    let statuses: [Int]
}

/// Tokens of credentials: applied before each attempt, and refreshed when they are refused.
extension ExchangeDriver {
    /// Throws `missingCredential`, `excessiveRefresh`, `refreshFailed`, `timedOut`, and `requestAdaptationFailed` for an
    /// origin that must not know it, if it is required there.
    func applyToken(
        of name: String, isRequired: Bool, to attempt: inout Attempt, home: HTTPURL
    ) async throws(HTTPFailure) {
        if exchange.stage?.playsOnly(attempt.url.description) == true {
            return attempt.fields.set("Authorization", "Bearer \(SecretFields.mask)")
        }
        let shared = try await exchange.surroundings.shared(name)
        guard try mayKnow(shared.snapshot.spec, attempt, home, isRequired) else { return }
        exchange.hold()
        defer { exchange.release() }
        let (token, _) = try await shared.token(for: .request, within: patience(of: attempt))
        // as they are now: they may have been changed while this waited for the token
        let spec = shared.snapshot.spec
        guard try mayKnow(spec, attempt, home, isRequired) else { return }
        let credential = try Credential.token(token, origins: spec.origins)
        credential.apply(to: &attempt, home: home)
        given[name] = GivenToken(
            shared: shared, token: token, credential: credential, statuses: spec.refreshStatuses)
    }

    /// Whether the attempt goes where that token may be known; where it must have it, that it may not is thrown.
    private func mayKnow(
        _ spec: CredentialSpec, _ attempt: Attempt, _ home: HTTPURL, _ isRequired: Bool
    ) throws(HTTPFailure) -> Bool {
        if Credential.mayKnow(attempt.url, home: home, origins: spec.origins) {
            if attempt.isConfidential { return true }
            guard isRequired else { return false }
            throw HTTPFailure(
                .requestAdaptationFailed,
                "the credential \(spec.name) must not go to \(attempt.url.origin) through a proxy, which could read it: use "
                    + "https, or no proxy for this machine", pointer: "/auth/oauth")
        }
        guard isRequired else { return false }
        let origins = spec.origins.map(\.origin).joined(separator: ", ")
        let command = "outrider call oauth.set credential=\(spec.name) origins:='[\"\(attempt.url.origin)\"]'"
        throw HTTPFailure(
            .requestAdaptationFailed,
            "the credential \(spec.name) must not go to \(attempt.url.origin): its origins are "
                + (origins.isEmpty ? "none (allow this one: \(command))" : origins), pointer: "/auth/oauth")
    }

    /// Takes tokens out of an attempt that goes where they must not be known.
    func withholdTokens(from attempt: inout Attempt) {
        for token in given.values { token.credential.withhold(from: &attempt, home: attempt.url) }
    }

    /// Whether the token that the attempt was given may be the reason of the failure, or of a response that is none.
    func concernsToken(_ name: String, _ failure: HTTPFailure?) -> Bool {
        if isRefusedInCassette { return true }
        guard let given = given[name], let attempt, given.credential.isIn(attempt) else { return false }
        return failure != nil || answer.map { given.isRefused(by: $0.status, $0.fields) } == true
    }

    /// What a refused token leads to.
    func tokenVerdict(_ name: String) async -> RetryVerdict {
        if isRefusedInCassette { return .retry(after: 0) }
        guard let given = given[name], let attempt else { return .doNotRetry }
        let isRefused = answer.map { given.isRefused(by: $0.status, $0.fields) }
        exchange.hold()
        defer { exchange.release() }
        do throws(HTTPFailure) {
            return try await given.shared.retry(
                used: given.token, isRefused: isRefused, within: patience(of: attempt))
        } catch {
            return .fail(error)
        }
    }

    /// While a cassette plays, no token is refreshed: a request that was refused is repeated if that was recorded.
    private var isRefusedInCassette: Bool {
        guard let stage = exchange.stage, answer?.status == 401, let attempt, stage.playsOnly(attempt.url.description)
        else { return false }
        return stage.has(attempt)
    }

    /// The refusal of a token is not what a stream is for: why it is a failure, and nil where it is none.
    func refusedToken() async -> HTTPFailure? {
        guard let attempt, let answer else { return nil }
        let isRefused = given.values.contains {
            $0.credential.isIn(attempt) && $0.isRefused(by: answer.status, answer.fields)
        }
        guard isRefused else { return nil }
        if await !keepRefused() { giveUp() }
        let facts = ResponseFacts(method: attempt.method, url: attempt.url.description, status: answer.status)
        return ValidationRule.unacceptable(answer.status, facts)
    }

    /// A refresh may take as long as the request may, and its time stands still meanwhile.
    private func patience(of attempt: Attempt) -> Double { min(attempt.timeouts.total, 600) }
}

extension GivenToken {
    /// A status of those that the credential names; of a Bearer challenge that says why, only `invalid_token` (RFC 6750
    /// section 3.1).
    fileprivate func isRefused(by status: Int, _ fields: HTTPFields) -> Bool {
        guard statuses.contains(status) else { return false }
        let challenges = ChallengeScanner.challenges(in: fields.all(ChallengeSource.origin.challengeField))
        guard let error = challenges.first(where: { $0.isOf("Bearer") })?["error"] else { return true }
        return error == "invalid_token"
    }
}

extension Surroundings {
    /// Throws `missingCredential` where there is none of that name, and `refreshFailed` where the store cannot say.
    fileprivate func shared(_ name: String) async throws(HTTPFailure) -> SharedCredential {
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
