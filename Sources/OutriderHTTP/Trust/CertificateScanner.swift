// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto

/// The parts of a certificate in DER that are compared byte by byte (RFC 5280 section 4.1).
package struct CertificateScanner {
    /// The whole SubjectPublicKeyInfo.
    package let publicKey: ArraySlice<UInt8>
    /// The contents of the object identifier by which the issuer signed.
    package let signatureAlgorithm: ArraySlice<UInt8>
    /// The contents of the INTEGER.
    package let serialNumber: ArraySlice<UInt8>
    /// The whole Name of the issuer, and of the subject.
    package let issuer: ArraySlice<UInt8>
    package let subject: ArraySlice<UInt8>
    private let rest: DERScanner

    /// The length of the modulus; nil for a key that is not RSA (RFC 3279 section 2.3.1).
    package var rsaKeyBits: Int? {
        var outer = DERScanner(publicKey)
        guard var parts = outer.next(DERScanner.sequence)?.elements,
            var algorithm = parts.next(DERScanner.sequence)?.elements,
            let oid = algorithm.next(DERScanner.objectIdentifier)?.contents, Self.rsa.elementsEqual(oid),
            let bits = parts.next(DERScanner.bitString)?.contents
        else { return nil }
        var key = DERScanner(bits.dropFirst())
        guard var numbers = key.next(DERScanner.sequence)?.elements,
            let modulus = numbers.next(DERScanner.integer)?.contents.drop(while: { $0 == 0 }), let first = modulus.first
        else { return nil }
        return modulus.count &* 8 &- first.leadingZeroBitCount
    }

    /// Whether the certificate is signed with SHA-1 or MD5, by RSA or ECDSA.
    package var hasForgeableSignature: Bool { Self.forgeable.contains { $0.elementsEqual(signatureAlgorithm) } }

    /// md5WithRSAEncryption, sha1WithRSAEncryption, ecdsa-with-SHA1.
    private static let forgeable: [[UInt8]] = [
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x04], [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x05],
        [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x01],
    ]

    /// Whether the certificate is signed with RSASSA-PSS (RFC 4055 section 3.1).
    package var hasPSSSignature: Bool { Self.pss.elementsEqual(signatureAlgorithm) }

    /// 1.2.840.113549.1.1.10.
    private static let pss: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x0A]

    /// SHA-256 of a certificate in DER, in hexadecimal digits.
    package static func fingerprint(_ certificate: [UInt8]) -> String {
        HexText.encode(SHA256.hash(data: certificate))
    }

    /// 1.2.840.113549.1.1.1.
    private static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]

    /// Whether the basic constraints make it the certificate of an authority (RFC 5280 section 4.2.1.9).
    package var isAuthority: Bool {
        guard let value = extensionValue(Self.basicConstraints) else { return false }
        var outer = DERScanner(value)
        var parts = outer.next(DERScanner.sequence)?.elements
        return parts?.next(DERScanner.boolean)?.contents.contains { $0 != 0 } ?? false
    }

    /// 2.5.29.19.
    private static let basicConstraints: [UInt8] = [0x55, 0x1D, 0x13]

    /// The contents of the OCTET STRING of an extension, by its object identifier; nil if the certificate has none.
    package func extensionValue(_ oid: [UInt8]) -> ArraySlice<UInt8>? {
        var fields = rest
        // unique identifiers, which version 3 may have as well
        _ = fields.next(0x81)
        _ = fields.next(0x82)
        var outer = fields.next(0xA3)?.elements
        var list = outer?.next(DERScanner.sequence)?.elements
        while var parts = list?.next(DERScanner.sequence)?.elements {
            guard parts.next(DERScanner.objectIdentifier)?.contents.elementsEqual(oid) == true else { continue }
            _ = parts.next(DERScanner.boolean)
            return parts.next(DERScanner.octetString)?.contents
        }
        return nil
    }

    /// Nil if the bytes do not begin like a certificate.
    package init?(_ certificate: [UInt8]) {
        var outer = DERScanner(certificate)
        guard var parts = outer.next(DERScanner.sequence)?.elements,
            var fields = parts.next(DERScanner.sequence)?.elements
        else { return nil }
        // [0] version
        _ = fields.next(0xA0)
        guard let serial = fields.next(DERScanner.integer),
            var algorithm = fields.next(DERScanner.sequence)?.elements,
            let signed = algorithm.next(DERScanner.objectIdentifier),
            let issuer = fields.next(DERScanner.sequence), fields.next(DERScanner.sequence) != nil,
            let subject = fields.next(DERScanner.sequence), let key = fields.next(DERScanner.sequence)
        else { return nil }
        publicKey = key.whole
        signatureAlgorithm = signed.contents
        serialNumber = serial.contents
        self.issuer = issuer.whole
        self.subject = subject.whole
        rest = fields
    }
}
