// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The endpoints of an authorization server: over the network, or as a cassette has them.
protocol TokenEndpoint: Sendable {
    /// Posts a form once: without redirects or retries.
    ///
    /// - Parameters:
    ///   - commit: called when there is a connection, before the first byte of the request; throws to send nothing.
    ///   - keep: called with each piece of the response before it is parsed.
    func send(
        _ form: OAuthForm, to url: HTTPURL, _ kind: TokenEntry.Kind, attempt number: UInt64,
        commit: @escaping @Sendable () throws(OAuthFailure) -> Void, keep: (ResponseJournal.Piece) -> Void
    ) async -> TokenOutcome
}

/// How a request to an authorization server ended.
enum TokenOutcome {
    case responded(TokenEndpointResponse)
    /// The server ended the TLS handshake, which ends after the first bytes of the request, and read nothing of the request.
    case refused(OAuthFailure)
    /// The request may have arrived; with the response so far.
    case lost(TokenEndpointResponse?, after: Double, why: HTTPFailure)
    case notSent(OAuthFailure)
}

/// The requests to the endpoints beside the token endpoint.
struct EndpointCalls {
    let post: any TokenEndpoint
    let proofs: ProofSource

    /// The body of the response, unparsed.
    func authorizeDevice(_ record: CredentialRecord, _ scope: [String]?) async throws(OAuthFailure) -> [UInt8] {
        let name = record.spec.name
        guard let url = record.spec.endpoints.device else {
            throw OAuthFailure(.config, "no_device_endpoint", "'\(name)' has no device authorization endpoint")
        }
        let form = try OAuthForm.deviceAuthorization(
            record.spec, record.secrets, scope: scope, proof: try proofs.proof(for: record.spec))
        let body = try await request(form, url, record, "device endpoint")
        // the reader of the body has no secrets to compare
        if case .whole(let response) = TokenResponseScanner.scan(body), let word = response.error,
            OAuthText.shows(word, record.secrets(beside: nil))
        {
            throw OAuthFailure(
                .config, "unknown",
                "the device endpoint of '\(name)' refuses the client (unknown): correct its client id or scope")
        }
        return body
    }

    /// The body of the response, unparsed.
    func introspect(_ record: CredentialRecord) async throws(OAuthFailure) -> [UInt8] {
        let name = record.spec.name
        guard let url = record.spec.endpoints.introspection, let access = record.access else {
            throw OAuthFailure(
                .config, record.access == nil ? "no_access_token" : "no_introspection_endpoint",
                "'\(name)' has no \(record.access == nil ? "access token" : "introspection endpoint")")
        }
        let form = try OAuthForm.about(
            access.token, .access, record.spec, record.secrets, proof: try proofs.proof(for: record.spec))
        return try await request(form, url, record, "introspection endpoint")
    }

    /// Revokes the refresh token first: with it the server forgets all tokens derived from it (RFC 7009 section 2.1).
    func revoke(_ record: CredentialRecord) async throws(OAuthFailure) {
        guard let url = record.spec.endpoints.revocation else { return }
        let tokens: [(Secret?, OAuthForm.Kind)] = [
            (record.secrets.refreshToken, .refresh), (record.access?.token, .access),
        ]
        var failure: OAuthFailure?
        var isRefreshRevoked = false
        for (token, kind) in tokens {
            guard let token else { continue }
            do throws(OAuthFailure) {
                let form = try OAuthForm.about(
                    token, kind, record.spec, record.secrets, proof: try proofs.proof(for: record.spec))
                _ = try await request(form, url, record, "revocation endpoint")
                if kind == .refresh { isRefreshRevoked = true }
            } catch {
                // a server that revokes no access tokens has done all it supports (RFC 7009 section 2.2.1)
                if kind == .access, isRefreshRevoked, error.reason == "unsupported_token_type" { continue }
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// The body of a 2xx response, unparsed.
    private func request(
        _ form: OAuthForm, _ url: HTTPURL, _ record: CredentialRecord, _ place: String
    ) async throws(OAuthFailure) -> [UInt8] {
        switch await post.send(form, to: url, .other, attempt: 0, commit: {}, keep: { _ in }) {
        case .responded(let response) where (200..<300).contains(response.status): return response.body
        case .responded(let response):
            let verdict = TokenVerdict.of(
                response, for: record.spec.name, at: place, hiding: record.secrets(beside: nil))
            guard case .refused(let failure) = verdict else { return response.body }
            throw failure
        case .lost(_, _, let why): throw OAuthFailure(.temporary, "connection_lost", why.message)
        case .refused(let failure), .notSent(let failure): throw failure
        }
    }
}
