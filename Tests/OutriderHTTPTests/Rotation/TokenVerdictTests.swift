// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// What responses without tokens are called.
@Suite struct TokenVerdictTests {
    private static func whole(
        _ status: Int, _ body: [UInt8], isComplete: Bool = true, isLogin: Bool = false
    ) -> TokenVerdict {
        let response = TokenEndpointResponse(
            attempt: 1, status: status, sentAt: ClockPair(wall: 1e9, boot: 5), body: body, isComplete: isComplete)
        return TokenVerdict.of(response, for: "work", isLogin: isLogin)
    }

    private static func verdict(_ status: Int, _ body: String, isLogin: Bool = false) -> OAuthFailure? {
        guard case .refused(let failure) = whole(status, Array(body.utf8), isLogin: isLogin) else { return nil }
        return failure
    }

    @Test(arguments: [301, 302, 307, 308, 401, 403, 407, 408, 421, 429, 451, 500, 502, 503, 511])
    func `a gate of a network in between is no judgement of the client`(status: Int) {
        for body in ["", "<html>Sign in</html>", "{}", #"{"message": "no"}"#] {
            #expect(Self.verdict(status, body)?.kind == .temporary, "\(body)")
        }
    }

    @Test(arguments: [400, 404, 405, 410, 415])
    func `an address that takes no tokens must be corrected`(status: Int) {
        #expect(Self.verdict(status, "<html>Not found</html>")?.kind == .config)
    }

    @Test(arguments: [
        ("The SSL certificate error", OAuthFailure.Kind.temporary, "it refuses the client certificate"),
        (
            "No required SSL certificate was sent", OAuthFailure.Kind.config,
            "it wants a client certificate; name one in clientAuth.certificate"
        ),
    ])
    func `a page about a certificate says what nginx wants`(title: String, kind: OAuthFailure.Kind, meaning: String) {
        let failure = Self.verdict(400, "<html>\r\n<head><title>400 \(title)</title></head>")
        #expect(failure?.kind == kind && failure?.reason == "certificate_refused")
        #expect(failure?.message == "the token endpoint of 'work' answered 400: \(meaning)")
    }

