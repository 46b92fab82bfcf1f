// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// A PEM block `TRUSTED CERTIFICATE` of OpenSSL: a certificate, and behind it the purposes for which it is trusted or
/// not (X509_CERT_AUX).
enum TrustedCertificate {
    /// The certificate in DER; nil if it is not trusted to issue certificates of servers.
    static func forServers(_ block: [UInt8]) -> [UInt8]? {
        var outer = DERScanner(block)
        guard let certificate = outer.next(DERScanner.sequence) else { return nil }
        guard var use = outer.next(DERScanner.sequence)?.elements else { return Array(certificate.whole) }
        if let purposes = use.next(DERScanner.sequence), !areOfServers(purposes) { return nil }
        if let purposes = use.next(0xA0), areOfServers(purposes) { return nil }
        return Array(certificate.whole)
    }

    private static func areOfServers(_ purposes: DERScanner.Element) -> Bool {
        var list = purposes.elements
        while let purpose = list.next(DERScanner.objectIdentifier) {
            if serverPurposes.contains(where: { $0.elementsEqual(purpose.contents) }) { return true }
        }
        return false
    }

    /// serverAuth, 1.3.6.1.5.5.7.3.1, and anyExtendedKeyUsage, 2.5.29.37.0.
    private static let serverPurposes: [[UInt8]] = [
        [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01], [0x55, 0x1D, 0x25, 0x00],
    ]
}
