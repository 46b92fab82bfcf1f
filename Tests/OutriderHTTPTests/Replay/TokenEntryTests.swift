// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@testable import OutriderHTTP

/// Entries of token requests mean the same as what was sent and received, and have no secret.
@Suite struct TokenEntryTests {
    private static let secret = "s3cret/Zq+x77"

    private static func entry(
        _ body: String, status: Int = 200, _ kind: TokenEntry.Kind = .token
    ) throws -> CassetteEntry {
        var spec = CredentialSpec(
            name: "a", clientID: "c", endpoints: OAuthEndpoints(token: try HTTPURL(parsing: "https://a.example/token")),
            grant: .refresh)
        spec.authentication = .basic
        let secrets = CredentialSecrets(clientSecret: Secret(secret + "1"), refreshToken: Secret(secret + "2"))
        let form = try OAuthForm(.refresh, spec, secrets)
        var entry = TokenEntry(form, to: spec.endpoints.token)
        entry.take(
            AttemptScript.Head(status: status, fields: [HTTPFields.Field("X-Echo", secret + "2")]), Array(body.utf8),
            kind)
        return entry.entry
    }

    @Test(arguments: [
        #"{"access_token":"TOKEN","token_type":"Bearer","expires_in":3600,"refresh_token":"TOKEN","scope":"a b"}"#,
        #"{"access_token":"TOKEN","token_type":"DPoP","expires_in":"60","x":{"y":["TOKEN"]},"rt":"TOKEN"}"#,
        #"{"access_token":"TOKEN","refresh_token":"TOKEN""#,
        #"{"access_token":"TOKEN"#,
        #"{"error":"invalid_grant","error_description":"TOKEN"}"#,
        #"{"access_token":"a\u0001TOKEN"}"#,
        #"{"message":"authorization_pending","x":"TOKEN"}"#, #"{"error":"Bad x","message":"invalid refresh token"}"#,
        #"{"message":"TOKEN"}"#, "<html>TOKEN</html>", "access_token=TOKEN", "access_token=TOKEN&expires=60&scope=a+b",
        "access_token=TOKEN&access_token=b", "TOKEN", "", "[\"TOKEN\"]",
    ])
    func `a response keeps its meaning without its secrets`(text: String) throws {
        for status in [200, 400, 503] {
            let body = text.replacing("TOKEN", with: Self.secret)
            let entry = try Self.entry(body, status: status)
            let line = String(decoding: CassetteWriter.line(entry, time: ""), as: UTF8.self)
            #expect(!line.contains("s3cret"), "\(line)")
            for isComplete in [true, false] {
                #expect(
                    Self.verdict(entry.body, status, isComplete) == Self.verdict(Array(body.utf8), status, isComplete))
            }
        }
    }

    /// The verdict, without the tokens themselves.
    private static func verdict(_ body: [UInt8], _ status: Int, _ isComplete: Bool) -> String {
        let sentAt = ClockPair(wall: 0, boot: 0)
        let response = TokenEndpointResponse(
            attempt: 0, status: status, sentAt: sentAt, body: body, isComplete: isComplete)
        switch TokenVerdict.of(response, for: "a") {
        case .tokens(let found):
            let kind = "\(found.type ?? "") \(found.expiresIn ?? 0) \(found.scope ?? []) \(found.refreshToken != nil)"
            return "tokens \(kind) \(found.accessToken != nil) \(found.idToken != nil)"
        case .refused(let failure): return "refused \(failure.kind) \(failure.reason) \(failure.message)"
        case .unclear(let failure): return "unclear \(failure.kind) \(failure.reason) \(failure.message)"
        }
    }

    @Test func `the request of a stand-in has the key of the recorded one`() throws {
        let endpoint = try HTTPURL(parsing: "https://a.example/token")
        var spec = CredentialSpec(name: "a", clientID: "c", endpoints: OAuthEndpoints(token: endpoint), grant: .refresh)
        for (authentication, proof) in [
            (ClientAuthentication.none, nil), (.basic, nil), (.body, nil),
            (.privateKeyJWT(file: "/k", algorithm: "ES256", keyID: nil), ClientProof.masked),
        ] {
            spec.authentication = authentication
            let requests: [TokenRequest] = [
                .refresh, .clientCredentials, .deviceCode(Secret(Self.secret + "3"), scope: []),
                .authorizationCode(
                    code: Secret(Self.secret + "4"), verifier: Secret(Self.secret + "5"),
                    redirect: "http://127.0.0.1:\(Int.random(in: 1024...65535))/cb", nonce: nil, keys: nil, scope: []),
            ]
            let played = try requests.map { request in
                let real = CredentialSecrets(
                    clientSecret: Secret(Self.secret + "1"), refreshToken: Secret("r3fresh-long"))
                let forms = [
                    try OAuthForm(request, spec, real, proof: proof),
                    try OAuthForm(Self.masked(request), spec, real.masked, proof: .masked),
                ]
                let entries = forms.map { TokenEntry($0, to: endpoint).entry.request }
                #expect(!String(decoding: entries[0].body, as: UTF8.self).contains("s3cret"))
                let keys = entries.map { RequestMatcher().key(of: CassetteMask().masked($0)) }
                #expect(keys[0] == keys[1])
                return keys[0]
            }
            #expect(Set(played).count == requests.count)
        }
    }

    private static func masked(_ request: TokenRequest) -> TokenRequest {
        let mask = Secret(SecretFields.mask)
        return switch request {
        case .deviceCode(_, let scope): .deviceCode(mask, scope: scope)
        case .authorizationCode(_, _, _, _, _, let scope):
            .authorizationCode(
                code: mask, verifier: mask, redirect: "http://127.0.0.1:9/cb", nonce: nil, keys: nil, scope: scope)
        default: request
        }
    }

    @Test func `the kind of a token is no secret`() {
        #expect(!SecretFields.containsParameter("token_type") && !SecretFields.containsParameter("Token_Type_Hint"))
        #expect(SecretFields.containsParameter("token_types") && SecretFields.containsParameter("id_token"))
        for name in ["token_endpoint", "id_token_signing_alg_values_supported", "Credential_Endpoint"] {
            #expect(!SecretFields.containsParameter(name))
        }
        for name in ["token_endpoint_key", "endpoint_token"] { #expect(SecretFields.containsParameter(name)) }
        let found = CassetteMask().secrets(
            of: [HTTPFields.Field("Content-Type", "application/json")],
            body: Array(#"{"token_type":"Bearer","token":"abcdefgh"}"#.utf8))
        var values = SecretValues()
        values.add(found)
        #expect(values.replaced("Bearer abcdefgh") == "Bearer ***")
    }
}
