// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Makes a credential that requests and programs can name; or changes one that is the same.
struct OAuthCreate: Method {
    static let name = "oauth.create"

    struct Params: JSONDecodable {
        var spec: CredentialSpec
        /// Where its server is asked, as far as that was said; the rest is what the issuer publishes.
        private var endpoints: EndpointsParameter
        var secrets = CredentialSecrets()
        var access: AccessToken?
        var hasName: Bool
        /// The client's code that gets its tokens.
        var callback: CallbackSpec?
        /// Whether this connection hears of it.
        var hasEvents: Bool

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let name = try fields.optional("name", as: String.self) { (name: String) in
                name.hasPrefix(HandleKind.credential.rawValue)
                    ? "must not look like a handle" : CredentialName.fault(in: name)
            }
            let grant: CredentialSpec.Grant? = try fields.choice("grant")
            let clientID: String? = try fields.optional("clientId") { (id: String) in
                id.isEmpty || id.utf8.count > 1024 ? "must have 1 to 1024 bytes" : nil
            }
            let issuer = try fields.optional("issuer", as: String.self)
            endpoints = try EndpointsParameter(&fields)
            let resources: [ResourceParameter]? = try fields.optional("resources") { (resources: [ResourceParameter]) in
                resources.count > 16 ? "must not hold more than 16" : nil
            }
            let settings = try CredentialSettings(&fields)
            let authentication: ClientAuthenticationParameter? = try fields.optional("clientAuth")
            secrets.clientSecret = try fields.optional("clientSecret")
            secrets.assertion = try fields.optional("assertion")
            let token: TokenParameter? = try fields.optional("token")
            let persistence: CredentialSpec.Persistence? = try fields.choice("persist")
            let strays = fields.present(["callback", "decide", "timeout"])
            callback = try fields.callback()
            hasEvents = try fields.optional("events") ?? false
            try fields.finish()

            let kind = try JSONFields.need("grant", grant)
            hasName = name != nil
            let client = kind == .callback ? clientID ?? "" : try JSONFields.need("clientId", clientID)
            spec = CredentialSpec(
                name: name ?? "", clientID: client, endpoints: try endpoints.given(for: kind, issuer), grant: kind)
            spec.issuer = issuer
            spec.resources = (resources ?? []).map(\.text)
            spec.persistence = persistence ?? .memory
            spec.authentication = authentication?.authentication ?? (secrets.clientSecret == nil ? .none : .basic)
            secrets.refreshToken = token?.refresh
            access = token?.access
            try settings.apply(to: &spec)
            try check(strays)
        }

        /// Completed by what the issuer publishes, where something is missing that the grant needs.
        func completed(_ scope: ClientScope) async throws(OAuthFailure) -> CredentialSpec {
            guard let issuer = spec.issuer, lacksEndpoints else { return spec }
            let found = try await scope.service.documents.metadata(of: issuer, through: scope.tokenStage)
            return completed(by: try found.metadata.endpoints(for: spec.authentication))
        }

        /// Whether an endpoint is missing that the grant needs.
        var lacksEndpoints: Bool { spec.grant != .callback && endpoints.lack(for: spec.grant) }

        func completed(by found: OAuthEndpoints) -> CredentialSpec {
            var spec = spec
            spec.endpoints = endpoints.completed(by: found)
            return spec
        }

        private func check(_ strays: [StaticString]) throws(JSONComplaint) {
            if spec.grant == .callback {
                _ = try JSONFields.need("callback", callback)
                if let member = secretMember {
                    let name = member == "token" ? "token.refreshToken" : member
                    throw Self.fault(
                        member, "\(name) stays with the client's code, which gets the tokens: leave it out")
                }
            } else if let stray = strays.first?.description {
                throw Self.fault(stray, "\(stray) goes with the grant callback only")
            }
            if spec.persistence == .disk, !hasName { throw Self.fault("name", "a credential on disk needs a name") }
            if secrets.assertion != nil, spec.grant != .jwtBearer {
                throw Self.fault("assertion", "assertion goes with the grant jwtBearer only")
            }
            switch spec.authentication {
            case .basic, .body:
                if secrets.clientSecret == nil { throw Self.fault("clientSecret", "clientAuth needs the clientSecret") }
            case .none, .privateKeyJWT, .certificate:
                guard secrets.clientSecret != nil else { return }
                throw Self.fault("clientAuth", "clientAuth sends no clientSecret: leave one of them out")
            }
        }

        /// The member with a secret; nil for none.
        private var secretMember: String? {
            if secrets.clientSecret != nil { return "clientSecret" }
            if secrets.assertion != nil { return "assertion" }
            return secrets.refreshToken == nil ? nil : "token"
        }

