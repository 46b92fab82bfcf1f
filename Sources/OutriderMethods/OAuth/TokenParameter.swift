// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// Tokens as a client gives them: `{accessToken, refreshToken, tokenType, expiresAt | expiresIn, scope}`.
struct TokenParameter: JSONDecodable, Sendable {
    /// Nil for a refresh token alone: the first use gets an access token with it.
    var access: AccessToken?
    var refresh: Secret?

    /// Seconds that `expiresIn` may be.
    private static let lifetimes = -1e9...1e10

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        let token: Secret? = try fields.optional("accessToken") { Self.fault(in: $0) }
        refresh = try fields.optional("refreshToken") { Self.fault(in: $0) }
        let type = try fields.optional("tokenType", as: String.self) { (type: String) in
            FieldRules.fault(inMethod: type) == nil ? nil : "must be a token, such as Bearer"
        }
        let at = try fields.optional("expiresAt", as: MomentParameter.self)
        let lifetime = try fields.number("expiresIn", in: Self.lifetimes)
        let scope: ScopeParameter? = try fields.optional("scope")
        try fields.finish()
        if at != nil, lifetime != nil {
            throw JSONComplaint("expiresIn and expiresAt say the same: give one", at: JSONPointer(member: "expiresIn"))
        }
        guard let token else {
            if refresh == nil { throw JSONComplaint("must hold accessToken, refreshToken or both") }
            return
        }
        let now = Clocks.now
        let seconds = lifetime ?? at.map { Double($0.moment.seconds) + Double($0.moment.nanoseconds) / 1e9 - now.wall }
        access = AccessToken(
            token, type: type ?? "Bearer", obtained: now,
            expires: seconds.map { ClockPair(wall: now.wall + $0, boot: now.boot + $0) }, scope: scope?.words)
    }

    static func fault(in token: Secret) -> String? {
        if token.count == 0 { return "must not be empty" }
        if token.count > 64 << 10 { return "must not be longer than 65536 bytes" }
        // RFC 6749 appendix A.12
        let isPrintable = token.withBytes { $0.allSatisfy { (0x20...0x7E).contains($0) } }
        return isPrintable ? nil : "must be of printable ASCII characters"
    }
}

/// RFC 3339.
private struct MomentParameter: JSONDecodable {
    var moment: Moment

    init(json: JSONValue) throws(JSONComplaint) {
        guard let moment = Moment(try String(json: json)) else {
            throw JSONComplaint("must be a time of RFC 3339, such as 2030-01-02T03:04:05Z")
        }
        self.moment = moment
    }
}

/// Scopes, as one text with spaces (RFC 6749 section 3.3) or as a list.
struct ScopeParameter: JSONDecodable, Sendable {
    var words: [String]

    init(json: JSONValue) throws(JSONComplaint) {
        if let text = json.string {
            words = text.split(separator: " ").map(String.init)
        } else if json.array != nil || json.object?.isEmpty == true {
            words = try [String](json: json)
        } else {
            throw JSONComplaint("must be a string or a list of strings, not \(json.typeName)")
        }
        if words.count > 256 { throw JSONComplaint("must not hold more than 256 scopes") }
        for (index, word) in words.enumerated() {
            guard !Self.isWord(word) else { continue }
            let complaint = JSONComplaint("must be of visible ASCII characters, without quotes and backslashes")
            throw json.string == nil ? complaint.under(index: index) : complaint
        }
    }
}

extension ScopeParameter {
    private static func isWord(_ word: String) -> Bool {
        !word.isEmpty
            && word.utf8.allSatisfy { $0 == 0x21 || (0x23...0x5B).contains($0) || (0x5D...0x7E).contains($0) }
    }
}

/// Parameters by name that a server wants and no standard has.
struct OAuthParametersParameter: JSONDecodable, Sendable {
    var list: [OAuthParameter] = []

    init(json: JSONValue) throws(JSONComplaint) {
        let members = try JSONObject(json: json).members
        if members.count > 32 { throw JSONComplaint("must not hold more than 32 parameters") }
        for member in members {
            guard let value = member.value.string, (1...256).contains(member.name.utf8.count), value.utf8.count <= 8192
            else {
                throw JSONComplaint(
                    "must be a string of at most 8192 bytes, under a name of 1 to 256 bytes",
                    at: JSONPointer(member: member.name))
            }
            if OAuthParameter.isReserved(member.name) {
                throw JSONComplaint(
                    "the parameter \(member.name) is set by the service itself: leave it out",
                    at: JSONPointer(member: member.name))
            }
            list.append(OAuthParameter(member.name, value))
        }
    }
}

/// A URL with https, or one on this machine.
struct SafeURLParameter: JSONDecodable, Sendable {
    var url: HTTPURL

    init(json: JSONValue) throws(JSONComplaint) {
        let text = try String(json: json)
        do throws(HTTPFailure) {
            url = try HTTPURL(parsing: text)
        } catch {
            throw JSONComplaint("must be a URL: \(error.message)")
        }
        guard url.isSecure || url.isLocal else {
            throw JSONComplaint("must begin with https, since secrets go there; http is for this machine only")
        }
        guard url.fragment == nil else { throw JSONComplaint("must have no fragment") }
    }
}

/// An origin that may get tokens: with https, or on this machine.
struct TokenOriginParameter: JSONDecodable, Sendable {
    var url: HTTPURL

    init(json: JSONValue) throws(JSONComplaint) {
        url = try SafeURLParameter(json: json).url
        guard url.target == "/" else {
            throw JSONComplaint("must be an origin without a path, such as https://api.example.com")
        }
    }
}
