// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import OutriderJSON

/// A server's public keys for signatures (RFC 7517 section 5). Keys of unknown kinds are skipped.
struct JSONWebKeys {
    private struct Key {
        var identifier: String?
        var algorithm: String?
        var verifier: JSONWebVerifier
    }

    private let keys: [Key]

    /// More keys than any server has; each verification costs time.
    private static let most = 64

    /// Nil for a malformed JWK Set.
    init?(_ text: String) {
        guard case .object(let members)? = try? JSONParser.parse(Array(text.utf8), limits: .small),
            let list = members["keys"]?.array
        else { return nil }
        keys = list.prefix(Self.most).compactMap { $0.object.flatMap(Self.key) }
    }

    /// Whether one of the keys signed the text. If the token names its key, only that key counts.
    func verify(
        _ signature: [UInt8], of text: String, by algorithm: JSONWebAlgorithm, keyID: String?
    ) -> Bool {
        keys.contains { key in
            if let keyID, let identifier = key.identifier, keyID != identifier { return false }
            if let named = key.algorithm, named != algorithm.rawValue { return false }
            return key.verifier.verifies(signature, of: text, by: algorithm)
        }
    }

    private static func key(_ members: JSONObject) -> Key? {
        // RFC 7517 sections 4.2 and 4.3
        if let use = members["use"]?.string, use != "sig" { return nil }
        if let uses = members["key_ops"]?.array, !uses.contains(where: { $0.string == "verify" }) { return nil }
        let verifier: JSONWebVerifier? =
            switch members["kty"]?.string {
            case "RSA":
                if let modulus = bytes("n", members), let exponent = bytes("e", members) {
                    JSONWebVerifier(modulus: modulus, exponent: exponent)
                } else {
                    nil
                }
            case "EC" where members["crv"]?.string == "P-256":
                if let x = bytes("x", members), let y = bytes("y", members) { JSONWebVerifier(x: x, y: y) } else { nil }
            default: nil
            }
        guard let verifier else { return nil }
        return Key(identifier: members["kid"]?.string, algorithm: members["alg"]?.string, verifier: verifier)
    }

    private static func bytes(_ name: String, _ members: JSONObject) -> [UInt8]? {
        members[name]?.string.flatMap(Base64.decodeForURL)
    }
}
