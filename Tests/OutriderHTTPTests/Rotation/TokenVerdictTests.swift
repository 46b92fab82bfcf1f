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
            #"{"access_token":"a","x":tru3}"#, #"{"acc"#, #"{"refresh_token":"r"}"#, "access_token=a&refresh_token=r",
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

    @Test func `bytes of a coding that was not requested are no page either`() {
        guard case .unclear = Self.whole(200, [0x1F, 0x8B, 8, 0, 0xFF]) else {
            Issue.record("it is one")
            return
        }
        for page in ["", "\n", "<html>", "\u{FEFF}<html>access_token", "Sign in", "{}", #"{"message":"no"}"#, "[]"] {
            #expect(Self.verdict(200, page)?.kind == .temporary, "\(page)")
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
