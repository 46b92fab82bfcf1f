// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto
import OutriderJSON

/// SHA-256 of a SubjectPublicKeyInfo in DER, as in RFC 7469 and curl.
package struct PublicKeyPin: Sendable, Hashable, CustomStringConvertible {
    package let digest: [UInt8]

    private init(digest: [UInt8]) { self.digest = digest }

    /// The pin of a key, given as its SubjectPublicKeyInfo in DER.
    package init(ofKey key: some Sequence<UInt8>) { digest = Array(SHA256.hash(data: Array(key))) }

    /// The pin of a certificate's key; nil if the bytes are no certificate in DER.
    package init?(ofCertificate certificate: [UInt8]) {
        guard let key = CertificateScanner(certificate)?.publicKey else { return nil }
        self.init(ofKey: key)
    }

    /// Reads `sha256/…=`, curl's `sha256//…=`, or the PEM text of a public key or of a certificate.
    package init?(parsing text: String) {
        if text.hasPrefix("sha256/") {
            let rest = text.utf8.dropFirst(7)
            let digits = rest.first == UInt8(ascii: "/") && rest.count == 45 ? rest.dropFirst() : rest
            guard let bytes = Base64.decode(String(Substring(digits))), bytes.count == 32 else { return nil }
            self.init(digest: bytes)
            return
        }
        guard let block = PEMBlock.all(in: text).first else { return nil }
        switch block.label {
        case "PUBLIC KEY":
            guard block.bytes.first == DERScanner.sequence else { return nil }
            self.init(ofKey: block.bytes)
        case "CERTIFICATE": self.init(ofCertificate: block.bytes)
        default: return nil
        }
    }

    /// `sha256/…=`.
    package var description: String { "sha256/\(Base64.encode(digest))" }
}
