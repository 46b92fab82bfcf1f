// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A supported Digest challenge (RFC 7616 section 3.3).
package struct DigestChallenge: Sendable, Equatable {
    /// Quality of protection.
    package enum Protection: String, Sendable {
        case auth
        /// The proof covers the body.
        case authInt = "auth-int"
    }

    package var realm: String
    package var nonce: String
    package var opaque: String?
    package var algorithm: DigestAlgorithm
    /// As the server wrote the name; nil if absent, which means MD5.
    package var algorithmName: String?
    /// `-sess`: the hash of user and password is bound to the nonce.
    package var isSession: Bool
    /// Nil for a server of RFC 2069, without protection, client nonce and count.
    package var protection: Protection?
    /// Only the nonce of the last response was wrong.
    package var isStale: Bool
    /// The user name is to be hashed, too.
    package var hashesUsername: Bool
    /// The server reads user names and passwords as UTF-8.
    package var isUTF8: Bool
    /// Whether the bytes of realm, nonce and opaque are ISO 8859-1.
    package var isLatin1: Bool
    /// Paths of the origin that share the credential; empty for all.
    package var paths: [String]

    /// Nil for another scheme, for an unknown algorithm or protection, and for values that cannot be sent back.
    ///
    /// - Parameter url: of the request that was challenged; the domain is resolved against this URL.
    package init?(_ challenge: Challenge, from url: HTTPURL) {
        guard challenge.isOf("Digest"), let nonce = challenge["nonce"] else { return nil }
        realm = challenge["realm"] ?? ""
        self.nonce = nonce
        opaque = challenge["opaque"]
        algorithmName = challenge["algorithm"]
        var name = (algorithmName ?? "MD5").uppercased()
        isSession = name.hasSuffix("-SESS")
        if isSession { name.removeLast(5) }
        guard let algorithm = DigestAlgorithm(named: name) else { return nil }
        self.algorithm = algorithm
        switch Self.protection(challenge["qop"]) {
        case .some(let protection): self.protection = protection
        case nil: return nil
        }
        isStale = Self.isTrue(challenge["stale"])
        hashesUsername = Self.isTrue(challenge["userhash"])
        isUTF8 = HTTPFields.same(challenge["charset"] ?? "", "UTF-8")
        isLatin1 = challenge.isLatin1
        paths = Self.paths(challenge["domain"], url)
        for text in [realm, nonce, opaque ?? "", algorithmName ?? ""]
        where text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            return nil
        }
    }

    /// The same challenge with another nonce; the bytes of all texts stay.
    func renewed(_ nonce: FieldText) -> DigestChallenge {
        var challenge = self
        challenge.nonce = nonce.text
        guard nonce.isLatin1 != isLatin1 else { return challenge }
        let inBytes = { (text: String) in FieldText(text, isLatin1: isLatin1).asLatin1.text }
        challenge.nonce = nonce.asLatin1.text
        (challenge.realm, challenge.opaque) = (inBytes(realm), opaque.map(inBytes))
        challenge.isLatin1 = true
        return challenge
    }

    /// Prefers `auth`, which needs no hash of the body. The inner nil means no `qop`, the outer nil an unknown one.
    private static func protection(_ offered: String?) -> Protection?? {
        guard let offered else { return .some(nil) }
        let words = offered.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
        if words.isEmpty { return .some(nil) }
        if words.contains("auth") { return .auth }
        return words.contains("auth-int") ? .some(.authInt) : nil
    }

    private static func isTrue(_ text: String?) -> Bool { HTTPFields.same(text ?? "", "true") }

    /// The paths of `domain` within this origin. Other origins are ignored: a server cannot claim passwords for them.
    private static func paths(_ domain: String?, _ url: HTTPURL) -> [String] {
        let listed = (domain ?? "").split { $0 == " " || $0 == "\t" }.prefix(32)
        var paths: [String] = []
        for item in listed {
            guard let target = try? url.resolve(reference: String(item)),
                target.securityOrigin == url.securityOrigin
            else { continue }
            paths.append(String(target.path))
        }
        // only foreign origins are listed: the challenge then holds for the folder of the URL
        return paths.isEmpty && !listed.isEmpty ? [url.folder] : paths
    }

    package static func == (one: DigestChallenge, other: DigestChallenge) -> Bool {
        one.realm == other.realm && one.nonce == other.nonce && one.algorithm == other.algorithm
            && one.isSession == other.isSession && one.protection == other.protection && one.opaque == other.opaque
    }
}
