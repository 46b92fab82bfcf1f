// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// Logging in by an authorization code: what is requested, and which responses are believed.
@Suite struct LoginAttemptTests {
    private static let random = (0..<UInt8(LoginAttempt.randomBytes)).map { $0 &* 37 &+ 11 }

    private static func attempt(
        issuer: String? = nil, mustNameIssuer: Bool = false, options: LoginAttempt.Options = .init(),
        change: (inout CredentialSpec) -> Void = { _ in }
    ) throws -> LoginAttempt {
        var spec = try OAuthFormTests.spec()
        spec.endpoints.authorization = try HTTPURL(parsing: "https://as.example/authorize?tenant=1")
        spec.issuer = issuer
        change(&spec)
        return try LoginAttempt(
            spec, redirect: "http://127.0.0.1:9/cb", options: options, mustNameIssuer: mustNameIssuer, random: random)
    }

    private static func requested(_ attempt: LoginAttempt) throws -> FormText {
        FormText(try #require(attempt.url.split(separator: "?").last))
    }

    @Test func `the URL asks for a code with a challenge, and keeps what the endpoint says`() throws {
        var options = LoginAttempt.Options()
        options.parameters = [OAuthParameter("prompt", "consent"), OAuthParameter("login_hint", "a b@c")]
        let attempt = try Self.attempt(options: options) { $0.resources = ["https://api.example", "urn:x"] }
        #expect(attempt.url.hasPrefix("https://as.example/authorize?tenant=1&response_type=code&"))
        let requested = try Self.requested(attempt)
        #expect(requested.all("client_id") == ["cli"])
        #expect(requested.all("redirect_uri") == ["http://127.0.0.1:9/cb"])
        #expect(requested.all("scope") == ["read write"])
        #expect(requested.all("state") == [attempt.state.exposed])
        #expect(attempt.state.exposed.utf8.count == 22)
        #expect(requested.all("code_challenge").first?.utf8.count == 43)
        #expect(requested.all("code_challenge_method") == ["S256"])
        #expect(requested.all("resource") == ["https://api.example", "urn:x"])
        #expect(requested.all("prompt") == ["consent"])
        #expect(requested.all("login_hint") == ["a b@c"])
        #expect(requested.all("nonce") == [])
    }

    @Test func `a login has the parameters of its credential, unless it is given others`() throws {
        var options = LoginAttempt.Options()
        options.parameters = [OAuthParameter("prompt", "consent")]
        let attempt = try Self.attempt(options: options) { spec in
            spec.parameters = [OAuthParameter("audience", "a b"), OAuthParameter("prompt", "none")]
        }
        let requested = try Self.requested(attempt)
        #expect(requested.all("audience") == ["a b"] && requested.all("prompt") == ["consent"])
    }

    @Test(
        "a parameter stands once, in place of that of the URL, and the others stay as written",
        arguments: [
            ("?audience=1&tenant=%41+b&audi%65nce=2&p=/", "?tenant=%41+b&p=/&response_type=code&"),
            ("?audience", "?response_type=code&"), ("?", "?response_type=code&"), ("", "?response_type=code&"),
            ("?code=1&grant_type=a&&assertion", "?code=1&grant_type=a&&assertion&response_type=code&"),
        ])
    func twice(query: String, begin: String) throws {
        let attempt = try Self.attempt { spec in
            spec.parameters = [OAuthParameter("audience", "a b")]
            spec.endpoints.authorization = try? HTTPURL(parsing: "https://as.example/authorize\(query)")
        }
        #expect(attempt.url.hasPrefix("https://as.example/authorize\(begin)"))
        #expect(try Self.requested(attempt).all("audience") == ["a b"])
    }

    @Test func `openid brings a nonce`() throws {
        let attempt = try Self.attempt { $0.scope = ["openid"] }
        let nonce = try #require(attempt.nonce)
        #expect(try Self.requested(attempt).all("nonce") == [nonce])
        #expect(nonce != attempt.state.exposed)
    }

    @Test func `what is ours cannot be asked for by others`() throws {
        var options = LoginAttempt.Options()
        options.parameters = [OAuthParameter("redirect_uri", "https://evil.example")]
        let failure = #expect(throws: OAuthFailure.self) { try Self.attempt(options: options) }
        #expect(failure?.reason == "reserved_parameter")
        let twice = #expect(throws: OAuthFailure.self) {
            try Self.attempt { $0.endpoints.authorization = try? HTTPURL(parsing: "https://as.example/?state=mine") }
        }
        #expect(twice?.reason == "reserved_parameter" && twice?.message.contains("state") == true)
        let other = #expect(throws: OAuthFailure.self) { try Self.attempt { $0.endpoints.authorization = nil } }
        #expect(other?.reason == "no_authorization_endpoint")
    }