    @Test(arguments: [
        "invalid_client", "unauthorized_client", "invalid_scope", "unsupported_grant_type", "invalid_target",
    ])
    func `what the server says of the client is believed, whatever the status`(error: String) {
        for status in [200, 400, 401, 403] {
            let failure = Self.verdict(status, #"{"error": "\#(error)"}"#)
            #expect(failure?.kind == .config && failure?.reason == error)
        }
        // of itself in trouble it says nothing of the client
        #expect(Self.verdict(503, #"{"error": "\#(error)"}"#)?.kind == .temporary)
    }

    @Test func `only the server itself ends a login`() {
        for status in [400, 401, 403, 200] {
            #expect(Self.verdict(status, #"{"error": "invalid_grant"}"#)?.kind == .needsLogin)
        }
        // what stands in between has such words, too
        for status in [302, 307, 407, 408, 429, 451, 500, 502, 503, 504] {
            for error in ["invalid_grant", "login_required", "access_denied", "expired_token", "invalid_client"] {
                #expect(Self.verdict(status, #"{"error": "\#(error)"}"#)?.kind == .temporary, "\(status) \(error)")
            }
        }
        for status in [200, 302, 400, 401, 404, 500] {
            #expect(Self.verdict(status, "invalid_grant")?.kind != .needsLogin)
        }
    }

    @Test(arguments: ["bad_refresh_token", "invalid_refresh_token"])
    func `the words of single servers for an ended login are known`(error: String) {
        #expect(Self.verdict(200, #"{"error": "\#(error)"}"#)?.kind == .needsLogin)
        for declined in ["access_denied", "authorization_declined"] {
            let failure = Self.verdict(400, #"{"error": "\#(declined)"}"#, isLogin: true)
            #expect(failure?.message.contains("the person declined") == true)
        }
    }

    @Test(arguments: ["DPoP", "mac", "PoP", "N_A"])
    func `a token of a type that is not supported is refused`(type: String) {
        for more in ["", #","refresh_token":"r""#] {
            let failure = Self.verdict(200, #"{"access_token":"a","token_type":"\#(type)"\#(more)}"#)
            #expect(failure?.kind == .config && failure?.reason == "unknown_token_type")
            #expect(failure?.message.contains(type) == true)
        }
    }

    @Test func `a kind of token that is not revoked is no fault of the client`() {
        let failure = Self.verdict(400, #"{"error": "unsupported_token_type"}"#)
        #expect(failure?.kind == .config && failure?.message.contains("client id") == false)
    }

    @Test(arguments: [
        "access_denied", "expired_token", "authorization_declined", "code_expired", "bad_verification_code",
    ])
    func `what people say ends their login, and no refresh`(error: String) {
        let body = #"{"error": "\#(error)"}"#
        for status in [200, 400, 401, 403] {
            #expect(Self.verdict(status, body, isLogin: true)?.kind == .needsLogin)
            #expect(Self.verdict(status, body)?.kind != .needsLogin)
        }
        #expect(Self.verdict(403, #"{"error": "access_denied", "message": "blocked"}"#)?.kind == .temporary)
    }

    @Test(
        "what may have given tokens is no page",
        arguments: [
            #"{"access_token":"a","access_token":"b"}"#, #"{"access_token":7}"#, #"{"access_token":"a\nb"}"#,
            #"{"access_token":"a","x":tru3}"#, #"{"acc"#, #"{"refresh_token":"r"}"#,
            "access_token=a&refresh_token=r&access_token=b",
            "{\u{1}",
        ])
    func unclear(body: String) {
        for isComplete in [true, false] {
            guard case .unclear(let failure) = Self.whole(200, Array(body.utf8), isComplete: isComplete) else {
                Issue.record("\(isComplete)")
                continue
            }
            #expect(failure.kind == .unknownOutcome)
        }
        #expect(Self.verdict(400, body)?.kind == .config)
    }

    @Test func `a form is used once it has come whole`() {
        let body = Array("access_token=a&refresh_token=r&expires=60".utf8)
        guard case .tokens(let found) = Self.whole(200, body) else {
            Issue.record("it is refused")
            return
        }
        #expect(found.refreshToken == Secret("r") && found.expiresIn == 60)
        guard case .unclear(let failure) = Self.whole(200, body, isComplete: false) else {
            Issue.record("half of it is used")
            return
        }
        #expect(failure.kind == .unknownOutcome)
        for status in [200, 400, 401, 403] {
            #expect(Self.verdict(status, "error=invalid_grant&error_description=old")?.kind == .needsLogin)
        }
        #expect(Self.verdict(503, "error=invalid_grant")?.kind == .temporary)
    }

    @Test(arguments: [#""#, #""error":"Bad Request","#])
    func `Twitch says its errors as messages`(before: String) {
        func verdict(_ message: String, _ status: Int = 400) -> OAuthFailure? {
            Self.verdict(status, #"{\#(before)"status":400,"message":"\#(message)"}"#, isLogin: true)
        }
        #expect(verdict("authorization_pending")?.reason == "authorization_pending")
        #expect(verdict("invalid device code")?.kind == .needsLogin)
        #expect(verdict("Invalid refresh token")?.kind == .needsLogin)
        #expect(verdict("Invalid refresh token", 503)?.kind == .temporary)
        #expect(verdict("authorization_pending", 200)?.reason != "authorization_pending")
        // of a server that says an error, too, the error counts
        let other = Self.verdict(400, #"{"error":"invalid_client","message":"authorization_pending"}"#)
        #expect(other?.reason == "invalid_client")
    }

    @Test func `a message in place of an error is shown`() {
        func message(_ text: String, _ more: String = "", hiding secrets: [Secret]? = []) -> String {
            let body = #"{"message":"\#(text)"\#(more)}"#
            let response = TokenEndpointResponse(
                attempt: 1, status: 404, sentAt: ClockPair(wall: 1e9, boot: 5), body: Array(body.utf8),
                isComplete: true)
            guard case .refused(let failure) = TokenVerdict.of(response, for: "work", hiding: secrets) else {
                return ""
            }
            return failure.message
        }
        #expect(message("no such app").contains("answered 404 (no such app); is it the right address?"))
        #expect(message("no such app", #","message":"b""#).contains("404"))
        #expect(!message("no such app", hiding: nil).contains("app"))
        #expect(!message("no such s3cret-app", hiding: [Secret("s3cret-app")]).contains("such"))
        #expect(!message("no such app", #","error":"e""#).contains("such"))
    }

    @Test func `bytes of a coding that was not requested are no page either`() {
        guard case .unclear = Self.whole(200, [0x1F, 0x8B, 8, 0, 0xFF]) else {
            Issue.record("it is one")
            return
        }
        for page in ["", "\n", "<html>", "\u{FEFF}<html>access_token", "Sign in", "{}", #"{"message":"no"}"#, "[]"] {
            #expect(Self.verdict(200, page)?.kind == .temporary, "\(page)")
        }
    }

    private static func explained(_ said: String, hiding secrets: [Secret]?, status: Int = 400) -> String {
        let body = #"{"error": "invalid_grant", "error_description": "\#(said)"}"#
        let response = TokenEndpointResponse(
            attempt: 1, status: status, sentAt: ClockPair(wall: 1e9, boot: 5), body: Array(body.utf8), isComplete: true)
        guard case .refused(let failure) = TokenVerdict.of(response, for: "work", hiding: secrets) else { return "" }
        return failure.message
    }

    @Test func `the explanation of the server is shown`() {
        for status in [400, 401, 403, 503] {
            #expect(
                Self.explained("the user  left", hiding: [], status: status).contains("(invalid_grant: the user left)"))
        }
        #expect(Self.explained("", hiding: []).contains("(invalid_grant)"))
        #expect(Self.explained("\\u0007 \\n", hiding: []).contains("(invalid_grant)"))
        #expect(Self.explained("the user left", hiding: nil).contains("(invalid_grant)"))
        let long = Self.explained(String(repeating: "ab ", count: 400), hiding: [])
        #expect(long.contains("ab...)") && long.utf8.count < 300)
        // what may be a secret that only the server knows
        let odd = Self.explained("see \(String(repeating: "x", count: 65)) there", hiding: [])
        #expect(odd.contains("(invalid_grant: see ... there)"))
    }

    @Test(arguments: [
        "unknown token s3cret/token+1=", "unknown token ..cret/toke..", "unknown token s3cret%2Ftoken%2B1%3D",
        "tok-en s",
    ])
    func `an explanation that shows a part of a secret is left out`(said: String) throws {
        let url = try HTTPURL(parsing: "https://a.example/token")
        let spec = CredentialSpec(name: "work", clientID: "c", endpoints: OAuthEndpoints(token: url), grant: .refresh)
        let secrets = CredentialSecrets(clientSecret: Secret("en s"), refreshToken: Secret("s3cret/token+1="))
        let record = CredentialRecord(spec, secrets, access: nil, generation: 1, boot: "b")
        #expect(Self.explained(said, hiding: record.secrets(beside: nil)).contains("(invalid_grant)"))
        #expect(Self.explained("unknown token", hiding: record.secrets(beside: nil)).contains("unknown"))
        let login = TokenRequest.deviceCode(Secret("device-code"), scope: [])
        #expect(Self.explained("device-code", hiding: record.secrets(beside: login)).contains("(invalid_grant)"))
        // of a client that proves itself by Basic
        #expect(Self.explained("Basic Yzplbitz", hiding: record.secrets(beside: nil)).contains("(invalid_grant)"))
    }

    private static func record(_ secret: String) throws -> CredentialRecord {
        let url = try HTTPURL(parsing: "https://a.example/token")
        let spec = CredentialSpec(name: "work", clientID: "c", endpoints: OAuthEndpoints(token: url), grant: .refresh)
        return CredentialRecord(
            spec, CredentialSecrets(clientSecret: Secret(secret)), access: nil, generation: 1, boot: "b")
    }

    @Test(arguments: [
        (
            "sch\u{F6}nes-Pr\u{FC}f-\u{DC}1",
            ["sch\u{F6}nes-Pr\u{FC}f-\u{DC}1", "sch%C3%B6nes", "sch&ouml;nes-Pr&#xFC;f"]
        ),
        ("correct horse", ["correct  horse", "correct\\nhorse", "CORRECT horse", "correct+horse", "correct%20horse"]),
        ("correct horse", ["Y29ycmVjdCBob3JzZQ==", "636f727265637420", "%63%6f%72%72%65%63%74%20%68"]),
        ("a/b+c=d/e+f=", ["a%2fb%2bc%3Dd", "a%2Fb%2Bc%3Dd", "a\\\\/b+c=d\\\\/e"]),
        (
            "12<34&56>78'90\"ab",
            ["12&lt;34&amp;56&gt;78&#039;90", "34&56>78&apos;90&quot;ab", "12\\\\u003c34\\\\u002656"]
        ),
        ("\u{F6}\u{FC}", ["%C3%B6%c3%bc"]),
    ])
    func `a secret is found in each usual form`(secret: String, shown: [String]) throws {
        let record = try Self.record(secret)
        for text in shown {
            let message = Self.explained("bad \(text)", hiding: record.secrets(beside: nil))
            #expect(message.contains("(invalid_grant)"), "\(text)")
        }
        let other = Self.explained("the client is not known", hiding: record.secrets(beside: nil))
        #expect(other.contains("(invalid_grant: the client is not known)"))
    }

    @Test(arguments: [200, 400, 401, 403, 418, 503])
    func `an error word that shows a part of a secret is left out`(status: Int) throws {
        let secrets = try Self.record("my-secret-12345").secrets(beside: nil)
        func refusal(_ word: String) throws -> OAuthFailure {
            let response = TokenEndpointResponse(
                attempt: 1, status: status, sentAt: ClockPair(wall: 1e9, boot: 5),
                body: Array(#"{"error": "\#(word)"}"#.utf8), isComplete: true)
            guard case .refused(let failure) = TokenVerdict.of(response, for: "work", hiding: secrets) else {
                throw OAuthFailure(.config, "tokens", "there are tokens")
            }
            return failure
        }
        for word in ["my-secret-12345", "bad my-secret-12345", "MY-SECRET-12", "my%2Dsecret%2D12345"] {
            let failure = try refusal(word)
            #expect(failure == (try refusal("unknown")) && !failure.message.lowercased().contains("secret-12"))
        }
    }

    @Test(arguments: ["invalid_grant", "slow_down", "invalid_client", "temporarily_unavailable"])
    func `the words of the standards stay, even if a secret is like one`(word: String) throws {
        let body = Array(#"{"error": "\#(word)", "error_description": "\#(word)"}"#.utf8)
        let response = TokenEndpointResponse(
            attempt: 1, status: 400, sentAt: ClockPair(wall: 1e9, boot: 5), body: body, isComplete: true)
        let secrets = try Self.record(word).secrets(beside: nil)
        #expect(TokenVerdict.of(response, for: "work", hiding: secrets) == TokenVerdict.of(response, for: "work"))
    }

    @Test func `an explanation may have any form`() {
        for said in ["7", "null", "{}", #""a", "error_description": "b""#, #""\ud800""#] {
            let failure = Self.verdict(400, #"{"error": "invalid_grant", "error_description": \#(said)}"#)
            #expect(failure?.kind == .needsLogin, "\(said)")
        }
    }

    @Test func `a token that cannot be used says which`() {
        guard case .unclear(let failure) = Self.whole(200, Array(#"{"access_token":"a\nb"}"#.utf8)) else {
            Issue.record("it is used")
            return
        }
        #expect(failure.reason == "unusable_token" && failure.message.contains("access_token"))
    }
}
