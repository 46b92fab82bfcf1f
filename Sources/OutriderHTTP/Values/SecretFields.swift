// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// The names whose values are masked: of header fields, of parameters in a query, a fragment or a form, of members in
/// JSON.
///
/// `docs/guide/describing.md` has the same list for readers; a test compares the two.
package enum SecretFields {
    package static let mask = Secret.mask

    /// Names of fields, in lower case.
    package static let fields = ["authorization", "cookie", "dpop", "proxy-authorization", "set-cookie"]

    /// Secret parts of names: a name that contains such a part is secret, without regard to case.
    package static let parts = [
        "access-token", "api-key", "api_key", "apikey", "assertion", "auth-token", "authentication", "code_verifier",
        "codeverifier", "credential", "passphrase", "passwd", "password", "private-key", "private_key", "secret",
        "sessid", "session-id", "session_id", "sessionid", "signature", "token", "x-auth",
    ]

    /// Last words of names: `Ocp-Apim-Subscription-Key`, `signing_key` and `signingKey` end in `key`.
    package static let endings = ["jwt", "key", "otp", "secret", "session"]

    /// Whole names of parameters and members, which are often short: `?code=…&sig=…`.
    package static let parameters = ["auth", "code", "key", "pass", "pin", "pwd", "sid", "sig"]

    /// Whole names of kinds (RFC 6749 section 7.1, RFC 7009 section 2.1), which hold no token.
    package static let kinds = ["token_type", "token_type_hint", "tokentype"]

    /// Last parts of names of metadata (RFC 8414 section 2): URLs and abilities of a server, such as `token_endpoint` and
    /// `id_token_signing_alg_values_supported`.
    package static let published = ["_endpoint", "_supported"]

    /// Fields of nearly every request, without secrets: to compare is cheaper than to search.
    package static let usual = [
        "Accept-Encoding", "User-Agent", "Accept-Language", "Accept", "Content-Type", "Content-Length",
    ]

    /// Whether a field's value may hold a secret.
    package static func contains(_ name: String) -> Bool {
        if usual.contains(name) { return false }
        var name = name
        let found = name.withUTF8 { bytes in
            bytes.allSatisfy { $0 < 0x80 } ? isSecret(bytes) : nil
        }
        // a letter like K, the sign of Kelvin, is a k in small letters
        return found ?? (partFinder.findsAny(in: name.lowercased()) || endings.contains(lastWord(of: name)))
    }

    /// The same for a name in ASCII.
    private static func isSecret(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        if partFinder.findsAnyCase(in: name) { return !isHarmless(name) }
        if fields.contains(where: { equals(name[...], $0) }) { return true }
        let word = name[startOfLastWord(name)...]
        return endings.contains { equals(word, $0) }
    }

    /// Whether a name with a secret part is that of a kind, or of published metadata.
    package static func isHarmless(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { isHarmless($0) }
    }

    private static func isHarmless(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        kinds.contains { equals(name[...], $0) } || published.contains { equals(name.suffix($0.utf8.count), $0) }
    }

    /// The same for a parameter or a member; of `user[password]` and `password[0]` each part counts.
    package static func containsParameter(_ name: String) -> Bool {
        contains(name)
            || name.split(whereSeparator: { $0 == "[" || $0 == "]" }).contains { part in
                parameters.contains(part.lowercased()) || endings.contains(lastWord(of: part))
            }
    }

    /// Whether numbers under a telling name are quantities: `max_tokens`, `total_tokens`.
    package static func countsTokens(_ name: String) -> Bool { lastWord(of: name) == "tokens" }

    private static let partFinder = WordFinder(parts)

    /// The last word of a name: behind the last sign that is no letter or digit, or from the last capital after a small
    /// letter.
    private static func lastWord(of name: some StringProtocol) -> String {
        let bytes = Array(name.utf8)
        let start = bytes.withUnsafeBufferPointer { startOfLastWord($0) }
        return String(decoding: bytes[start...], as: UTF8.self).lowercased()
    }

    private static func startOfLastWord(_ name: UnsafeBufferPointer<UInt8>) -> Int {
        var start = name.count
        while start > 0 {
            let byte = name[start - 1]
            let isLetter = (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
            guard isLetter || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
            // a small letter before a capital ends the word before
            if byte >= UInt8(ascii: "a"), start < name.count, name[start] >= UInt8(ascii: "A"),
                name[start] <= UInt8(ascii: "Z")
            {
                break
            }
            start -= 1
        }
        return start
    }

    /// Whether bytes of ASCII are a word of small letters, without regard to their case.
    private static func equals(_ bytes: Slice<UnsafeBufferPointer<UInt8>>, _ word: String) -> Bool {
        guard bytes.count == word.utf8.count else { return false }
        return word.utf8.elementsEqual(bytes) { $0 == HTTPFields.lower($1) }
    }
}
