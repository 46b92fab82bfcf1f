// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Testing

@testable import OutriderHTTP

/// What is kept of a response with tokens.
@Suite struct CredentialRenewalTests {
    private static let now = ClockPair(wall: 1e9, boot: 5)

    private static func record(_ scope: [String], before: AccessToken? = nil) -> CredentialRecord {
        var spec = CredentialSpec(
            name: "work", clientID: "cli",
            endpoints: OAuthEndpoints(token: HTTPURL(scheme: .https, host: "as.test", port: 443, target: "/token")),
            grant: .authorizationCode)
        spec.scope = scope
        return CredentialRecord(
            spec, CredentialSecrets(refreshToken: Secret("r")), access: before, generation: 1, boot: "b")
    }

    private static func access(_ scope: [String]?, missing: [String] = []) -> AccessToken {
        AccessToken(Secret("old"), obtained: now, scope: scope, missingScope: missing)
    }

    private static func response(_ scope: [String]?, identity: Bool = false, refresh: Bool = true) -> TokenResponse {
        var response = TokenResponse()
        response.accessToken = Secret("new")
        response.refreshToken = refresh ? Secret("r2") : nil
        response.idToken = identity ? Secret("i") : nil
        response.scope = scope
        return response
    }

    private static func renewed(
        _ record: CredentialRecord, _ response: TokenResponse, _ request: TokenRequest
    ) -> AccessToken? {
        record.renewed(by: response, to: request, sentAt: now, replayAge: nil, boot: "b").access
    }

    private static func login(_ scope: [String]) -> TokenRequest {
        .authorizationCode(
            code: Secret("c"), verifier: Secret("v"), redirect: "http://r", nonce: nil, keys: nil, scope: scope)
    }

    @Test(
        "what a login lacks is what it asked for and the server does not name",
        arguments: [
            (["a", "b"], ["a"], ["b"]), (["a", "b"], [], ["a", "b"]), (["a"], ["b", "a"], []), ([], ["x"], []),
            (["a", "b", "c"], ["a,b"], ["c"]), (["a,b"], ["a,b"], []),
        ] as [([String], [String], [String])])
    func logins(requested: [String], granted: [String], missing: [String]) {
        for request in [Self.login(requested), .deviceCode(Secret("d"), scope: requested)] {
            let access = Self.renewed(Self.record(["other"]), Self.response(granted), request)
            #expect(access?.scope == granted)
            #expect(access?.missingScope == missing)
        }
    }

    @Test func `what asks without a person asks for what its credential says`() {
        for request in [TokenRequest.clientCredentials, .jwtBearer] {
            let access = Self.renewed(Self.record(["a", "b"]), Self.response(["b"]), request)
            #expect(access?.missingScope == ["a"])
            let silent = Self.renewed(Self.record(["a", "b"]), Self.response(nil), request)
            #expect(silent?.scope == nil && silent?.missingScope == [])
        }
    }

    @Test(
        arguments: [
            (.clientCredentials, .basic, false, false),
            (.jwtBearer, .privateKeyJWT(file: "/k", algorithm: "RS256", keyID: nil), false, false),
            (.jwtBearer, .privateKeyJWT(file: "/k", algorithm: "RS256", keyID: nil), true, true),
            (.jwtBearer, .none, true, true),
            (.authorizationCode, .basic, false, true),
        ] as [(CredentialSpec.Grant, ClientAuthentication, Bool, Bool)])
    func `a client that proves itself keeps no refresh token, and needs no login`(
        grant: CredentialSpec.Grant, authentication: ClientAuthentication, isGiven: Bool, keeps: Bool
    ) {
        var record = Self.record([])
        record.spec.grant = grant
        record.spec.authentication = authentication
        record.secrets.assertion = isGiven ? Secret("a") : nil
        let request: TokenRequest = grant == .clientCredentials ? .clientCredentials : .jwtBearer
        let renewed = record.renewed(
            by: Self.response(nil), to: request, sentAt: Self.now, replayAge: nil, boot: "b")
        #expect((renewed.secrets.refreshToken != nil) == keeps)
        let failure = OAuthFailure(.needsLogin, "invalid_grant", "log in again")
        let failing = record.failing(failure).snapshot(at: Self.now, boot: "b")
        #expect((failing.state == .needsLogin(failure)) == keeps && failing.hasRefreshToken == keeps)
    }

    @Test func `a server that says nothing has granted what was asked for`() {
        let access = Self.renewed(Self.record(["a"]), Self.response(nil), Self.login(["a", "b"]))
        #expect(access?.scope == ["a", "b"] && access?.missingScope == [])
        #expect(Self.renewed(Self.record([]), Self.response(nil), Self.login([]))?.scope == nil)
    }

    @Test func `a refresh without a word leaves it as it was`() {
        let before = Self.access(["a"], missing: ["b"])
        let access = Self.renewed(Self.record(["a", "b"], before: before), Self.response(nil), .refresh)
        #expect(access?.scope == ["a"] && access?.missingScope == ["b"])
        let cleared = Self.renewed(Self.record(["a", "b"]), Self.response(nil), .refresh)
        #expect(cleared?.scope == nil && cleared?.missingScope == [])
    }

    @Test func `a refresh is held against what the login had asked for`() {
        let before = Self.access(["a", "c"], missing: ["b"])
        let record = Self.record(["x"], before: before)
        #expect(Self.renewed(record, Self.response(["a"]), .refresh)?.missingScope == ["c", "b"])
        #expect(Self.renewed(record, Self.response(["a", "b", "c"]), .refresh)?.missingScope == [])
        // its scope is unknown: the settings say it
        #expect(Self.renewed(Self.record(["x"]), Self.response(["a"]), .refresh)?.missingScope == ["x"])
    }

    @Test func `what a server gives need not be named`() {
        let requested = Self.login(["openid", "offline_access", "a"])
        let record = Self.record([])
        #expect(Self.renewed(record, Self.response(["a"], identity: true), requested)?.missingScope == [])
        #expect(
            Self.renewed(record, Self.response(["a"], refresh: false), requested)?.missingScope
                == ["openid", "offline_access"])
        // a refresh brings no ID token, as a rule
        let before = Self.access(["openid", "a"])
        let again = Self.record([], before: before)
        #expect(Self.renewed(again, Self.response(["a"]), .refresh)?.missingScope == [])
        let without = Self.record([], before: Self.access(["a"], missing: ["openid"]))
        #expect(Self.renewed(without, Self.response(["a"]), .refresh)?.missingScope == ["openid"])
    }
}
