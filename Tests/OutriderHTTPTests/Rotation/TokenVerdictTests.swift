// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import Testing

/// What answers without tokens are called.
@Suite struct TokenVerdictTests {
    private static func verdict(_ status: Int, _ body: String) -> OAuthFailure? {
        let answer = RotationAnswer(
            attempt: 1, status: status, asked: ClockPair(wall: 1e9, boot: 5), body: Array(body.utf8), isComplete: true)
        guard case .refused(let failure) = TokenVerdict.of(answer, for: "work") else { return nil }
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
        for status in [400, 401, 200] {
            #expect(Self.verdict(status, #"{"error": "invalid_grant"}"#)?.kind == .needsLogin)
        }
        for status in [200, 302, 400, 401, 404, 500] {
            #expect(Self.verdict(status, "invalid_grant")?.kind != .needsLogin)
        }
    }
}
