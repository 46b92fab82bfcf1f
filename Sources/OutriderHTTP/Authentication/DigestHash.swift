// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

internal import Crypto

/// The hash functions of Digest authentication, weakest first: those of RFC 7616 section 6.1, and SHA-512, which some
/// servers offer as well.
package enum DigestAlgorithm: String, Sendable, CaseIterable {
    case md5 = "MD5"
    case sha256 = "SHA-256"
    case sha512Half = "SHA-512-256"
    case sha512 = "SHA-512"

    /// Compared without case; nil for an unknown name.
    package init?(named name: String) {
        let name = name.uppercased()
        guard let found = Self(rawValue: name == "SHA-512/256" ? "SHA-512-256" : name) else { return nil }
        self = found
    }

    /// The higher, the stronger.
    package var strength: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    /// Of a text, as lower-case hexadecimal.
    package func hash(_ text: String) -> String { hash(FieldText(text)) }

    /// Of the bytes of a text.
    func hash(_ text: FieldText) -> String {
        var hash = DigestHash(self)
        hash.update(text.bytes)
        return hash.finish()
    }
}

/// An incremental hash.
package struct DigestHash: Sendable {
    private enum State: Sendable {
        case md5(Insecure.MD5)
        case sha256(SHA256)
        case sha512Half(SHA512Half)
        case sha512(SHA512)
    }

    private var state: State

    package init(_ algorithm: DigestAlgorithm) {
        switch algorithm {
        case .md5: state = .md5(Insecure.MD5())
        case .sha256: state = .sha256(SHA256())
        case .sha512Half: state = .sha512Half(SHA512Half())
        case .sha512: state = .sha512(SHA512())
        }
    }

    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            switch state {
            case .md5(var hash):
                hash.update(bufferPointer: bytes)
                state = .md5(hash)
            case .sha256(var hash):
                hash.update(bufferPointer: bytes)
                state = .sha256(hash)
            case .sha512Half(var hash):
                hash.update(bytes)
                state = .sha512Half(hash)
            case .sha512(var hash):
                hash.update(bufferPointer: bytes)
                state = .sha512(hash)
            }
        }
    }

    /// The hash of all bytes, as lower-case hexadecimal.
    package func finish() -> String {
        switch state {
        case .md5(let hash): HexText.encode(hash.finalize())
        case .sha256(let hash): HexText.encode(hash.finalize())
        case .sha512Half(let hash): HexText.encode(hash.finish())
        case .sha512(let hash): HexText.encode(hash.finalize())
        }
    }
}
