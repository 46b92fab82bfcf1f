// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The sources of a certificate's revocation status, as listed in the certificate. Only http URLs are used: TLS would
/// need the status of further certificates (RFC 5280 section 8).
package struct RevocationSources: Sendable, Equatable {
    /// OCSP responders (RFC 5280 section 4.2.2.1).
    package var responders: [String] = []
    /// Revocation lists of all reasons by the issuer of the certificate (RFC 5280 section 4.2.1.13).
    package var lists: [String] = []

    private static let most = 4
    private static let uri: UInt8 = 0x86
    /// 1.3.6.1.5.5.7.1.1, 1.3.6.1.5.5.7.48.1 and 2.5.29.31.
    private static let informationAccess: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x01, 0x01]
    private static let ocsp: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01]
    private static let distributionPoints: [UInt8] = [0x55, 0x1D, 0x1F]

    package init(_ certificate: CertificateScanner) {
        if let value = certificate.extensionValue(Self.informationAccess) {
            var outer = DERScanner(value)
            var list = outer.next(DERScanner.sequence)?.elements
            while var parts = list?.next(DERScanner.sequence)?.elements {
                guard let method = parts.next(DERScanner.objectIdentifier), method.contents.elementsEqual(Self.ocsp)
                else { continue }
                if let url = parts.next(Self.uri).flatMap(Self.url) { responders.append(url) }
            }
        }
        if let value = certificate.extensionValue(Self.distributionPoints) {
            var outer = DERScanner(value)
            var list = outer.next(DERScanner.sequence)?.elements
            while var point = list?.next(DERScanner.sequence)?.elements {
                var name = point.next(0xA0)?.elements
                // of some reasons only, or by another issuer
                guard point.isAtEnd, var names = name?.next(0xA0)?.elements else { continue }
                while let next = names.next() {
                    if next.tag == Self.uri, let url = Self.url(next) { lists.append(url) }
                }
            }
        }
        responders = Array(responders.prefix(Self.most))
        lists = Array(lists.prefix(Self.most))
    }

    private static func url(_ element: DERScanner.Element) -> String? {
        let text = String(decoding: element.contents, as: UTF8.self)
        return text.utf8.count <= 2048 && text.lowercased().hasPrefix("http://") ? text : nil
    }
}
