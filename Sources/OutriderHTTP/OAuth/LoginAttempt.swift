// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// An authorization code login (RFC 6749 section 4.1): the parameters of the request, against which the callback URL is
/// checked.
///
/// State, verifier, nonce, issuer and redirect URI belong together, and are used once.
package struct LoginAttempt: Sendable {
    /// Additions to the standard parameters.
    package struct Options: Sendable {
        /// In place of the credential's own.
        package var scope: [String]?
        /// Further parameters, such as `prompt` or `login_hint`, in place of parameters of the same name in the
        /// credential or in its URL.
        package var parameters: [OAuthParameter] = []

        package init() {}
    }

    /// The requested scope.
    package let scope: [String]
    /// The redirect URI, as sent to the server.
    package let redirect: String
    package let state: Secret
    /// Nil if no ID token is requested.
    package let nonce: String?
    /// The URL for the browser.
    package let url: String

    private let issuer: String?
    private let mustNameIssuer: Bool
    private let pkce: PKCE

    /// The number of random bytes for a login.
    package static let randomBytes = 64

    /// - Parameters:
    ///   - mustNameIssuer: the server declares that its responses name the issuer (RFC 9207 section 3).
    ///   - random: `randomBytes` random bytes.
    /// - Throws: `config`, if the credential or the options are invalid.
    package init(
        _ spec: CredentialSpec, redirect: String, options: Options, mustNameIssuer: Bool, random: [UInt8]
    ) throws(OAuthFailure) {
        guard var url = spec.endpoints.authorization else {
            throw OAuthFailure(
                .config, "no_authorization_endpoint",
                "\(FieldRules.shown(spec.name)) has no authorizationUrl: create it with one, or with an issuer")
        }
        if let name = options.parameters.map(\.name).first(where: OAuthParameter.isReserved) {
            throw OAuthFailure(.config, "reserved_parameter", "the parameter \(name) is set by outrider itself")
        }
        // no parameter may stand there twice (RFC 6749 section 3.1)
        if let name = Self.reserved(in: url) {
            throw OAuthFailure(
                .config, "reserved_parameter",
                "the authorizationUrl of \(FieldRules.shown(spec.name)) has the parameter \(name), which every login "
                    + "sets itself")
        }
        self.redirect = redirect
        issuer = spec.issuer
        self.mustNameIssuer = mustNameIssuer
        scope = options.scope ?? spec.scope
        pkce = PKCE(random: Array(random.prefix(32)))
        state = Secret(Base64.encodeForURL(Array(random.dropFirst(32).prefix(16))))
        nonce = scope.contains("openid") ? Base64.encodeForURL(Array(random.dropFirst(48).prefix(16))) : nil

        var pairs = [
            (name: "response_type", value: "code"), (name: "client_id", value: spec.clientID),
            (name: "redirect_uri", value: redirect), (name: "state", value: state.exposed),
            (name: "code_challenge", value: pkce.challenge), (name: "code_challenge_method", value: PKCE.method),
        ]
        if !scope.isEmpty { pairs.append((name: "scope", value: scope.joined(separator: " "))) }
        if let nonce { pairs.append((name: "nonce", value: nonce)) }
        pairs += spec.resources.map { (name: "resource", value: $0) }
        let given = Set(options.parameters.map(\.name))
        let further = spec.parameters.filter { !given.contains($0.name) } + options.parameters
        pairs += further.map { (name: $0.name, value: $0.value) }
        url.removeQueryParameters(Set(further.map(\.name)))
        url.append(query: FormText.query(pairs))
        self.url = url.description
    }

    /// The parameter in the query of an authorization endpoint that a login sets itself; nil for none.
    package static func reserved(in url: HTTPURL) -> String? {
        let query = url.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).dropFirst()
        return FormText(query.first ?? "").pairs.map(\.name).first(where: OAuthParameter.isOfLogin)
    }

    /// Reads the URL to which the server redirected the browser, whole or only its query. State and issuer are checked
    /// before the content is trusted.
    ///
    /// - Parameter keys: the issuer's JWK Set, if there was a nonce.
    /// - Throws: why there is no code. `needsLogin` with the server's own `error` (RFC 6749 section 4.1.2.1), or with
    ///   `state_mismatch`, `issuer_mismatch` or `malformed_answer`.
    package func take(_ response: String, keys: String?) throws(OAuthFailure) -> TokenRequest {
        let form = Self.parameters(response)
        // before all else: a URL without the state is not from the server, and is no evidence about the login
        guard hasState(form) else {
            throw Self.failure("state_mismatch", "state did not match; someone else may have opened the address")
        }
        for name in ["state", "iss", "error", "code"] where form.all(name).count > 1 {
            throw Self.failure("malformed_answer", "the response says \(name) twice")
        }
        try checkIssuer(form.all("iss").first)
        if let error = form.all("error").first { throw Self.refusal(error, form.all("error_description").first) }
        guard let code = form.all("code").first, Self.isCode(code) else {
            throw Self.failure("malformed_answer", "the response holds neither a code nor an error")
        }
        return .authorizationCode(
            code: Secret(code), verifier: pkce.verifier, redirect: redirect, nonce: nonce, keys: keys,
            scope: scope)
    }

    /// Whether a callback URL has this login's state, and no other.
    package func hasState(_ response: String) -> Bool { hasState(Self.parameters(response)) }

    private func hasState(_ form: FormText) -> Bool {
        let given = form.all("state")
        return !given.isEmpty && given.allSatisfy { Secret($0) == state }
    }

    /// Checks the issuer, so that no server receives a code issued by another (RFC 9207 section 2.4).
    private func checkIssuer(_ given: String?) throws(OAuthFailure) {
        guard let issuer else { return }
        guard let given else {
            if !mustNameIssuer { return }
            throw Self.failure(
                "issuer_mismatch", "the response does not say which server it is from, as \(issuer) does")
        }
        if given != issuer {
            throw Self.failure(
                "issuer_mismatch", "the response came from \(FieldRules.shown(given)), expected \(issuer)")
        }
    }

    /// The parameters of the query and of the fragment.
    private static func parameters(_ response: String) -> FormText {
        let response = String(decoding: response.utf8.prefix(longest), as: UTF8.self)
        let parts = response.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let query = parts[0].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).dropFirst()
        return FormText((query + parts.dropFirst()).joined(separator: "&"))
    }

    private static let longest = 1 << 16

    private static func isCode(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 8192 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    private static func refusal(_ error: String, _ description: String?) -> OAuthFailure {
        let said = OAuthText.clean(description ?? "", most: 200)
        return failure(
            OAuthText.code(error),
            "the server refused the login: \(OAuthText.code(error))\(said.isEmpty ? "" : " (\(said))")")
    }

    private static func failure(_ reason: String, _ message: String) -> OAuthFailure {
        OAuthFailure(.needsLogin, reason, message)
    }
}

