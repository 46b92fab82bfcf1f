// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Crypto

/// The certificate of an OCSP request, identified by SHA-1, which all responders support (RFC 6960 section 4.1.1, RFC
/// 5019).
package struct OCSPCertificate: Sendable, Equatable {
    private let nameHash: [UInt8]
    private let keyHash: [UInt8]
    private let serialNumber: [UInt8]

    /// 1.3.14.3.2.26.
    private static let sha1: [UInt8] = [0x2B, 0x0E, 0x03, 0x02, 0x1A]

    package init(_ certificate: CertificateScanner, issuer: CertificateScanner) {
        nameHash = Array(Insecure.SHA1.hash(data: Array(issuer.subject)))
        keyHash = Self.hash(ofKey: issuer)
        serialNumber = Array(certificate.serialNumber)
    }

    /// SHA-1 of the key without tag, length and unused bits.
    package static func hash(ofKey certificate: CertificateScanner) -> [UInt8] {
        var outer = DERScanner(certificate.publicKey)
        var parts = outer.next(DERScanner.sequence)?.elements
        _ = parts?.next(DERScanner.sequence)
        let bits = parts?.next(DERScanner.bitString)?.contents ?? []
        return Array(Insecure.SHA1.hash(data: Array(bits.dropFirst())))
    }

    /// The whole request in DER, without a nonce: responses of caches are welcome.
    package var request: [UInt8] {
        let algorithm = Self.element(
            DERScanner.sequence, Self.element(DERScanner.objectIdentifier, Self.sha1) + [0x05, 0x00])
        let name = Self.element(DERScanner.octetString, nameHash)
        let key = Self.element(DERScanner.octetString, keyHash)
        let serial = Self.element(DERScanner.integer, serialNumber)
        // CertID, Request, requestList, TBSRequest, OCSPRequest
        return (0..<5).reduce(algorithm + name + key + serial) { bytes, _ in Self.element(DERScanner.sequence, bytes) }
    }

    private static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let count = contents.count
        // hashes and a serial number, which is at most the size of a certificate
        let length: [UInt8] =
            count < 0x80
            ? [UInt8(truncatingIfNeeded: count)]
            : [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
        return [tag] + (count >= 0x80 && count < 0x100 ? [0x81, UInt8(truncatingIfNeeded: count)] : length) + contents
    }

    /// Whether a CertID is about this certificate.
    fileprivate func isMeant(by identifier: DERScanner.Element) -> Bool {
        var parts = identifier.elements
        guard var algorithm = parts.next(DERScanner.sequence)?.elements,
            algorithm.next(DERScanner.objectIdentifier)?.contents.elementsEqual(Self.sha1) == true,
            parts.next(DERScanner.octetString)?.contents.elementsEqual(nameHash) == true,
            parts.next(DERScanner.octetString)?.contents.elementsEqual(keyHash) == true
        else { return false }
        return parts.next(DERScanner.integer)?.contents.elementsEqual(serialNumber) == true
    }
}

