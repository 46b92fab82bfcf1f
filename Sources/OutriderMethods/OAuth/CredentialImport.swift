// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
package import OutriderJSON

/// A credential as a file describes it, for who puts it into the store without the service: the params of `oauth.create`.
///
/// The words of the RFCs are taken, too, as authorization servers and other programs write them: those of a token response
/// (RFC 6749 section 5.1) beside the others, those of a client (RFC 7591 section 2), and those of metadata (RFC 8414).
package struct CredentialImport: Sendable {
    private var params: OAuthCreate.Params

    /// Throws what is wrong with it, and where.
    package init(_ json: JSONValue) throws(JSONComplaint) {
        guard let object = json.object else { throw JSONComplaint("must be an object") }
        let (translated, refresh) = try Self.translated(object)
        params = try OAuthCreate.Params(json: .object(translated))
        if let refresh { params.secrets.refreshToken = refresh }
        guard params.hasName else {
            throw JSONComplaint("name is required", at: JSONPointer(member: "name"))
        }
        if params.spec.grant == .callback {
            throw JSONComplaint("callback is no grant of a file", at: JSONPointer(member: "grant"))
        }
        guard params.spec.persistence == .disk else {
            throw JSONComplaint(
                "persist must be disk: nothing else can be imported", at: JSONPointer(member: "persist"))
        }
    }

    /// The issuer that has to say the rest; nil if nothing is missing.
    package var wantsIssuer: String? { params.lacksEndpoints ? params.spec.issuer : nil }

    package mutating func complete(by metadata: ServerMetadata) throws(OAuthFailure) {
        params.spec = params.completed(by: try metadata.endpoints(for: params.spec.authentication))
    }

    package var spec: CredentialSpec { params.spec }
    package var secrets: CredentialSecrets { params.secrets }
    package var access: AccessToken? { params.access }

    // MARK: words

    /// Members that are ours under another name.
    private static let names = [
        "tokenEndpoint": "tokenUrl", "authorizationEndpoint": "authorizationUrl",
        "deviceAuthorizationEndpoint": "deviceUrl", "revocationEndpoint": "revocationUrl",
        "introspectionEndpoint": "introspectionUrl", "jwksUri": "keysUrl", "resource": "resources",
        "tokenEndpointAuthMethod": "clientAuth",
    ]
    private static let methods = [
        "client_secret_basic": "basic", "client_secret_post": "body", "none": "none", "basic": "basic", "body": "body",
    ]
    private static let tokens: Set<String> = [
        "accessToken", "refreshToken", "tokenType", "expiresAt", "expiresIn",
    ]

    /// And a refresh token that comes alone: an access token is got with it.
    private static func translated(_ object: JSONObject) throws(JSONComplaint) -> (JSONObject, refresh: Secret?) {
        var (found, token) = (JSONObject(), JSONObject())
        for member in object.members {
            let word = camel(member.name)
            // who somebody is does not last, and is judged when it comes
            if word == "idToken" { continue }
            // some servers send an empty text in place of no token
            if word == "refreshToken", member.value.string == "" { continue }
            let isToken = tokens.contains(word)
            let name = isToken ? word : names[word] ?? word
            guard (isToken ? token : found)[name] == nil else {
                throw JSONComplaint(
                    "\(member.name.excerpt) says the same as another member: give one of them",
                    at: JSONPointer(member: member.name))
            }
            if isToken {
                token[name] = name == "expiresIn" ? number(member.value) : member.value
            } else {
                found[name] = try translated(member, name)
            }
        }
        var refresh: Secret?
        if token.members.map(\.name) == ["refreshToken"] {
            let secret = try Secret(json: token["refreshToken"] ?? .null)
            if let fault = TokenParameter.fault(in: secret) {
                throw JSONComplaint("refreshToken \(fault)", at: JSONPointer(member: "refreshToken"))
            }
            refresh = secret
        } else if !token.isEmpty {
            guard found["token"] == nil else {
                throw JSONComplaint(
                    "token and tokens beside it exclude each other: move them into token, or leave token out",
                    at: JSONPointer(member: "token"))
            }
            found["token"] = .object(token)
        }
        if found["persist"] == nil { found["persist"] = .string("disk") }
        if found["grant"] == nil, found["token"] != nil || refresh != nil { found["grant"] = .string("refresh") }
        return (found, refresh)
    }

    private static func translated(_ member: JSONObject.Member, _ name: String) throws(JSONComplaint) -> JSONValue {
        guard let text = member.value.string else { return member.value }
        if name == "resources" { return .array([member.value]) }
        guard name == "clientAuth" else { return member.value }
        guard let method = methods[text] else {
            throw JSONComplaint(
                "\(member.name) must be client_secret_basic, client_secret_post or none; or clientAuth with a key",
                at: JSONPointer(member: member.name))
        }
        return .string(method)
    }

    /// Some servers write the number as text.
    private static func number(_ value: JSONValue) -> JSONValue {
        guard let text = value.string, let seconds = Int64(text) else { return value }
        return .integer(seconds)
    }

    private static func camel(_ name: String) -> String {
        let words = name.split(separator: "_", omittingEmptySubsequences: false)
        return words.dropFirst().reduce(String(words.first ?? "")) { text, word in
            text + word.prefix(1).uppercased() + word.dropFirst()
        }
    }
}
