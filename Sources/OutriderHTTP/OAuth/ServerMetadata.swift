// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// The metadata of an authorization server (RFC 8414 section 2, OpenID Connect Discovery section 3), validated: the
/// issuer matches the request, and no endpoint would receive secrets unencrypted.
package struct ServerMetadata: Sendable, Equatable {
    /// As requested, character by character (RFC 8414 section 3.3).
    package let issuer: String
    package let endpoints: OAuthEndpoints
    /// The server's responses name the issuer (RFC 9207 section 3).
    package let namesIssuer: Bool
    /// The complete document.
    package let document: JSONObject

    /// Bytes.
    package static let longest = 256 << 10

    /// Throws `config` with the name of the malformed member.
    package init(_ bytes: [UInt8], issuer: String) throws(OAuthFailure) {
        guard bytes.count <= Self.longest else {
            throw Self.fault(issuer, "is longer than \(Self.longest) bytes")
        }
        guard case .object(let members)? = try? JSONParser.parse(bytes, limits: .small) else {
            throw Self.fault(issuer, "is no JSON object")
        }
        guard let said = members["issuer"]?.string else { throw Self.fault(issuer, "names no issuer") }
        guard said.utf8.elementsEqual(issuer.utf8) else {
            throw OAuthFailure(
                .config, "issuer_mismatch",
                "the metadata came from \(FieldRules.shown(said)), expected \(FieldRules.shown(issuer)): give the "
                    + "issuer as its server writes it, or tokenUrl and the other endpoints without an issuer")
        }
        for name in Self.lists where !members.listsTexts(name) {
            throw Self.fault(issuer, "has \(name) that is no list of strings")
        }
        namesIssuer = try Self.flag("authorization_response_iss_parameter_supported", members, issuer)
        guard let token = try Self.endpoint("token_endpoint", members, issuer) else {
            throw Self.fault(issuer, "names no token_endpoint")
        }
        var endpoints = OAuthEndpoints(token: token)
        endpoints.authorization = try Self.endpoint("authorization_endpoint", members, issuer)
        endpoints.device = try Self.endpoint("device_authorization_endpoint", members, issuer)
        endpoints.revocation = try Self.endpoint("revocation_endpoint", members, issuer)
        endpoints.introspection = try Self.endpoint("introspection_endpoint", members, issuer)
        endpoints.keys = try Self.endpoint("jwks_uri", members, issuer)
        self.issuer = issuer
        self.endpoints = endpoints
        document = members
    }

    /// For a client that shows a certificate, with the endpoints of `mtls_endpoint_aliases` (RFC 8705 section 5). For
    /// other clients, neither the aliases nor their faults count.
    package func endpoints(for authentication: ClientAuthentication) throws(OAuthFailure) -> OAuthEndpoints {
        guard case .certificate = authentication, let value = document[Self.aliases], value != .null else {
            return endpoints
        }
        guard let members = value.object else { throw Self.fault(issuer, "has \(Self.aliases) that is no object") }
        func alias(_ name: String) throws(OAuthFailure) -> HTTPURL? {
            try Self.endpoint(name, members, issuer, under: "\(Self.aliases).")
        }
        var endpoints = endpoints
        endpoints.token = try alias("token_endpoint") ?? endpoints.token
        endpoints.device = try alias("device_authorization_endpoint") ?? endpoints.device
        endpoints.revocation = try alias("revocation_endpoint") ?? endpoints.revocation
        endpoints.introspection = try alias("introspection_endpoint") ?? endpoints.introspection
        return endpoints
    }

    private static let aliases = "mtls_endpoint_aliases"

    /// Whether the bytes are a JSON object without issuer: a document of another kind, such as the error of an API.
    package static func isForeign(_ bytes: [UInt8]) -> Bool {
        guard bytes.count <= longest, case .object(let members)? = try? JSONParser.parse(bytes, limits: .small) else {
            return false
        }
        return members["issuer"] == nil
    }

    private static let lists = [
        "code_challenge_methods_supported", "grant_types_supported", "id_token_signing_alg_values_supported",
        "response_modes_supported", "response_types_supported", "scopes_supported",
        "token_endpoint_auth_methods_supported",
    ]

    private static func flag(_ name: String, _ members: JSONObject, _ issuer: String) throws(OAuthFailure) -> Bool {
        switch members[name] {
        case nil, .null: return false
        case .bool(let flag): return flag
        default: throw fault(issuer, "has \(name) that is neither true nor false")
        }
    }

    private static func endpoint(
        _ name: String, _ members: JSONObject, _ issuer: String, under parent: String = ""
    ) throws(OAuthFailure) -> HTTPURL? {
        guard let value = members[name], value != .null else { return nil }
        let name = parent + name
        guard let text = value.string else { throw fault(issuer, "has a \(name) that is no string") }
        do throws(HTTPFailure) {
            let url = try HTTPURL(parsing: text)
            if url.fragment != nil { throw HTTPFailure(.invalidURL, "the url has a fragment") }
            if url.isFitForAuthorization { return url }
        } catch {
            throw fault(issuer, "has an unusable \(name): \(error.message)")
        }
        throw fault(issuer, "has a \(name) that is not https: \(FieldRules.shown(text))")
    }

    private static func fault(_ issuer: String, _ what: String) -> OAuthFailure {
        OAuthFailure(.config, "invalid_metadata", "the metadata of \(FieldRules.shown(issuer)) \(what)")
    }
}