/// Reads an OCSP response in DER (RFC 6960 section 4.2.1).
package struct OCSPResponse: Sendable {
    package enum Status: Sendable, Equatable {
        case good, unknown
        case revoked(CRLScanner.Entry)
    }

    package struct Single: Sendable, Equatable {
        package var status: Status
        /// Seconds since 1970.
        package var thisUpdate: Int64
        package var nextUpdate: Int64?
    }

    package let signed: SignedDER
    /// The responder's certificates, in DER.
    package let certificates: [[UInt8]]
    private let responder: DERScanner.Element
    private let singles: ArraySlice<UInt8>

    private static let mostCertificates = 4

    /// Nil for malformed responses, and for error responses, which `fault` names.
    package init?(_ bytes: [UInt8]) {
        var outer = DERScanner(bytes)
        guard var response = outer.next(DERScanner.sequence)?.elements,
            response.next(DERScanner.enumerated)?.contents.elementsEqual([0]) == true,
            var explicit = response.next(0xA0)?.elements, var typed = explicit.next(DERScanner.sequence)?.elements,
            typed.next(DERScanner.objectIdentifier) != nil, let basic = typed.next(DERScanner.octetString),
            let signed = SignedDER(basic.elements)
        else { return nil }
        self.signed = signed
        var rest = signed.rest
        var chain = rest.next(0xA0)?.elements
        var list = chain?.next(DERScanner.sequence)?.elements
        var certificates: [[UInt8]] = []
        while certificates.count < Self.mostCertificates, let next = list?.next(DERScanner.sequence) {
            certificates.append(Array(next.whole))
        }
        self.certificates = certificates
        var fields = signed.fields
        // version 1, which is the default
        _ = fields.next(0xA0)
        guard let responder = fields.next(), responder.tag == 0xA1 || responder.tag == 0xA2,
            fields.next(DERScanner.generalizedTime) != nil, let singles = fields.next(DERScanner.sequence),
            !Self.hasCritical(fields.next(0xA1))
        else { return nil }
        self.responder = responder
        self.singles = singles.contents
    }

    /// The error of an error response (RFC 6960 section 4.2.1); nil for a success or malformed bytes.
    package static func fault(_ bytes: [UInt8]) -> String? {
        var outer = DERScanner(bytes)
        var response = outer.next(DERScanner.sequence)?.elements
        switch response?.next(DERScanner.enumerated)?.contents.first {
        case 1: return "malformedRequest"
        case 2: return "internalError"
        case 3: return "tryLater"
        case 5: return "sigRequired"
        case 6: return "unauthorized"
        default: return nil
        }
    }

    private static func hasCritical(_ extensions: DERScanner.Element?) -> Bool {
        var outer = extensions?.elements
        var list = outer?.next(DERScanner.sequence)?.elements
        while var parts = list?.next(DERScanner.sequence)?.elements {
            _ = parts.next(DERScanner.objectIdentifier)
            if parts.next(DERScanner.boolean)?.contents.contains(where: { $0 != 0 }) == true { return true }
        }
        return false
    }

    /// Whether the certificate is that of the responder, by name or by key.
    package func isBy(_ certificate: CertificateScanner) -> Bool {
        var inner = responder.elements
        if responder.tag == 0xA1 { return inner.next()?.whole.elementsEqual(certificate.subject) == true }
        let hash = OCSPCertificate.hash(ofKey: certificate)
        return inner.next(DERScanner.octetString)?.contents.elementsEqual(hash) == true
    }

    /// The status of a certificate in the response; nil if absent.
    package func single(_ certificate: OCSPCertificate) -> Single? {
        var list = DERScanner(singles)
        while var parts = list.next(DERScanner.sequence)?.elements {
            guard let identifier = parts.next(DERScanner.sequence), certificate.isMeant(by: identifier),
                let status = parts.next().flatMap(Self.status),
                let this = parts.next(DERScanner.generalizedTime).flatMap(DERTime.seconds)
            else { continue }
            var single = Single(status: status, thisUpdate: this, nextUpdate: nil)
            if var next = parts.next(0xA0)?.elements {
                guard let time = next.next().flatMap(DERTime.seconds) else { return nil }
                single.nextUpdate = time
            }
            return Self.hasCritical(parts.next(0xA1)) ? nil : single
        }
        return nil
    }

    private static func status(_ element: DERScanner.Element) -> Status? {
        switch element.tag {
        case 0x80: return .good
        case 0x82: return .unknown
        case 0xA1:
            var entry = CRLScanner.Entry()
            var parts = element.elements
            entry.revokedAt = parts.next().flatMap(DERTime.seconds)
            var reason = parts.next(0xA0)?.elements
            entry.reason = reason?.next(DERScanner.enumerated)?.contents.first.flatMap(CRLScanner.reason)
            return .revoked(entry)
        default: return nil
        }
    }
}
