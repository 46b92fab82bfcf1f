// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A POST to an endpoint of an authorization server: header fields and a form (RFC 6749 appendix B).
///
/// Holds secrets; only the sending process creates a form.
package struct OAuthForm: Sendable {
    /// A name and its value, in the order of the form.
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: Secret

        package init(_ name: String, _ value: Secret) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var fields: [Field] = []
    /// Accept, Accept-Encoding (`identity`, RFC 9110 section 12.5.3) and Content-Type; Authorization if the client
    /// authenticates with this field.
    package private(set) var headers: HTTPFields = [
        .init("Accept", "application/json"), .init("Accept-Encoding", "identity"),
        .init("Content-Type", "application/x-www-form-urlencoded"),
    ]

    /// The certificate that the client shows; nil for none.
    package private(set) var identity: IdentitySpec?

    /// The encoded form.
    package var body: [UInt8] {
        var body: [UInt8] = []
        for field in fields {
            if !body.isEmpty { body.append(UInt8(ascii: "&")) }
            PercentEncoding.form.append(field.name, to: &body)
            body.append(UInt8(ascii: "="))
            PercentEncoding.form.append(field.value.exposed, to: &body)
        }
        return body
    }

    private init() {}

    /// Replaces the value of a field, if the form has it.
    mutating func change(_ name: String, _ work: (String) -> String) {
        for index in fields.indices where fields[index].name == name {
            fields[index].value = Secret(work(fields[index].value.exposed))
        }
    }

    private mutating func add(_ name: String, _ value: String) { fields.append(Field(name, Secret(value))) }

    private mutating func add(_ name: String, _ value: Secret) { fields.append(Field(name, value)) }

    private mutating func addResources(_ spec: CredentialSpec) {
        for resource in spec.resources { add("resource", resource) }
    }

    private mutating func addParameters(_ spec: CredentialSpec) {
        for parameter in spec.parameters { add(parameter.name, parameter.value) }
    }

    private mutating func addScope(_ scope: [String], _ spec: CredentialSpec) {
        if !scope.isEmpty { add("scope", scope.joined(separator: " ")) }
        addParameters(spec)
    }
}

/// The forms of the endpoints.
extension OAuthForm {
    /// The form for the token endpoint (RFC 6749 section 4, RFC 8707 section 2.2).
    ///
    /// A refresh sends no scope, which keeps the granted scope (RFC 6749 section 6).
    ///
    /// - Parameter proof: for clients with a private key; nil for others.
    /// - Throws: `config` or `needsLogin`, if a secret is missing or unusable.
    package init(
        _ request: TokenRequest, _ spec: CredentialSpec, _ secrets: CredentialSecrets, proof: ClientProof? = nil
    ) throws(OAuthFailure) {
        switch request {
        case .refresh:
            guard let token = secrets.refreshToken else {
                throw OAuthFailure(
                    .needsLogin, "no_refresh_token",
                    "\(FieldRules.shown(spec.name)) has no refresh token: log in with outrider login")
            }
            add("grant_type", "refresh_token")
            add("refresh_token", token)
        case .clientCredentials:
            add("grant_type", "client_credentials")
            addScope(spec.scope, spec)
        case .authorizationCode(let code, let verifier, let redirect, _, _, _):
            add("grant_type", "authorization_code")
            add("code", code)
            add("redirect_uri", redirect)
            add("code_verifier", verifier)
        case .deviceCode(let code, _):
            add("grant_type", Self.deviceGrant)
            add("device_code", code)
            addParameters(spec)
        case .jwtBearer:
            add("grant_type", Self.assertionGrant)
            add("assertion", try Self.assertion(spec, secrets, proof))
            addScope(spec.scope, spec)
        }
        addResources(spec)
        try authenticate(spec, secrets, proof)
    }

    /// To the device authorization endpoint (RFC 8628 section 3.1).
    package static func deviceAuthorization(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, scope: [String]? = nil, proof: ClientProof? = nil
    ) throws(OAuthFailure) -> OAuthForm {
        var form = OAuthForm()
        form.addScope(scope ?? spec.scope, spec)
        form.addResources(spec)
        try form.authenticate(spec, secrets, proof)
        return form
    }

    /// The kind of a token, for revocation (RFC 7009 section 2.1).
    package enum Kind: String, Sendable {
        case access = "access_token"
        case refresh = "refresh_token"
    }

    /// The form for the revocation endpoint (RFC 7009 section 2.1), and for the introspection endpoint, whose form is
    /// the same (RFC 7662 section 2.1).
    package static func about(
        _ token: Secret, _ kind: Kind, _ spec: CredentialSpec, _ secrets: CredentialSecrets,
        proof: ClientProof? = nil
    ) throws(OAuthFailure) -> OAuthForm {
        var form = OAuthForm()
        form.add("token", token)
        form.add("token_type_hint", kind.rawValue)
        try form.authenticate(spec, secrets, proof)
        return form
    }

    /// The given assertion; else a new assertion of the client's own, for this request (RFC 7523 section 3).
    private static func assertion(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, _ proof: ClientProof?
    ) throws(OAuthFailure) -> Secret {
        if let assertion = secrets.assertion { return assertion }
        guard var proof, case .privateKeyJWT(_, let algorithm, let keyID) = spec.authentication else {
            throw OAuthFailure(
                .config, "no_assertion",
                "\(FieldRules.shown(spec.name)) has no assertion: give it one with oauth.create, or a private key to make it"
            )
        }
        // a server accepts each assertion once, and client authentication uses another
        proof.identifier += "-grant"
        return try proof.assertion(
            client: spec.clientID, audience: spec.endpoints.token.description, algorithm: algorithm, keyID: keyID)
    }

    private static let deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"
    private static let assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
}

/// Client authentication.
extension OAuthForm {
    private mutating func authenticate(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets, _ proof: ClientProof?
    ) throws(OAuthFailure) {
        switch spec.authentication {
        case .none: add("client_id", spec.clientID)
        case .certificate(let file, let key):
            add("client_id", spec.clientID)
            identity = IdentitySpec(.pem(certificate: file, key: key), pointer: nil)
        case .basic: headers.add("Authorization", Self.basic(spec.clientID, try Self.secret(spec, secrets)))
        case .body:
            add("client_id", spec.clientID)
            add("client_secret", try Self.secret(spec, secrets))
        case .privateKeyJWT(_, let algorithm, let keyID):
            guard let proof else {
                throw OAuthFailure(
                    .config, "no_private_key", "the private key of \(FieldRules.shown(spec.name)) was not read")
            }
            // RFC 7523 section 2.2; the client names itself for servers that look before they verify
            add("client_id", spec.clientID)
            add("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            add(
                "client_assertion",
                try proof.assertion(
                    client: spec.clientID, audience: spec.endpoints.token.description, algorithm: algorithm,
                    keyID: keyID))
        }
    }

    private static func secret(
        _ spec: CredentialSpec, _ secrets: CredentialSecrets
    ) throws(OAuthFailure) -> Secret {
        if let secret = secrets.clientSecret { return secret }
        throw OAuthFailure(
            .config, "no_client_secret",
            "\(FieldRules.shown(spec.name)) has no client secret: give it one, or say clientAuth \"none\"")
    }

    /// Both parts are form-encoded before they are joined (RFC 6749 section 2.3.1), which many clients forget.
    static func basic(_ client: String, _ secret: Secret) -> String {
        UserCredential(PercentEncoding.form.escape(client), PercentEncoding.form.escape(secret.exposed)).basicValue
    }
}
