// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// The private key proof of a client (RFC 7523 section 2.2): for a single request, since a server accepts each
/// assertion only once.
package struct ClientProof: Sendable {
    /// The private key as PEM text.
    package var key: Secret
    /// Seconds since 1970.
    package var now: Double
    /// `jti`, which no other assertion has.
    package var identifier: String
    private var isMasked = false

    package init(key: Secret, now: Double, identifier: String) {
        self.key = key
        self.now = now
        self.identifier = identifier
    }

    /// The proof in a request that a cassette plays: a mask in place of each assertion.
    package static var masked: ClientProof {
        var proof = ClientProof(key: Secret(""), now: 0, identifier: "")
        proof.isMasked = true
        return proof
    }

    /// Seconds of validity; servers' clocks differ.
    private static let lifetime: Int64 = 120

    /// Throws `config`: the text is no key, the key does not fit the algorithm, or the algorithm is unknown.
    func assertion(
        client: String, audience: String, algorithm: String, keyID: String?
    ) throws(OAuthFailure) -> Secret {
        if isMasked { return Secret(SecretFields.mask) }
        let signer = try JSONWebSigner(algorithm: algorithm, pem: key)
        var header: JSONObject = ["alg": .string(signer.algorithm.rawValue), "typ": .string("JWT")]
        if let keyID { header["kid"] = .string(keyID) }
        let issued = Int64(exactly: now.rounded(.down)) ?? 0
        let claims: JSONObject = [
            "iss": .string(client), "sub": .string(client), "aud": .string(audience), "jti": .string(identifier),
            "iat": .integer(issued), "exp": .integer(issued &+ Self.lifetime),
        ]
        let text = [header, claims].map { (part: JSONObject) in
            Base64.encodeForURL(JSONWriter.bytes(of: JSONValue.object(part)))
        }.joined(separator: ".")
        return Secret("\(text).\(Base64.encodeForURL(try signer.sign(text)))")
    }
}
