// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Which certificates of its issuer a revocation list is about: its issuing distribution point (RFC 5280 sections 5.2.5
/// and 6.3.3 step b). Authorities with many certificates publish a list for each part of them.
package struct CRLScope: Sendable, Equatable {
    /// Whether there is a critical extension that is not understood: then the list says nothing.
    package private(set) var isForeign = false
    /// The URLs of the list; nil for a list that is about all certificates. A name of another kind is left out.
    private var urls: [[UInt8]]?
    private var isOfUsers = false
    private var isOfAuthorities = false
    private var isOfSomeReasons = false

    /// 2.5.29.28 and 2.5.29.31.
    private static let issuingPoint: [UInt8] = [0x55, 0x1D, 0x1C]
    private static let distributionPoints: [UInt8] = [0x55, 0x1D, 0x1F]
    private static let uri: UInt8 = 0x86

    /// - Parameter extensions: of the list; nil for a list without extensions.
    init(_ extensions: DERScanner?) {
        var list = extensions
        while var parts = list?.next(DERScanner.sequence)?.elements {
            let oid = parts.next(DERScanner.objectIdentifier)?.contents ?? []
            let isCritical = parts.next(DERScanner.boolean).map(Self.isTrue) ?? false
            if oid.elementsEqual(Self.issuingPoint) {
                take(parts.next(DERScanner.octetString)?.contents ?? [])
            } else if isCritical {
                isForeign = true
            }
        }
        if list?.isAtEnd == false { isForeign = true }
    }

    private mutating func take(_ value: ArraySlice<UInt8>) {
        var outer = DERScanner(value)
        guard var point = outer.next(DERScanner.sequence)?.elements else {
            isForeign = true
            return
        }
        if let name = point.next(0xA0) { urls = Self.urls(in: name) }
        isOfUsers = point.next(0x81).map(Self.isTrue) ?? false
        isOfAuthorities = point.next(0x82).map(Self.isTrue) ?? false
        isOfSomeReasons = point.next(0x83) != nil
        let isIndirect = point.next(0x84).map(Self.isTrue) ?? false
        let isOfAttributes = point.next(0x85).map(Self.isTrue) ?? false
        if isIndirect || isOfAttributes || !point.isAtEnd { isForeign = true }
    }

    /// Why the list does not say that a certificate without an entry is not revoked; nil if the list says so.
    package func fault(for certificate: CertificateScanner) -> String? {
        if isOfSomeReasons { return "is about some reasons of revocation only" }
        let isAuthority = certificate.isAuthority
        if isOfUsers, isAuthority { return "is not about the certificates of authorities" }
        if isOfAuthorities, !isAuthority { return "is about the certificates of authorities only" }
        guard let urls, !Self.urls(of: certificate).contains(where: { urls.contains($0) }) else { return nil }
        return "is about other certificates (its URL is not the one that the certificate names)"
    }

    /// The URLs of the lists of a certificate (RFC 5280 section 4.2.1.13): of all reasons, by its issuer.
    private static func urls(of certificate: CertificateScanner) -> [[UInt8]] {
        guard let value = certificate.extensionValue(distributionPoints) else { return [] }
        var outer = DERScanner(value)
        var list = outer.next(DERScanner.sequence)?.elements
        var found: [[UInt8]] = []
        while var point = list?.next(DERScanner.sequence)?.elements {
            if let name = point.next(0xA0), point.isAtEnd { found += urls(in: name) }
        }
        return found
    }

    /// The URLs of a DistributionPointName.
    private static func urls(in name: DERScanner.Element) -> [[UInt8]] {
        var parts = name.elements
        var names = parts.next(0xA0)?.elements
        var found: [[UInt8]] = []
        while let next = names?.next() {
            if next.tag == uri { found.append(Array(next.contents)) }
        }
        return found
    }

    /// BER has other bytes for true than 0xFF.
    private static func isTrue(_ element: DERScanner.Element) -> Bool { element.contents.contains { $0 != 0 } }
}
