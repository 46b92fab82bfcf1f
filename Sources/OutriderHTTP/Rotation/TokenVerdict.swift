// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// What an answer of a token endpoint means.
package enum TokenVerdict: Sendable, Equatable {
    case tokens(TokenAnswer)
    case refused(OAuthFailure)
    /// It ends too early, and what was lost may have been the tokens.
    case cut

    /// - Parameters:
    ///   - name: of the credential, for messages.
    ///   - place: which of its endpoints answered, for messages.
    package static func of(
        _ answer: RotationAnswer, for name: String, at place: String = "token endpoint"
    ) -> TokenVerdict {
        let isGood = (200..<300).contains(answer.status)
        switch TokenAnswerScanner.scan(answer.body) {
        case .whole(let found) where isGood && found.error == nil && found.accessToken != nil && answer.isComplete:
            return .tokens(found)
        // a server that rotates has said all that counts
        case .whole(let found) where isGood && found.accessToken != nil && found.refreshToken != nil,
            .cut(let found) where isGood && found.accessToken != nil && found.refreshToken != nil:
            return .tokens(found)
        case .whole(let found) where found.error != nil && (answer.isComplete || !isGood):
            return .refused(failure(found.error ?? "", answer, name, place))
        default:
            if !answer.isComplete && isGood { return .cut }
            return .refused(failure(nil, answer, name, place))
        }
    }

    private static func failure(
        _ error: String?, _ answer: RotationAnswer, _ name: String, _ place: String
    ) -> OAuthFailure {
        let (status, place) = (answer.status, "the \(place) of '\(name)'")
        let wait = answer.retryAfter.map { min(max($0, 0), RotationPause.longest) }
        switch error.map(word) {
        case "invalid_grant", "access_denied", "expired_token", "interaction_required", "login_required",
            "consent_required":
            let reason = error.map(word) ?? "invalid_grant"
            return OAuthFailure(
                .needsLogin, reason, "the server refuses what '\(name)' has (\(reason)); log in again")
        case "authorization_pending", "slow_down":
            let reason = error.map(word) ?? "authorization_pending"
            return OAuthFailure(
                .temporary, reason, "the login of '\(name)' is not finished (\(reason)); ask again later",
                retryAfter: wait)
        case "temporarily_unavailable", "server_error":
            return busy(status, place, wait)
        case .some(let reason) where status < 500 && status != 429:
            return OAuthFailure(
                .config, reason,
                "the server refuses the client of '\(name)' (\(reason)); correct its client id, secret, scope or endpoints"
            )
        default:
            if status >= 500 || status == 429 || status == 408 { return busy(status, place, wait) }
            if (200..<300).contains(status) {
                return OAuthFailure(
                    .temporary, "malformed_answer",
                    "\(place) answered \(status) without a token; is it the right address?")
            }
            // who says so without an error of OAuth may be a network's gate, or a proxy, and another one tomorrow
            let isGate = (300..<400).contains(status) || [401, 403, 407, 421, 451].contains(status)
            let question = status == 401 || status == 403 ? "does it let this client in, and is it" : "is it"
            return OAuthFailure(
                isGate ? .temporary : .config, "unexpected_status",
                "\(place) answered \(status); \(question) the right address?")
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