    @Test("a code is taken from query and fragment, and from what stands there alone", arguments: ["?", "#"])
    func code(mark: String) throws {
        let attempt = try Self.attempt()
        let request = try attempt.take(
            "http://127.0.0.1:9/cb\(mark)code=c%2F1&state=\(attempt.state.exposed)&session_state=x", keys: nil)
        guard case .authorizationCode(let code, _, let redirect, let nonce, _, let scope) = request else {
            Issue.record("\(request)")
            return
        }
        #expect(code.exposed == "c/1")
        #expect(redirect == "http://127.0.0.1:9/cb")
        #expect(nonce == nil)
        #expect(scope == attempt.scope)
    }

    /// S stands for the state that was asked with.
    @Test(
        "a response that does not fit is refused, and says why",
        arguments: [
            ("?code=c", "state_mismatch"),
            ("", "state_mismatch"),
            ("?code=c&state=evil", "state_mismatch"),
            ("?code=c&state=", "state_mismatch"),
            ("?code=c&state=S0", "state_mismatch"),
            ("?error=access_denied", "state_mismatch"),
            ("?error=access_denied&state=S", "access_denied"),
            ("#error=access_denied&state=S", "access_denied"),
            ("?error=a%22b&state=S", "unknown_error"),
            ("?state=S", "malformed_answer"),
            ("?state=S&code=", "malformed_answer"),
            ("?state=S&code=a%0Ab", "malformed_answer"),
            ("?state=S&state=S&code=c", "malformed_answer"),
            ("?state=S&code=c&code=d", "malformed_answer"),
            ("?state=S&code=c#code=c", "malformed_answer"),
            ("?state=S&code=c&iss=https://as.example&iss=https://as.example", "malformed_answer"),
            ("?state=S&code=c&iss=https://evil.example", "issuer_mismatch"),
            ("?state=S&code=c&iss=https://as.example/", "issuer_mismatch"),
            ("?state=S&error=access_denied&iss=https://evil.example", "issuer_mismatch"),
            ("?state=S&code=c", "issuer_mismatch"),
        ])
    func refused(response: String, reason: String) throws {
        let attempt = try Self.attempt(issuer: "https://as.example", mustNameIssuer: response == "?state=S&code=c")
        let written = response.replacing("state=S", with: "state=\(attempt.state.exposed)")
        let failure = #expect(throws: OAuthFailure.self) {
            try attempt.take("http://127.0.0.1:9/cb\(written)", keys: nil)
        }
        #expect(failure?.reason == reason, "\(response)")
        #expect(failure?.kind == .needsLogin)
    }

    @Test func `a server that names itself is believed, and one that need not may be silent`() throws {
        let attempt = try Self.attempt(issuer: "https://as.example", mustNameIssuer: true)
        let state = attempt.state.exposed
        #expect(throws: Never.self) {
            _ = try attempt.take("?code=c&state=\(state)&iss=https%3A%2F%2Fas.example", keys: nil)
        }
        #expect(throws: Never.self) {
            _ = try Self.attempt(issuer: "https://as.example").take("?code=c&state=\(state)", keys: nil)
        }
    }

    @Test func `what a server says of a refusal is shown, but for what is no text`() throws {
        let attempt = try Self.attempt()
        let said = "no%0d%0a%1b%5b31mway" + String(repeating: "y", count: 500)
        let failure = #expect(throws: OAuthFailure.self) {
            try attempt.take("?error=access_denied&error_description=\(said)&state=\(attempt.state.exposed)", keys: nil)
        }
        #expect(failure?.message.contains("access_denied (no[31mwayy") == true)
        #expect((failure?.message.utf8.count ?? .max) < 300)
    }

    @Test func `no noise makes a code of what is none`() throws {
        let attempt = try Self.attempt()
        let samples = ["http://127.0.0.1:9/cb?code=c&state=\(attempt.state.exposed)", "?error=x&state=y#code=z"]
        for response in Mutations(of: samples, count: 3000, seed: 9, spice: "?#&=%+") {
            guard let request = try? attempt.take(response, keys: nil) else { continue }
            #expect(response.contains("state=\(attempt.state.exposed)"), "\(request)")
        }
    }
}