        private static func fault(_ member: String, _ message: String) -> JSONComplaint {
            JSONComplaint(message, at: JSONPointer(member: member))
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> ReplyMembers {
        var spec = try await mappingFailures { () async throws(OAuthFailure) in
            try await params.completed(call.scope)
        }
        let broker = call.scope.credentials(for: spec.endpoints.token)
        var record: OwnCredential?
        if !params.hasName {
            let made = OwnCredential(broker)
            try call.scope.handles.keep(made, as: made.handle)
            spec.name = made.handle.name
            record = made
        }
        let refresher = params.callback.map { CallbackRefresher($0, CallbackRunner(call)) }
        let (events, peer, owner) = (call.scope.service.credentials, call.peer, call.scope.owner)
        if params.hasEvents, params.hasName { events.watch(spec.name, peer, owner) }
        do {
            let made = try await mappingFailures { () async throws(OAuthFailure) in
                try await broker.create(spec, params.secrets, access: params.access, refresher: refresher)
            }
            if let record {
                record.made()
                let handles = call.scope.handles
                call.ifUnwanted { handles.remove(record.handle)?.close() }
            }
            // the result names the handle, and so comes before the first event
            if params.hasEvents, !params.hasName {
                let snapshot = made.snapshot
                call.afterReply { events.watch(created: snapshot, peer, owner) }
            }
        } catch {
            if let record { call.scope.handles.remove(record.handle) }
            throw error
        }
        return ReplyMembers { $0.member("credential", spec.name) }
    }
}

/// Where the authorization server is asked; of an endpoint that is never asked, nothing need be said.
private struct EndpointsParameter {
    private var token: HTTPURL?
    private var authorization: HTTPURL?
    private var device: HTTPURL?
    private var revocation: HTTPURL?
    private var introspection: HTTPURL?
    private var keys: HTTPURL?

    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        token = try fields.optional("tokenUrl", as: SafeURLParameter.self)?.url
        authorization = try fields.optional("authorizationUrl", as: SafeURLParameter.self) { place in
            LoginAttempt.reserved(in: place.url).map { name in
                "must not have the parameter \(name), which every login sets itself"
            }
        }?.url
        device = try fields.optional("deviceUrl", as: SafeURLParameter.self)?.url
        revocation = try fields.optional("revocationUrl", as: SafeURLParameter.self)?.url
        introspection = try fields.optional("introspectionUrl", as: SafeURLParameter.self)?.url
        keys = try fields.optional("keysUrl", as: SafeURLParameter.self)?.url
    }

    /// The given endpoints. An endpoint from the issuer's metadata gets a placeholder, which is never requested.
    func given(for grant: CredentialSpec.Grant, _ issuer: String?) throws(JSONComplaint) -> OAuthEndpoints {
        var token = token
        if token == nil, grant == .callback || issuer != nil {
            token = try? HTTPURL(parsing: "https://oauth.invalid/")
        }
        return made(try JSONFields.need("tokenUrl", token))
    }

    /// Whether something is missing that the grant needs.
    func lack(for grant: CredentialSpec.Grant) -> Bool {
        token == nil || (grant == .authorizationCode && authorization == nil) || (grant == .device && device == nil)
    }

    func completed(by found: OAuthEndpoints) -> OAuthEndpoints {
        var endpoints = made(token ?? found.token)
        endpoints.authorization = authorization ?? found.authorization
        endpoints.device = device ?? found.device
        endpoints.revocation = revocation ?? found.revocation
        endpoints.introspection = introspection ?? found.introspection
        endpoints.keys = keys ?? found.keys
        return endpoints
    }

    private func made(_ token: HTTPURL) -> OAuthEndpoints {
        var endpoints = OAuthEndpoints(token: token)
        endpoints.authorization = authorization
        endpoints.device = device
        endpoints.revocation = revocation
        endpoints.introspection = introspection
        endpoints.keys = keys
        return endpoints
    }
}

/// An absolute URI without a fragment (RFC 8707 section 2).
private struct ResourceParameter: JSONDecodable {
    var text: String

    init(json: JSONValue) throws(JSONComplaint) {
        text = try String(json: json)
        guard Self.isAbsolute(text) else {
            throw JSONComplaint("must be an absolute URI without a fragment, such as https://api.example.com/")
        }
    }

    /// RFC 3986 section 4.3.
    private static func isAbsolute(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0, colon + 1 < bytes.count,
            isLetter(bytes[0]), bytes[..<colon].allSatisfy(isOfScheme)
        else { return false }
        return bytes.allSatisfy { (0x21...0x7E).contains($0) && !foreign.contains($0) }
    }

    /// Visible characters that no URI has, and that of fragments.
    private static let foreign = Array("#\"<>\\^`{|}".utf8)

    private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }

    private static func isOfScheme(_ byte: UInt8) -> Bool {
        isLetter(byte) || (0x30...0x39).contains(byte) || "+-.".utf8.contains(byte)
    }
}

/// `none`, `basic`, `body`, `{privateKeyJwt: {file, alg, kid}}`, or `{certificate: {file, key}}`.
private struct ClientAuthenticationParameter: JSONDecodable {
    var authentication: ClientAuthentication

    init(json: JSONValue) throws(JSONComplaint) {
        switch json.string {
        case "none": authentication = .none
        case "basic": authentication = .basic
        case "body": authentication = .body
        case .some: throw JSONComplaint("must be none, basic, body, {privateKeyJwt} or {certificate}")
        case nil:
            var fields = try JSONFields(json)
            let key: KeyParameter? = try fields.optional("privateKeyJwt")
            let certificate: CertificateParameter? = try fields.optional("certificate")
            try fields.finish()
            guard (key == nil) != (certificate == nil), let found = key?.authentication ?? certificate?.authentication
            else { throw JSONComplaint("must hold one of privateKeyJwt and certificate") }
            authentication = found
        }
    }

    private struct CertificateParameter: JSONDecodable {
        var authentication: ClientAuthentication

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let file = try fields.path("file")
            let key = try fields.path("key")
            try fields.finish()
            let certificate = try JSONFields.need("file", file)
            authentication = .certificate(file: certificate, key: key ?? certificate)
        }
    }

    private struct KeyParameter: JSONDecodable {
        var authentication: ClientAuthentication

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            let file: String? = try fields.optional("file") { (file: String) in
                file.hasPrefix("/") ? nil : "must be an absolute path"
            }
            let algorithm: JSONWebAlgorithm? = try fields.choice("alg")
            let key: String? = try fields.optional("kid")
            try fields.finish()
            authentication = .privateKeyJWT(
                file: try JSONFields.need("file", file), algorithm: try JSONFields.need("alg", algorithm).rawValue,
                keyID: key)
        }
    }
}