/// The URLs of metadata.
extension ServerMetadata {
    /// The URLs to try, in order: by RFC 8414 section 3.1, by OpenID Connect Discovery section 4, and the variant of
    /// some servers with a path in their issuer.
    ///
    /// Throws `config` unless the issuer is an https URL without query or fragment (RFC 8414 section 2), or an http URL
    /// of this machine.
    package static func places(of issuer: String) throws(OAuthFailure) -> [HTTPURL] {
        do throws(HTTPFailure) {
            let url = try HTTPURL(parsing: issuer)
            guard url.isFitForAuthorization else {
                throw HTTPFailure(.invalidURL, "it must begin with https://")
            }
            if url.fragment != nil || url.target.utf8.contains(UInt8(ascii: "?")) {
                throw HTTPFailure(.invalidURL, "it must have neither query nor fragment")
            }
            let path = url.target.hasSuffix("/") ? String(url.target.dropLast()) : url.target
            var targets = [
                "/.well-known/oauth-authorization-server\(path)", "\(path)/.well-known/openid-configuration",
            ]
            if !path.isEmpty { targets.append("/.well-known/openid-configuration\(path)") }
            return targets.map { target in
                var place = url
                place.target = target
                return place
            }
        } catch {
            throw OAuthFailure(
                .config, "invalid_issuer", "\(FieldRules.shown(issuer)) cannot be an issuer: \(error.message)")
        }
    }
}

extension HTTPURL {
    /// Whether secrets and browsers may be sent to the URL: under TLS, or on this machine.
    package var isFitForAuthorization: Bool {
        guard socketPath == nil else { return false }
        return scheme == .https || (scheme == .http && isLocal)
    }
}

extension JSONLimits {
    /// For documents of authorization servers.
    package static var small: JSONLimits {
        var limits = JSONLimits()
        limits.depth = 16
        limits.tokens = 20_000
        limits.members = 1000
        limits.hasLongIntegers = true
        return limits
    }
}

extension JSONObject {
    /// Whether an optional member is absent or a list of strings.
    func listsTexts(_ name: String) -> Bool {
        guard let value = self[name], value != .null else { return true }
        return value.array?.allSatisfy { $0.string != nil } == true
    }
}

extension JSONValue {
    /// A number of seconds, which some servers write as a string; nil for anything else.
    package var seconds: Double? {
        let number = number ?? string.flatMap { Double($0) }
        return number.flatMap { $0.isFinite ? $0 : nil }
    }
}
