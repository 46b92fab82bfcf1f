// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@testable import OutriderHTTP

/// What authorization servers are sent.
@Suite struct OAuthFormTests {
    static func spec(
        _ grant: CredentialSpec.Grant = .authorizationCode, _ authentication: ClientAuthentication = .none
    ) throws -> CredentialSpec {
        var spec = CredentialSpec(
            name: "work", clientID: "cli",
            endpoints: OAuthEndpoints(token: try HTTPURL(parsing: "https://as.example/token")),
            grant: grant)
        spec.authentication = authentication
        spec.scope = ["read", "write"]
        return spec
    }

    private static let secrets = CredentialSecrets(
        clientSecret: Secret("se/cr+et %&="), refreshToken: Secret("rt"), assertion: Secret("a.b.c"))

    private static func body(_ form: OAuthForm) -> String { String(decoding: form.body, as: UTF8.self) }

    @Test(
        "each grant has its form",
        arguments: [
            (TokenRequest.refresh, "grant_type=refresh_token&refresh_token=rt&client_id=cli"),
            (.clientCredentials, "grant_type=client_credentials&scope=read+write&client_id=cli"),
            (
                .authorizationCode(
                    code: Secret("c/1"), verifier: Secret("v"), redirect: "http://127.0.0.1:9/cb", nonce: nil,
                    keys: nil,
                    scope: ["read"]),
                "grant_type=authorization_code&code=c%2F1&redirect_uri=http%3A%2F%2F127.0.0.1%3A9%2Fcb&code_verifier=v"
                    + "&client_id=cli"
            ),
            (
                .deviceCode(Secret("d"), scope: ["read"]),
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=d&client_id=cli"
            ),
            (
                .jwtBearer,
                "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c&scope=read+write"
                    + "&client_id=cli"
            ),
        ])
    func grants(request: TokenRequest, expected: String) throws {
        let form = try OAuthForm(request, Self.spec(), Self.secrets)
        #expect(Self.body(form) == expected)
        #expect(form.headers.first("Content-Type") == "application/x-www-form-urlencoded")
        #expect(form.headers.first("Accept") == "application/json")
        #expect(!form.headers.contains("Authorization"))
    }

