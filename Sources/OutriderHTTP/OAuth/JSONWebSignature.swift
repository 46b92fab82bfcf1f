// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import CryptoExtras

/// The supported algorithms of RFC 7518 section 3.1. Never `none`, and none with shared keys.
package enum JSONWebAlgorithm: String, Sendable, CaseIterable {
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es256 = "ES256"
}

/// A private key that signs.
struct JSONWebSigner {
    private enum Key {
        case rsa(_RSA.Signing.PrivateKey, _RSA.Signing.Padding)
        case p256(P256.Signing.PrivateKey)
    }

    let algorithm: JSONWebAlgorithm
    private let key: Key

    /// Throws `config`; the message never quotes the key.
    init(algorithm name: String, pem: Secret) throws(OAuthFailure) {
        guard let algorithm = JSONWebAlgorithm(rawValue: name) else {
            let known = JSONWebAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
            throw OAuthFailure(
                .config, "unknown_algorithm",
                "\(FieldRules.shown(name)) is no algorithm for a private key: use \(known)")
        }
        self.algorithm = algorithm
        do {
            key =
                switch algorithm {
                case .rs256: .rsa(try .init(pemRepresentation: pem.exposed), .insecurePKCS1v1_5)
                case .ps256: .rsa(try .init(pemRepresentation: pem.exposed), .PSS)
                case .es256: .p256(try .init(pemRepresentation: pem.exposed))
                }
        } catch {
            let wanted =
                algorithm == .es256 ? "a private key of the curve P-256" : "an RSA private key of 2048 bits or more"
            throw OAuthFailure(.config, "unusable_key", "\(name) needs \(wanted), as PEM without a passphrase")
        }
    }

    /// The signature of the ASCII text (RFC 7515 section 5.1).
    func sign(_ text: String) throws(OAuthFailure) -> [UInt8] {
        let digest = Self.digest(text)
        do {
            switch key {
            case .rsa(let key, let padding):
                return try key.signature(for: digest, padding: padding).withUnsafeBytes { Array($0) }
            case .p256(let key):
                let signature = try key.signature(for: digest)
                return signature.withUnsafeBytes { Array($0) }
            }
        } catch {
            throw OAuthFailure(.config, "unusable_key", "the private key does not sign")
        }
    }

    static func digest(_ text: String) -> SHA256Digest {
        var hash = SHA256()
        Array(text.utf8).withUnsafeBytes { hash.update(bufferPointer: $0) }
        return hash.finalize()
    }
}

/// A public key that verifies (RFC 7517).
struct JSONWebVerifier {
    private enum Key {
        case rsa(_RSA.Signing.PublicKey)
        case p256(P256.Signing.PublicKey)
    }

    private let key: Key

    /// Reads the members of an RSA key (RFC 7518 section 6.3.1); nil below 2048 bits, or if invalid.
    init?(modulus: [UInt8], exponent: [UInt8]) {
        guard let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponent) else { return nil }
        self.key = .rsa(key)
    }

    /// From the members of a key of the curve P-256 (RFC 7518 section 6.2.1); nil for a point beside the curve.
    init?(x: [UInt8], y: [UInt8]) {
        guard x.count == 32, y.count == 32,
            let key = try? P256.Signing.PublicKey(x963Representation: [4] + x + y)
        else { return nil }
        self.key = .p256(key)
    }

    /// Whether this key, by this algorithm, signed the text.
    func verifies(_ signature: [UInt8], of text: String, by algorithm: JSONWebAlgorithm) -> Bool {
        let digest = JSONWebSigner.digest(text)
        switch (key, algorithm) {
        case (.rsa(let key), .rs256):
            return key.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: .insecurePKCS1v1_5)
        case (.rsa(let key), .ps256):
            return key.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: .PSS)
        case (.p256(let key), .es256):
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: digest)
        default: return false
        }
    }
}
