// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The meaning of a token endpoint response.
package enum TokenVerdict: Sendable, Equatable {
    case tokens(TokenResponse)
    case refused(OAuthFailure)
    /// Truncated or unusable; the lost part may have held the tokens.
    case unclear(OAuthFailure)

    /// - Parameters:
    ///   - name: of the credential, for messages.
    ///   - place: the endpoint, for messages.
    ///   - isLogin: a login of a person (RFC 8628 section 3.5), who may deny access.
    ///   - isPoll: whether the request is a poll of a login.
    ///   - secrets: texts that the failure must not repeat from the server; nil for a message without explanation.
    package static func of(
        _ response: TokenEndpointResponse, for name: String, at place: String = "token endpoint", isLogin: Bool = false,
        isPoll: Bool = false, hiding secrets: @autoclosure () -> [Secret]? = nil
    ) -> TokenVerdict {
        let isGood = (200..<300).contains(response.status)
        let scanned = TokenResponseScanner.scan(response.body, isComplete: response.isComplete)
        switch scanned {
        case .whole(let found) where isGood && found.isUsable && found.error == nil && response.isComplete:
            return usable(found, name)
        // from a server that rotates, no further member is needed
        case .whole(let found) where isGood && found.isUsable && found.refreshToken != nil,
            .cut(let found) where isGood && found.isUsable && found.refreshToken != nil:
            return usable(found, name)
        case .whole(let found)
        where found.error != nil && (response.isComplete || !isGood) || found.message != nil && !isGood:
            let secrets = secrets()
            let error = isGood ? found.error : found.saidError
            let text = found.errorDescription ?? (error == nil ? found.message : nil)
            let said = text.flatMap { text in secrets.flatMap { OAuthText.explanation(text, hiding: $0) } }
            let reason = error.map { Self.word($0, hiding: secrets ?? []) }
            return .refused(failure(reason, said, response, name, place, isLogin))
        default:
            if !isGood { return .refused(failure(nil, nil, response, name, place, isLogin)) }
            if let member = scanned.fault { return .unclear(.unusableToken(name, member)) }
            if !response.isComplete { return .unclear(.outcomeUnknown(name, isLogin: isLogin && !isPoll)) }
            return isPage(response.body, scanned)
                ? .refused(failure(nil, nil, response, name, place, isLogin))
                : .unclear(.unreadableResponse(name, isLogin: isLogin && !isPoll))
        }
    }

    /// A client must not use a token whose type it does not know (RFC 6749 section 7.1).
    private static func usable(_ found: TokenResponse, _ name: String) -> TokenVerdict {
        guard let type = found.type, boundTypes.contains(type.lowercased()) else { return .tokens(found) }
        return .refused(
            OAuthFailure(
                .config, "unknown_token_type",
                "the server gives '\(name)' tokens of the type \(type) instead of Bearer; change the client there"))
    }

    /// Tokens that need a proof with each request, and what is no token of an API (RFC 8693 section 2.2.1).
    private static let boundTypes: Set = ["dpop", "mac", "pop", "n_a"]

    /// Whether the body cannot hold lost tokens: empty, an object without a refresh token, or a page for people.
    private static func isPage(_ body: [UInt8], _ scanned: TokenResponseScanner.Outcome) -> Bool {
        if case .whole(let found) = scanned { return found.refreshToken == nil }
        let mark = TokenResponseScanner.mark
        let shown = body.dropFirst(body.starts(with: mark) ? mark.count : 0).drop { $0 <= 0x20 }
        guard let first = shown.first, first != UInt8(ascii: "<") else { return true }
        guard first != UInt8(ascii: "{"), let text = String(validating: shown, as: UTF8.self) else { return false }
        return !text.contains("access_token")
    }

    private static func failure(
        _ error: String?, _ said: String?, _ response: TokenEndpointResponse, _ name: String, _ place: String,
        _ isLogin: Bool
    ) -> OAuthFailure {
        let (status, place) = (response.status, "the \(place) of '\(name)'")
        let words = [error, said].compactMap { $0 }.joined(separator: ": ")
        let outcome = "\(place) answered \(status)\(words.isEmpty ? "" : " (\(words))")"
        let wait = response.retryAfter.map { min(max($0, 0), RotationPause.longest) }
        // RFC 6749 section 5.2; some servers send errors with 403 or 200. With other statuses, a gateway sent the error
        let isSaid = [400, 401, 403].contains(status) || (200..<300).contains(status)
        let isGate = (300..<400).contains(status) || [401, 403, 407, 421, 451].contains(status)
        let isBusy = status >= 500 || status == 429 || status == 408
        switch error {
        case .some(let reason) where isSaid && endsLogin(reason, isLogin):
            return ended(reason, words, name)
        case .some(let reason) where ["authorization_pending", "slow_down"].contains(reason):
            return OAuthFailure(
                .temporary, reason, "the login of '\(name)' is not finished (\(reason)); ask again later",
                retryAfter: wait)
        case "temporarily_unavailable", "server_error":
            return busy(outcome, wait)
        case .some(let reason) where !isBusy && (isSaid || !isGate) && !(status == 403 && reason == accessDenied):
            return misconfigured(reason, words, name, place)
        default:
            if isBusy { return busy(outcome, wait) }
            if status == 400, let page = refusals.first(where: { response.body.prefix(1024).contains($0.title) }) {
                return OAuthFailure(page.kind, "certificate_refused", "\(outcome): \(page.meaning)")
            }
            if (200..<300).contains(status) {
                return OAuthFailure(
                    .temporary, "malformed_answer",
                    "\(place) answered \(status) without a token; is it the right address?")
            }
            // without an OAuth error, a captive portal or a proxy may have replied, and may be gone tomorrow
            let doubt = status == 401 || status == 403 ? "does it let this client in, and is it" : "is it"
            return OAuthFailure(
                isGate ? .temporary : .config, "unexpected_status",
                "\(outcome); \(doubt) the right address?")
        }
    }

    /// Titles of nginx, which refuses a certificate, or a client without one, only behind the handshake.
    private static let refusals: [(title: [UInt8], kind: OAuthFailure.Kind, meaning: String)] = [
        (Array("400 The SSL certificate error".utf8), .temporary, "it refuses the client certificate"),
        (
            Array("400 No required SSL certificate was sent".utf8), .config,
            "it wants a client certificate; name one in clientAuth.certificate"
        ),
    ]

    private static let accessDenied = "access_denied"
    /// The second is the word of Microsoft.
    private static let declines: Set = [accessDenied, "authorization_declined"]

    private static func endsLogin(_ error: String, _ isLogin: Bool) -> Bool {
        switch error {
        case "invalid_grant", "interaction_required", "login_required", "consent_required": true
        // the words of GitHub and Slack
        case "bad_refresh_token", "invalid_refresh_token": true
        // a refresh involves no code that expires
        case "expired_token", "code_expired", "bad_verification_code", "invalid_device_code": isLogin
        case _ where declines.contains(error): isLogin
        default: false
        }
    }

    private static func ended(_ reason: String, _ words: String, _ name: String) -> OAuthFailure {
        let what = declines.contains(reason) ? "the person declined the login of" : "the server refuses what"
        let rest = declines.contains(reason) ? "" : " has"
        return OAuthFailure(.needsLogin, reason, "\(what) '\(name)'\(rest) (\(words)); log in again")
    }

    private static func misconfigured(
        _ reason: String, _ words: String, _ name: String, _ place: String
    ) -> OAuthFailure {
        // RFC 7009 section 2.2.1: the client is not at fault
        if reason == "unsupported_token_type" {
            return OAuthFailure(.config, reason, "\(place) takes no token of this kind (\(words))")
        }
        return OAuthFailure(
            .config, reason,
            "the server refuses the client of '\(name)' (\(words)); correct its client id, secret, scope or endpoints")
    }

    private static func busy(_ outcome: String, _ wait: Double?) -> OAuthFailure {
        OAuthFailure(.temporary, "server_unavailable", "\(outcome); try again later", retryAfter: wait)
    }

    /// An error word of RFC 6749 section 5.2, fit for a message.
    private static func word(_ text: String, hiding secrets: [Secret]) -> String {
        let word = String(
            text.unicodeScalars.filter { (0x21...0x7E).contains($0.value) }.prefix(64).map(Character.init))
        let isKnown = standard.contains(word) || endsLogin(word, true)
        return word.isEmpty || (!isKnown && OAuthText.shows(word, secrets)) ? "unknown" : word
    }

    /// Such words reveal nothing, even if a part stands in a secret.
    private static let standard: Set = [
        "authorization_pending", "invalid_client", "invalid_request", "invalid_scope", "invalid_target", "server_error",
        "slow_down", "temporarily_unavailable", "unauthorized_client", "unsupported_grant_type",
        "unsupported_token_type",
    ]
}

extension TokenResponse {
    fileprivate var isUsable: Bool { accessToken != nil && fault == nil }

    /// The error of a refusal, which Twitch says in `message`: alone, or beside the words of the status.
    var saidError: String? {
        let word = message?.lowercased().replacing(" ", with: "_")
        guard error?.contains(" ") ?? true, let word, Self.messages.contains(word) else { return error }
        return word
    }

    private static let messages: Set = ["authorization_pending", "invalid_device_code", "invalid_refresh_token"]
}

extension TokenResponseScanner.Outcome {
    fileprivate var fault: String? {
        switch self {
        case .whole(let response), .cut(let response): response.fault
        case .malformed: nil
        }
    }
}
