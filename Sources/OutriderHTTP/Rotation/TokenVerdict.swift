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
    package static func of(
        _ response: TokenEndpointResponse, for name: String, at place: String = "token endpoint", isLogin: Bool = false
    ) -> TokenVerdict {
        let isGood = (200..<300).contains(response.status)
        let scanned = TokenResponseScanner.scan(response.body)
        switch scanned {
        case .whole(let found) where isGood && found.isUsable && found.error == nil && response.isComplete:
            return .tokens(found)
        // from a server that rotates, no further member is needed
        case .whole(let found) where isGood && found.isUsable && found.refreshToken != nil,
            .cut(let found) where isGood && found.isUsable && found.refreshToken != nil:
            return .tokens(found)
        case .whole(let found) where found.error != nil && (response.isComplete || !isGood):
            return .refused(failure(found.error ?? "", response, name, place, isLogin))
        default:
            if !isGood { return .refused(failure(nil, response, name, place, isLogin)) }
            if let member = scanned.fault { return .unclear(.unusableToken(name, member)) }
            if !response.isComplete { return .unclear(.outcomeUnknown(name)) }
            return isPage(response.body, scanned)
                ? .refused(failure(nil, response, name, place, isLogin)) : .unclear(.unreadableResponse(name))
        }
    }

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
        _ error: String?, _ response: TokenEndpointResponse, _ name: String, _ place: String, _ isLogin: Bool
    ) -> OAuthFailure {
        let (status, place) = (response.status, "the \(place) of '\(name)'")
        let wait = response.retryAfter.map { min(max($0, 0), RotationPause.longest) }
        // RFC 6749 section 5.2; some servers send errors with 403 or 200. With other statuses, a gateway sent the error
        let isSaid = [400, 401, 403].contains(status) || (200..<300).contains(status)
        let isGate = (300..<400).contains(status) || [401, 403, 407, 421, 451].contains(status)
        let isBusy = status >= 500 || status == 429 || status == 408
        switch error.map(word) {
        case .some(let reason) where isSaid && endsLogin(reason, isLogin):
            return OAuthFailure(
                .needsLogin, reason, "the server refuses what '\(name)' has (\(reason)); log in again")
        case .some(let reason) where ["authorization_pending", "slow_down"].contains(reason):
            return OAuthFailure(
                .temporary, reason, "the login of '\(name)' is not finished (\(reason)); ask again later",
                retryAfter: wait)
        case "temporarily_unavailable", "server_error":
            return busy(status, place, wait)
        case .some(let reason) where !isBusy && (isSaid || !isGate) && !(status == 403 && reason == accessDenied):
            return OAuthFailure(
                .config, reason,
                "the server refuses the client of '\(name)' (\(reason)); correct its client id, secret, scope or endpoints"
            )
        default:
            if isBusy { return busy(status, place, wait) }
            if (200..<300).contains(status) {
                return OAuthFailure(
                    .temporary, "malformed_answer",
                    "\(place) answered \(status) without a token; is it the right address?")
            }
            // without an OAuth error, a captive portal or a proxy may have replied, and may be gone tomorrow
            let doubt = status == 401 || status == 403 ? "does it let this client in, and is it" : "is it"
            return OAuthFailure(
                isGate ? .temporary : .config, "unexpected_status",
                "\(place) answered \(status); \(doubt) the right address?")
        }
    }

    private static let accessDenied = "access_denied"

    private static func endsLogin(_ error: String, _ isLogin: Bool) -> Bool {
        switch error {
        case "invalid_grant", "interaction_required", "login_required", "consent_required": true
        // a refresh involves no user and no code that expires
        case accessDenied, "expired_token": isLogin
        default: false
        }
    }

    private static func busy(_ status: Int, _ place: String, _ wait: Double?) -> OAuthFailure {
        OAuthFailure(
            .temporary, "server_unavailable", "\(place) answered \(status); try again later", retryAfter: wait)
    }

    /// An error word of RFC 6749 section 5.2, fit for a message.
    private static func word(_ text: String) -> String {
        let kept = text.unicodeScalars.filter { (0x21...0x7E).contains($0.value) }.prefix(64)
        return kept.isEmpty ? "unknown" : String(String.UnicodeScalarView(kept))
    }
}

extension TokenResponse {
    fileprivate var isUsable: Bool { accessToken != nil && fault == nil }
}

extension TokenResponseScanner.Outcome {
    fileprivate var fault: String? {
        switch self {
        case .whole(let response), .cut(let response): response.fault
        case .malformed: nil
        }
    }
}