    @Test func `each resource is named, as it was written`() throws {
        var spec = try Self.spec(.refresh)
        spec.resources = ["https://api.example", "urn:x:y"]
        let form = try OAuthForm(.refresh, spec, Self.secrets)
        #expect(
            Self.body(form)
                == "grant_type=refresh_token&refresh_token=rt&resource=https%3A%2F%2Fapi.example&resource=urn%3Ax%3Ay"
                + "&client_id=cli")
    }

    @Test(
        "further parameters go with the scope, and with each poll of a device",
        arguments: [
            (TokenRequest.clientCredentials, true), (.jwtBearer, true), (.deviceCode(Secret("d"), scope: []), true),
            (.refresh, false),
            (
                .authorizationCode(
                    code: Secret("c"), verifier: Secret("v"), redirect: "r", nonce: nil, keys: nil, scope: []),
                false
            ),
        ])
    func parameters(request: TokenRequest, isSent: Bool) throws {
        var spec = try Self.spec()
        spec.parameters = [OAuthParameter("audience", "https://a/&"), OAuthParameter("x", "")]
        let sent = "&audience=https%3A%2F%2Fa%2F%26&x="
        #expect(Self.body(try OAuthForm(request, spec, Self.secrets)).contains(sent) == isSent)
        #expect(Self.body(try OAuthForm.deviceAuthorization(spec, Self.secrets)).contains(sent))
        #expect(!Self.body(try OAuthForm.about(Secret("t"), .access, spec, Self.secrets)).contains("audience"))
    }

    @Test func `for Basic, name and secret are form-encoded before they are joined`() throws {
        var spec = try Self.spec(.refresh, .basic)
        spec.clientID = "a:b c"
        let form = try OAuthForm(.refresh, spec, Self.secrets)
        let value = try #require(form.headers.first("Authorization"))
        let pair = try #require(Base64.decode(String(value.dropFirst("Basic ".count))))
        #expect(String(decoding: pair, as: UTF8.self) == "a%3Ab+c:se%2Fcr%2Bet+%25%26%3D")
        #expect(!Self.body(form).contains("client"))
    }

    @Test func `in the body, name and secret are fields`() throws {
        let form = try OAuthForm(.refresh, Self.spec(.refresh, .body), Self.secrets)
        #expect(
            Self.body(form)
                == "grant_type=refresh_token&refresh_token=rt&client_id=cli&client_secret=se%2Fcr%2Bet+%25%26%3D")
    }

    @Test func `an assertion by RS256 is what another library makes of the same claims`() throws {
        let spec = try Self.spec(.refresh, .privateKeyJWT(file: "/k", algorithm: "RS256", keyID: "r"))
        let proof = ClientProof(key: Secret(TokenSamples.rsaKey), now: 1_800_000_000.9, identifier: "one")
        let form = try OAuthForm(.refresh, spec, Self.secrets, proof: proof)
        let fields = Dictionary(uniqueKeysWithValues: form.fields.map { ($0.name, $0.value.exposed) })
        #expect(fields["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        let (parts, expected) = (
            fields["client_assertion"]?.split(separator: ".").map(String.init) ?? [],
            TokenSamples.assertion.split(separator: ".").map(String.init)
        )
        try #require(parts.count == 3)
        #expect(try Self.members(parts[1]) == Self.members(expected[1]))
        #expect(try Self.members(parts[0]) == Self.members(expected[0]))
        // members come in an order of their own, so the signature is held against the key
        let keys = try #require(JSONWebKeys(TokenSamples.keys))
        let signature = try #require(Base64.decodeForURL(parts[2]))
        #expect(keys.verify(signature, of: "\(parts[0]).\(parts[1])", by: .rs256, keyID: "r"))
    }

    private static func members(_ part: String) throws -> [String: JSONValue] {
        let bytes = try #require(Base64.decodeForURL(part))
        let object = try #require(try JSONParser.parse(bytes).object)
        return Dictionary(uniqueKeysWithValues: object.members.map { ($0.name, $0.value) })
    }

    @Test(
        "each algorithm signs what its public key believes, and no other",
        arguments: [(JSONWebAlgorithm.rs256, "r"), (.ps256, "r"), (.es256, "e")])
    func signatures(algorithm: JSONWebAlgorithm, key: String) throws {
        let pem = Secret(algorithm == .es256 ? TokenSamples.curveKey : TokenSamples.rsaKey)
        let signature = try JSONWebSigner(algorithm: algorithm.rawValue, pem: pem).sign("text")
        let keys = try #require(JSONWebKeys(TokenSamples.keys))
        for other in JSONWebAlgorithm.allCases {
            #expect(keys.verify(signature, of: "text", by: other, keyID: nil) == (other == algorithm))
        }
        #expect(keys.verify(signature, of: "text", by: algorithm, keyID: key))
        #expect(!keys.verify(signature, of: "text", by: algorithm, keyID: "unknown"))
        #expect(!keys.verify(signature, of: "texts", by: algorithm, keyID: nil))
        #expect(!keys.verify(Array(signature.dropLast()), of: "text", by: algorithm, keyID: nil))
    }

    @Test(
        "a key that does not fit is refused, and not shown",
        arguments: [
            ("ES256", TokenSamples.rsaKey), ("RS256", TokenSamples.curveKey), ("RS256", "no key"), ("HS256", "k"),
        ])
    func keys(algorithm: String, pem: String) throws {
        let spec = try Self.spec(.refresh, .privateKeyJWT(file: "/k", algorithm: algorithm, keyID: nil))
        let proof = ClientProof(key: Secret(pem), now: 0, identifier: "x")
        let failure = #expect(throws: OAuthFailure.self) {
            try OAuthForm(.refresh, spec, Self.secrets, proof: proof)
        }
        #expect(failure?.kind == .config)
        #expect(failure?.message.contains("MII") == false)
    }

    @Test(
        "a secret that is missing is named",
        arguments: [
            (TokenRequest.refresh, ClientAuthentication.none, "no_refresh_token"),
            (.jwtBearer, .none, "no_assertion"),
            (.clientCredentials, .basic, "no_client_secret"),
            (.clientCredentials, .body, "no_client_secret"),
            (.clientCredentials, .privateKeyJWT(file: "/k", algorithm: "RS256", keyID: nil), "no_private_key"),
        ])
    func missing(request: TokenRequest, authentication: ClientAuthentication, reason: String) throws {
        let spec = try Self.spec(.refresh, authentication)
        let failure = #expect(throws: OAuthFailure.self) { try OAuthForm(request, spec, CredentialSecrets()) }
        #expect(failure?.reason == reason)
        #expect(failure?.kind == (request == .refresh ? .needsLogin : .config))
    }

    @Test func `revoking and asking about a token say what it is, and who asks`() throws {
        let form = try OAuthForm.about(Secret("t"), .refresh, Self.spec(.refresh, .body), Self.secrets)
        #expect(
            Self.body(form)
                == "token=t&token_type_hint=refresh_token&client_id=cli&client_secret=se%2Fcr%2Bet+%25%26%3D")
    }

    @Test func `a device asks for the scope of its credential, or for another`() throws {
        let spec = try Self.spec(.device)
        #expect(Self.body(try .deviceAuthorization(spec, Self.secrets)) == "scope=read+write&client_id=cli")
        #expect(Self.body(try .deviceAuthorization(spec, Self.secrets, scope: [])) == "client_id=cli")
    }

    @Test func `no description shows a secret`() throws {
        let form = try OAuthForm(.refresh, Self.spec(.refresh, .body), Self.secrets)
        #expect(!"\(form.fields)".contains("se/cr"))
        #expect(!String(reflecting: form.fields).contains("\"rt\""))
    }

    @Test func `a challenge is that of RFC 7636`() {
        // appendix B
        let random: [UInt8] = [
            116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191,
            240, 91, 88, 5, 88, 83, 132, 141, 121,
        ]
        let pkce = PKCE(random: random)
        #expect(pkce.verifier.exposed == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(pkce.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
    }
}
