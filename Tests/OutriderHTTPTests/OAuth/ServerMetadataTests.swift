// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON
import Testing

@testable import OutriderHTTP

/// What authorization servers say of themselves, and what is believed.
@Suite struct ServerMetadataTests {
    private static let issuer = "https://as.example/tenant"

    private static func document(_ change: (inout JSONObject) -> Void = { _ in }) -> [UInt8] {
        var object: JSONObject = [
            "issuer": .string(issuer), "token_endpoint": "https://as.example/token",
            "authorization_endpoint": "https://login.example/authorize?x=1",
            "device_authorization_endpoint": "https://as.example/device",
            "revocation_endpoint": "https://as.example/revoke",
            "introspection_endpoint": "https://as.example/introspect",
            "jwks_uri": "https://as.example/keys", "authorization_response_iss_parameter_supported": .bool(true),
            "code_challenge_methods_supported": .array(["S256"]), "x-future": .object(["a": .integer(1)]),
        ]
        change(&object)
        return JSONWriter.bytes(of: JSONValue.object(object))
    }

    @Test func `a good document gives its endpoints, and all that it says`() throws {
        let metadata = try ServerMetadata(Self.document(), issuer: Self.issuer)
        #expect(metadata.issuer == Self.issuer)
        #expect(metadata.endpoints.token.description == "https://as.example/token")
        #expect(metadata.endpoints.authorization?.description == "https://login.example/authorize?x=1")
        #expect(metadata.endpoints.device?.description == "https://as.example/device")
        #expect(metadata.endpoints.revocation?.description == "https://as.example/revoke")
        #expect(metadata.endpoints.introspection?.description == "https://as.example/introspect")
        #expect(metadata.endpoints.keys?.description == "https://as.example/keys")
        #expect(metadata.namesIssuer)
        #expect(metadata.document["x-future"] == .object(["a": .integer(1)]))
    }

    @Test func `what may be absent may be`() throws {
        let bytes = #"{"issuer":"https://a","token_endpoint":"https://a/t","jwks_uri":null,"scopes_supported":null}"#
        let metadata = try ServerMetadata(Array(bytes.utf8), issuer: "https://a")
        #expect(metadata.endpoints.authorization == nil)
        #expect(metadata.endpoints.keys == nil)
        #expect(!metadata.namesIssuer)
    }

    @Test func `a server of this machine may do without TLS`() throws {
        for host in ["127.0.0.1:8080", "[::1]:8080", "localhost:8080"] {
            let bytes = #"{"issuer":"http://\#(host)","token_endpoint":"http://\#(host)/t"}"#
            #expect(throws: Never.self) { try ServerMetadata(Array(bytes.utf8), issuer: "http://\(host)") }
        }
    }

    struct Hostile: Sendable, CustomTestStringConvertible {
        var name: String
        var value: JSONValue?
        var word: String
        var testDescription: String { "\(name) \(value.map { "\($0)" } ?? "absent")" }

        init(_ name: String, _ value: JSONValue?, _ word: String? = nil) {
            self.name = name
            self.value = value
            self.word = word ?? name
        }
    }

