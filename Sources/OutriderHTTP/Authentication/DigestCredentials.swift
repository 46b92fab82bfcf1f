// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A response to a Digest challenge (RFC 7616 section 3.4), and the proof expected from the server.
package struct DigestCredentials: Sendable {
    package var challenge: DigestChallenge
    package var credential: UserCredential
    package var method: String
    /// The request target, as in the request line.
    package var uri: String
    /// The number of uses of this nonce, including this use: from 1.
    package var count: UInt32
    package var clientNonce: String
    /// The hash of the body, for `auth-int`: lower-case hexadecimal.
    package var bodyHash: String

    package init(
        _ challenge: DigestChallenge, _ credential: UserCredential, method: String, uri: String, count: UInt32,
        clientNonce: String, bodyHash: String = ""
    ) {
        self.challenge = challenge
        self.credential = challenge.isUTF8 ? credential.normalized : credential
        self.method = method
        self.uri = uri
        self.count = count
        self.clientNonce = clientNonce
        self.bodyHash = bodyHash
    }

    /// The value of Authorization or Proxy-Authorization, for display.
    package var fieldValue: String { field.text }

    /// The value of Authorization or Proxy-Authorization: the server's own texts go back with their bytes.
    package var field: FieldText {
        var parts = [
            FieldText("Digest " + usernamePart), said(quoted("realm", challenge.realm)), FieldText(quoted("uri", uri)),
        ]
        if let name = challenge.algorithmName { parts.append(said("algorithm=\(name)")) }
        parts.append(said(quoted("nonce", challenge.nonce)))
        if let protection = challenge.protection {
            parts.append(FieldText("nc=\(countText), \(quoted("cnonce", clientNonce)), qop=\(protection.rawValue)"))
        } else if challenge.isSession {
            parts.append(FieldText(quoted("cnonce", clientNonce)))
        }
        parts.append(FieldText(quoted("response", response)))
        if let opaque = challenge.opaque { parts.append(said(quoted("opaque", opaque))) }
        if challenge.hashesUsername { parts.append(FieldText("userhash=true")) }
        return .joined(parts, by: ", ")
    }

    /// A text of the server, with the server's bytes.
    private func said(_ text: String) -> FieldText { FieldText(text, isLatin1: challenge.isLatin1) }

    /// RFC 7616 section 3.4.1; without a protection as in RFC 2069 section 2.1.2.
    package var response: String { proof(of: method + ":" + uri, bodyHash) }

    /// The server's expected proof that it knows the password (RFC 7616 section 3.5).
    ///
    /// - Parameter bodyHash: hash of the response body, for `auth-int`.
    package func serverResponse(bodyHash: String = "") -> String { proof(of: ":" + uri, bodyHash) }

    /// Eight hexadecimal digits.
    package var countText: String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }

    private func proof(of subject: String, _ bodyHash: String) -> String {
        let subject = hash([FieldText(challenge.protection == .authInt ? "\(subject):\(bodyHash)" : subject)])
        guard let protection = challenge.protection else {
            return hash([FieldText(secret), said(challenge.nonce), FieldText(subject)])
        }
        let use = "\(countText):\(clientNonce):\(protection.rawValue):\(subject)"
        return hash([FieldText(secret), said(challenge.nonce), FieldText(use)])
    }

    /// A1, hashed (RFC 7616 section 3.4.2).
    private var secret: String {
        let plain = hash([
            FieldText(credential.username), said(challenge.realm), FieldText(credential.password),
        ])
        guard challenge.isSession else { return plain }
        return hash([FieldText(plain), said(challenge.nonce), FieldText(clientNonce)])
    }

    /// Hashed if the server requests that (`userhash`). Otherwise quoted; a name beyond ASCII is encoded as in RFC 8187
    /// if the server supports UTF-8 (RFC 7616 section 3.4.4).
    private var usernamePart: String {
        let name = credential.username
        if challenge.hashesUsername {
            return quoted("username", hash([FieldText(name), said(challenge.realm)]))
        }
        guard challenge.isUTF8, name.utf8.contains(where: { $0 >= 0x80 }) else { return quoted("username", name) }
        return "username*=UTF-8''\(PercentEncoding.segment.escape(name))"
    }

    private func quoted(_ name: String, _ value: String) -> String {
        var text = "\(name)=\""
        for character in value.unicodeScalars {
            if character == "\"" || character == "\\" { text.unicodeScalars.append("\\") }
            text.unicodeScalars.append(character)
        }
        return text + "\""
    }

    /// Of the parts with colons between them.
    private func hash(_ parts: [FieldText]) -> String { challenge.algorithm.hash(FieldText.joined(parts, by: ":")) }
}
