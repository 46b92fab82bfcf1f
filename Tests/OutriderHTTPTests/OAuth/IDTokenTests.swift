// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@testable import OutriderHTTP

/// Which ID tokens are believed.
@Suite struct IDTokenTests {
    private static let now = 1_800_000_010.0

    private static func rules(keys: String = TokenSamples.keys) -> IDTokenRules {
        IDTokenRules(issuer: "https://as.example", clientID: "cli", nonce: "n-1", keys: keys)
    }

    private static let claims: JSONObject = [
        "iss": "https://as.example", "sub": "alice", "aud": "cli", "exp": .integer(1_800_000_300),
        "iat": .integer(1_800_000_000), "nonce": "n-1",
    ]

    private static func token(
        header: JSONObject = ["alg": "ES256", "kid": "e"], _ change: (inout JSONObject) -> Void = { _ in }
    ) throws -> Secret {
        var claims = claims
        change(&claims)
        let text = [header, claims].map { (part: JSONObject) in
            Base64.encodeForURL(JSONWriter.bytes(of: JSONValue.object(part)))
        }.joined(separator: ".")
        let signer = try JSONWebSigner(algorithm: "ES256", pem: Secret(TokenSamples.curveKey))
        return Secret("\(text).\(Base64.encodeForURL(try signer.sign(text)))")
    }

    @Test("tokens that another library signed are believed", arguments: TokenSamples.idTokens)
    func foreign(token: String) throws {
        #expect(try Self.rules().check(Secret(token), now: Self.now) == "alice")
    }

    @Test("each byte of a token counts", arguments: TokenSamples.idTokens.suffix(1))
    func bytes(token: String) {
        for index in token.utf8.indices {
            var bytes = Array(token.utf8)
            let place = token.utf8.distance(from: token.utf8.startIndex, to: index)
            // the last bits of the last character of each part say nothing; a change of the first ones does
            bytes[place] = bytes[place] == UInt8(ascii: "A") ? UInt8(ascii: "z") : UInt8(ascii: "A")
            let changed = Secret(String(decoding: bytes, as: UTF8.self))
            if place == token.utf8.count - 1 { continue }
            #expect(throws: OAuthFailure.self, "byte \(place)") { try Self.rules().check(changed, now: Self.now) }
        }
    }

    struct Bad: Sendable, CustomTestStringConvertible {
        var name: String
        var value: JSONValue?
        var word: String
        var testDescription: String { "\(name) \(value.map { "\($0)" } ?? "absent")" }

        init(_ name: String, _ value: JSONValue?, _ word: String) {
            self.name = name
            self.value = value
            self.word = word
        }
    }

    @Test(
        "a claim that does not fit is refused",
        arguments: [
            Bad("iss", nil, "issuer"), Bad("iss", "https://evil.example", "issuer"),
            Bad("iss", "https://as.example/", "issuer"),
            Bad("aud", nil, "client"), Bad("aud", "other", "client"), Bad("aud", .array(["other"]), "client"),
            Bad("aud", .integer(1), "client"), Bad("aud", .array(["cli", "other"]), "several"),
            Bad("aud", .array([.integer(1)]), "client"), Bad("azp", "other", "another client"),
            Bad("azp", .integer(1), "another client"), Bad("exp", nil, "how long"), Bad("exp", "soon", "how long"),
            Bad("exp", .integer(1_799_999_800), "expired"), Bad("exp", .integer(-1), "expired"),
            Bad("exp", .real(-1e308), "expired"), Bad("iat", nil, "how long"),
            Bad("iat", .integer(1_800_000_500), "future"),
            Bad("iat", .real(1e308), "future"), Bad("nbf", .integer(1_800_000_500), "not good yet"),
            Bad("nbf", "1800000500", "from when"), Bad("nbf", .null, "from when"),
            Bad("nonce", nil, "another login"), Bad("nonce", "n-2", "another login"), Bad("nonce", "", "another login"),
            Bad("sub", nil, "subject"), Bad("sub", "", "subject"), Bad("sub", .integer(7), "subject"),
        ])
    func claim(_ bad: Bad) throws {
        let token = try Self.token { $0[bad.name] = bad.value }
        let failure = #expect(throws: OAuthFailure.self) { try Self.rules().check(token, now: Self.now) }
        #expect(failure?.reason == "id_token_invalid")
        #expect(failure?.message.contains(bad.word) == true, "\(failure?.message ?? "")")
    }

    @Test func `several audiences are believed where one of them asked`() throws {
        let token = try Self.token {
            $0["aud"] = .array(["other", "cli"])
            $0["azp"] = "cli"
        }
        #expect(throws: Never.self) { try Self.rules().check(token, now: Self.now) }
    }

    @Test func `clocks may differ by two minutes`() throws {
        let token = try Self.token()
        #expect(throws: Never.self) { try Self.rules().check(token, now: 1_799_999_881) }
        #expect(throws: Never.self) { try Self.rules().check(token, now: 1_800_000_419) }
        #expect(throws: OAuthFailure.self) { try Self.rules().check(token, now: 1_799_999_879) }
        #expect(throws: OAuthFailure.self) { try Self.rules().check(token, now: 1_800_000_421) }
    }

    @Test(
        "a header that lies is refused",
        arguments: [
            ["alg": "none"], ["alg": "HS256", "kid": "e"], ["alg": "RS256", "kid": "e"], ["kid": "e"],
            ["alg": .integer(1)],
            ["alg": "ES256", "kid": "r"], ["alg": "ES256", "kid": "unknown"], ["alg": "es256"],
            ["alg": "ES256", "kid": "e", "crit": .array(["b64"])],
        ] as [JSONObject])
    func header(_ header: JSONObject) throws {
        let token = try Self.token(header: header)
        #expect(throws: OAuthFailure.self) { try Self.rules().check(token, now: Self.now) }
    }

    @Test(
        "keys that are none verify nothing",
        arguments: [
            "", "[]", "{}", #"{"keys":[]}"#, #"{"keys":[1,null,{}]}"#, #"{"keys":["# + TokenSamples.rsaPublic + "]}",
            #"{"keys":["# + TokenSamples.curvePublic.replacing(#""kty""#, with: #""use":"enc","kty""#) + "]}",
            #"{"keys":["# + TokenSamples.curvePublic.replacing(#""kty""#, with: #""alg":"RS256","kty""#) + "]}",
            #"{"keys":["# + TokenSamples.curvePublic.replacing(#""kty""#, with: #""key_ops":["sign"],"kty""#) + "]}",
            #"{"keys":["# + TokenSamples.curvePublic.replacing("P-256", with: "P-384") + "]}",
            #"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}"#, #"{"keys":[{"kty":"oct","k":"AA"}]}"#,
            #"{"keys":[{"kty":"RSA","n":"AA","e":"AQAB"}]}"#, #"{"keys":[{"kty":"RSA","n":"","e":""}]}"#,
        ])
    func keys(text: String) throws {
        let token = try Self.token()
        #expect(throws: OAuthFailure.self) { try Self.rules(keys: text).check(token, now: Self.now) }
    }

    @Test("what is no token is refused", arguments: ["", ".", "..", "a.b", "a.b.c.d", "!.!.!", "e30.e30.e30"])
    func nothing(text: String) {
        #expect(throws: OAuthFailure.self) { try Self.rules().check(Secret(text), now: Self.now) }
    }
}
