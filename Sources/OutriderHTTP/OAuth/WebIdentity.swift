// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Temporary keys of AWS for a token of an identity provider: the action AssumeRoleWithWebIdentity of its
/// Security Token Service, by the Query protocol.
package enum WebIdentity {
    /// The outcome of a request for keys.
    package enum Outcome: Sendable, Equatable {
        case keys(Keys)
        /// The code of the service, and its sentence.
        case refused(code: String, message: String)
    }

    /// Keys for a role, valid for a limited time.
    package struct Keys: Sendable, Equatable {
        package var accessKeyID: String
        package var secretAccessKey: Secret
        package var sessionToken: Secret
        /// RFC 3339, as received.
        package var expiration: String
    }

    /// The fields of the form. This action is the service's only action without a signature.
    package static func form(
        role: String, session: String, seconds: Int, token: Secret
    ) -> [(name: String, value: Secret)] {
        let plain: [(String, String)] = [
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", role),
            ("RoleSessionName", session), ("DurationSeconds", String(seconds)),
        ]
        return plain.map { (name: $0.0, value: Secret($0.1)) } + [(name: "WebIdentityToken", value: token)]
    }

    /// Nil for a malformed response. Never quotes the keys.
    package static func outcome(_ body: [UInt8]) -> Outcome? {
        guard let root = XMLScanner.scan(body) else { return nil }
        if root.name == "ErrorResponse", let error = root.first("Error"), let code = error.first("Code") {
            return .refused(
                code: OAuthText.code(code.text),
                message: OAuthText.clean(error.first("Message")?.text ?? "", most: 400))
        }
        guard root.name == "AssumeRoleWithWebIdentityResponse",
            let found = root.first("AssumeRoleWithWebIdentityResult", "Credentials"),
            let key = text(found, "AccessKeyId"), let secret = text(found, "SecretAccessKey"),
            let token = text(found, "SessionToken"), let expiration = text(found, "Expiration"),
            [key, secret, token].allSatisfy(isKey), Moment(expiration) != nil
        else { return nil }
        return .keys(
            Keys(
                accessKeyID: key, secretAccessKey: Secret(secret), sessionToken: Secret(token), expiration: expiration))
    }

    /// Whether another token may succeed after this error.
    package static func wantsOtherToken(_ code: String) -> Bool {
        ["ExpiredTokenException", "ExpiredToken", "InvalidIdentityToken", "IDPRejectedClaim"].contains(code)
    }

    /// Whether the text looks like the ARN of a role; the service validates the rest.
    package static func isRole(_ text: String) -> Bool {
        let parts = text.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
        return (20...2048).contains(text.utf8.count) && parts.count == 6 && parts[0] == "arn" && parts[2] == "iam"
            && parts[5].hasPrefix("role/") && isKey(text)
    }

    /// 2 to 64 of the characters permitted in session names.
    package static func isSession(_ text: String) -> Bool {
        (2...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "_=,.@-".utf8.contains(byte)
                }
            }
    }

    /// The text without white space, with which some services break long lines.
    private static func text(_ element: XMLElement, _ name: String) -> String? {
        element.first(name).map { found in found.text.split(whereSeparator: \.isWhitespace).joined() }
    }

    private static func isKey(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