    @Test(
        "a member that is wrong is named, and nothing of the document believed",
        arguments: [
            Hostile("issuer", nil), Hostile("issuer", .null), Hostile("issuer", .integer(1)),
            Hostile("issuer", "https://evil.example", "evil.example"),
            Hostile("issuer", "https://as.example/tenant/", "as.example/tenant/"),
            Hostile("issuer", "https://AS.example/tenant", "AS.example"),
            Hostile("issuer", "https://as.example:443/tenant", "443"),
            Hostile("issuer", .array(["https://as.example/tenant"])),
            Hostile("token_endpoint", nil), Hostile("token_endpoint", .null), Hostile("token_endpoint", ""),
            Hostile("token_endpoint", .bool(true)), Hostile("token_endpoint", .array(["https://as.example/token"])),
            Hostile("token_endpoint", "http://as.example/token"), Hostile("token_endpoint", "/token"),
            Hostile("token_endpoint", "//as.example/token"), Hostile("token_endpoint", "https://as.example/token#x"),
            Hostile("token_endpoint", "https://u:p@as.example/token"),
            Hostile("token_endpoint", "https://as.example:99999/"),
            Hostile("token_endpoint", "https://as.example/\r\nX: y"), Hostile("token_endpoint", "file:///etc/passwd"),
            Hostile("token_endpoint", "http+unix://%2Frun%2Fx.sock/token"),
            Hostile("token_endpoint", "ws://127.0.0.1/"),
            Hostile("token_endpoint", "http://127.0.0.1.evil.example/"), Hostile("token_endpoint", "http://10.0.0.1/"),
            Hostile("token_endpoint", "http://169.254.169.254/latest"), Hostile("token_endpoint", "http://0.0.0.0/"),
            Hostile("authorization_endpoint", "javascript:alert(1)"), Hostile("authorization_endpoint", "--flag"),
            Hostile("authorization_endpoint", "https://as.example/$(id) x"),
            Hostile("authorization_endpoint", "data:,x"),
            Hostile("authorization_endpoint", "http://localhost.evil.example/"),
            Hostile("device_authorization_endpoint", "ftp://as.example/"),
            Hostile("revocation_endpoint", .object([:])), Hostile("introspection_endpoint", .integer(5)),
            Hostile("jwks_uri", "http://as.example/keys"), Hostile("jwks_uri", "https://"),
            Hostile("code_challenge_methods_supported", "S256"),
            Hostile("token_endpoint_auth_methods_supported", .array([.integer(1)])),
            Hostile("scopes_supported", .object(["read": .bool(true)])),
            Hostile("authorization_response_iss_parameter_supported", "true"),
        ])
    func hostile(_ hostile: Hostile) throws {
        let failure = #expect(throws: OAuthFailure.self) {
            try ServerMetadata(Self.document { $0[hostile.name] = hostile.value }, issuer: Self.issuer)
        }
        #expect(failure?.kind == .config)
        #expect(failure?.message.contains(hostile.word) == true, "\(failure?.message ?? "")")
    }

    @Test(
        "the aliases for certificates count for clients with certificates alone",
        arguments: [
            JSONValue.object(["token_endpoint": "https://mtls.example/token", "revocation_endpoint": .null]),
            .object(["token_endpoint": "http://mtls.example/token"]), .object(["introspection_endpoint": .integer(1)]),
            "https://mtls.example/", .null,
        ])
    func aliases(value: JSONValue) throws {
        let metadata = try ServerMetadata(
            Self.document { $0["mtls_endpoint_aliases"] = value }, issuer: Self.issuer)
        #expect(try metadata.endpoints(for: .basic) == metadata.endpoints)
        let authentication = ClientAuthentication.certificate(file: "/a", key: "/a")
        var expected = metadata.endpoints
        if value != .null { expected.token = try HTTPURL(parsing: "https://mtls.example/token") }
        do throws(OAuthFailure) {
            #expect(try metadata.endpoints(for: authentication) == expected)
        } catch {
            #expect(error.reason == "invalid_metadata" && error.message.contains("mtls_endpoint_aliases"))
        }
    }

    @Test(
        "what is no document is refused",
        arguments: [
            "", "null", "[]", "\"x\"", "<!doctype html><p>{}</p>", "{\"issuer\":\"https://as.example/tenant\"",
            #"{"issuer":"https://as.example/tenant","issuer":"https://evil.example","token_endpoint":"https://a/"}"#,
            #"{"issuer":"https://as.example/tenant","token_endpoint":"https://a/","x":"#
                + String(repeating: "[", count: 40) + String(repeating: "]", count: 40) + "}",
            #"{"issuer":"https://as.example/tenant","token_endpoint":"https://a/","x":"\#(String(repeating: "y", count: 262_144))"}"#,
            #"{"issuer":"https://as.example/tenant","token_endpoint":"https://a/","x":[\#(String(repeating: "1,", count: 30_000))1]}"#,
            "\u{FEFF}{}",
        ])
    func nothing(text: String) {
        let failure = #expect(throws: OAuthFailure.self) {
            try ServerMetadata(Array(text.utf8), issuer: Self.issuer)
        }
        #expect(failure?.reason == "invalid_metadata")
    }

    @Test(
        "metadata are looked for where the standards have them",
        arguments: [
            (
                "https://as.example",
                [
                    "https://as.example/.well-known/oauth-authorization-server",
                    "https://as.example/.well-known/openid-configuration",
                ]
            ),
            (
                "https://as.example/a/b/",
                [
                    "https://as.example/.well-known/oauth-authorization-server/a/b",
                    "https://as.example/a/b/.well-known/openid-configuration",
                    "https://as.example/.well-known/openid-configuration/a/b",
                ]
            ),
        ])
    func places(issuer: String, expected: [String]) throws {
        #expect(try ServerMetadata.places(of: issuer).map(\.description) == expected)
    }

    @Test(
        "what cannot be an issuer is refused",
        arguments: [
            "as.example", "http://as.example", "https://as.example?x", "https://as.example/#x", "",
            "https://u@as.example",
            "file:///x", "http+unix://%2Fx/", "--help", "https://as.example/a b",
        ])
    func issuers(text: String) {
        let failure = #expect(throws: OAuthFailure.self) { try ServerMetadata.places(of: text) }
        #expect(failure?.reason == "invalid_issuer")
    }
}