extension HTTPURL {
    /// The other parameters stay as written.
    fileprivate mutating func removeQueryParameters(_ names: Set<String>) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return }
        let kept = parts[1].split(separator: "&", omittingEmptySubsequences: false).filter { piece in
            FormText(piece).pairs.allSatisfy { !names.contains($0.name) }
        }
        target = "\(parts[0])?\(kept.joined(separator: "&"))"
    }
}

/// Cleans texts of servers for display.
package enum OAuthText {
    /// An error code of RFC 6749 section 5.2, or `unknown_error` for a malformed code.
    package static func code(_ text: String) -> String {
        let isCode = (1...64).contains(text.utf8.count) && text.utf8.allSatisfy(FieldRules.isTokenByte)
        return isCode ? text : "unknown_error"
    }

    /// A server's explanation of an error, at most 200 bytes; nil without an explanation, or if a secret shows.
    static func explanation(_ text: String, hiding secrets: [Secret]) -> String? {
        // a word of such a length may be a secret of the server
        let words = clean(text, most: 1000).split(separator: " ").map { $0.utf8.count > 64 ? "..." : $0 }
        let text = words.joined(separator: " ")
        if text.isEmpty || shows(text, secrets) { return nil }
        return text.utf8.count > 200 ? "\(text.prefix(197))..." : text
    }

    /// Whether eight bytes in a row, or all of a shorter secret, stand in the text in any usual form; case and blanks do
    /// not matter.
    package static func shows(_ text: String, _ secrets: [Secret]) -> Bool {
        let text = Array(text.utf8)
        let texts = [text, PercentEncoding.decode(text), withoutReferences(text)].map(folded)
        let pieces = Set(texts.flatMap(eights))
        return secrets.contains { secret in
            let plain = Array(secret.exposed.utf8)
            let forms = SecretValues.forms(of: secret.exposed).filter { $0.count >= 4 || $0 == plain }.map(folded)
            return forms.contains { form in
                if form.count >= 8 { return eights(form).contains(where: pieces.contains) }
                return !form.isEmpty && texts.contains { $0.contains(form) }
            }
        }
    }

    /// Each eight bytes in a row.
    private static func eights(_ bytes: [UInt8]) -> ArraySlice<UInt64> {
        var last: UInt64 = 0
        let all = bytes.map { byte in
            last = last << 8 | UInt64(byte)
            return last
        }
        return all.dropFirst(7)
    }

    /// In lower case, without blanks, the characters that `clean` drops, and those that writers of HTML replace.
    private static func folded(_ bytes: [UInt8]) -> [UInt8] {
        let kept = bytes.filter { (0x21...0x7E).contains($0) && !"&<>\"'".utf8.contains($0) }
        return kept.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Without the character references of HTML.
    private static func withoutReferences(_ text: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "&"), let end = rest.prefix(9).firstIndex(of: UInt8(ascii: ";")) {
                rest = rest[(end + 1)...]
            } else {
                kept.append(byte)
            }
        }
        return kept
    }

    /// The printable ASCII part, at most `most` bytes.
    package static func clean(_ text: String, most: Int) -> String {
        String(decoding: text.utf8.lazy.filter { (0x20...0x7E).contains($0) }.prefix(most), as: UTF8.self)
    }
}
