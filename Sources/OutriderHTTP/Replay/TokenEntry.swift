// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// The entry of a request to an authorization server.
///
/// The credential helper masks the entry before the service gets it. The mask is strict: settings of a cassette cannot
/// show a secret, and a token response keeps the members that are read, and no other.
package struct TokenEntry {
    private var mask = CassetteMask()
    private let form: OAuthForm
    package private(set) var entry: CassetteEntry

    package init(_ form: OAuthForm, to url: HTTPURL) {
        self.form = form
        mask.names.parameters = ["device_code"]
        let request = ReplayRequest(
            method: "POST", url: url.description, fields: form.headers, body: Self.withoutPort(form).body)
        entry = CassetteEntry(request)
        var found = FoundSecrets()
        for field in form.fields where mask.names.isSecret(parameter: field.name) { found.add(field.value.exposed) }
        mask.values.add(found)
        mask.values.add(mask.secrets(of: ReplayRequest(method: "POST", url: url.description, fields: form.headers)))
        entry.request = mask.masked(request)
    }

    /// A listener on this machine has another port at each login (RFC 8252 section 7.3).
    private static func withoutPort(_ form: OAuthForm) -> OAuthForm {
        var form = form
        form.change("redirect_uri") { text in
            guard let url = try? HTTPURL(parsing: text), url.isLocal else { return text }
            return "http://\(url.host)\(URLParts(text).path)"
        }
        return form
    }

    /// Takes the response. Fields keep their names; a body without members keeps its kind.
    package mutating func take(_ head: AttemptScript.Head, _ body: [UInt8], _ kind: Kind, isComplete: Bool = true) {
        let scanned = TokenResponseScanner.scan(body, isComplete: isComplete)
        var found = FoundSecrets()
        if let response = scanned.response {
            for secret in [response.accessToken, response.refreshToken, response.idToken].compactMap({ $0 }) {
                found.add(secret.exposed)
            }
        }
        mask.values.add(found)
        mask.values.add(mask.secrets(of: head.fields, body: []))
        entry.head = head
        entry.head?.fields = mask.fields(head.fields)
        switch (scanned, kind) {
        case (.whole(let response), .token): entry.body = Self.written(response)
        // a response that is cut behind both tokens is used
        case (.cut(let response), .token)
        where response.fault != nil || (response.accessToken != nil && response.refreshToken != nil):
            entry.body = Self.written(response)
        case (.whole, .other): entry.body = mask.body(body, "application/json")
        default: entry.body = Self.kind(of: body)
        }
        if entry.head?.fields.contains("Content-Length") == true {
            entry.head?.fields.set("Content-Length", "\(entry.body.count)")
        }
    }

    package mutating func take(_ failure: HTTPFailure) {
        entry.failure = failure
        entry.failure?.message = mask.values.replaced(failure.message)
    }

    /// - Parameters:
    ///   - started: milliseconds since 1970.
    ///   - wait: milliseconds to the head.
    ///   - total: milliseconds to the end.
    package mutating func time(started: Int64, wait: Double, total: Double) {
        (entry.started, entry.wait, entry.total) = (started, wait, total)
    }

    /// Of an endpoint.
    package enum Kind: Sendable { case token, other }

    /// A response with the same meaning, and masks in place of its tokens.
    private static func written(_ response: TokenResponse) -> [UInt8] {
        var writer = JSONWriter()
        // a token with characters that none may have stays such a token
        func mask(_ name: String) -> String { response.fault == name ? "\(SecretFields.mask)\u{1}" : SecretFields.mask }
        writer.object { writer in
            if response.accessToken != nil || response.fault == "access_token" {
                writer.member("access_token", mask("access_token"))
            }
            if response.refreshToken != nil || response.fault == "refresh_token" {
                writer.member("refresh_token", mask("refresh_token"))
            }
            writer.member("token_type", response.fault == "token_type" ? "\u{1}" : response.type)
            if response.idToken != nil { writer.member("id_token", SecretFields.mask) }
            if let seconds = response.expiresIn {
                writer.member("expires_in", seconds)
            }
            writer.member("scope", response.scope?.joined(separator: " "))
            writer.member("error", response.error)
            if response.saidError != response.error { writer.member("message", response.saidError) }
            if let seconds = response.interval {
                writer.member("interval", seconds)
            }
        }
        return writer.bytes
    }

    /// What `TokenVerdict` looks for in a body that is no JSON.
    private static func kind(of body: [UInt8]) -> [UInt8] {
        if body.isEmpty { return [] }
        let first = body.first { $0 > 0x20 }
        let mask = SecretFields.mask
        if first == UInt8(ascii: "{") { return Array("{\(mask)".utf8) }
        if first == UInt8(ascii: "<") { return Array("<\(mask)>".utf8) }
        let hasToken = body[...].firstRange(of: Array("access_token".utf8)) != nil
        return Array((hasToken ? "access_token \(mask)" : mask).utf8)
    }
}

extension TokenResponseScanner.Outcome {
    fileprivate var response: TokenResponse? {
        switch self {
        case .whole(let response), .cut(let response): response
        case .malformed: nil
        }
    }
}
