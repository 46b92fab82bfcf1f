// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Reads a certificate revocation list in DER (RFC 5280 section 5) to look up a single certificate: entries are
/// scanned, not stored.
package struct CRLScanner: Sendable {
    package struct Entry: Sendable, Equatable {
        /// Seconds since 1970; nil if the date cannot be read.
        package var revokedAt: Int64?
        /// The name of the reason (RFC 5280 section 5.3.1); nil if absent.
        package var reason: String?
    }

    /// The signed bytes, the object identifier of the algorithm in DER contents, and the signature.
    package let signedBytes: ArraySlice<UInt8>
    package let algorithm: ArraySlice<UInt8>
    package let signature: ArraySlice<UInt8>
    /// The whole Name.
    package let issuer: ArraySlice<UInt8>
    /// Seconds since 1970.
    package let thisUpdate: Int64
    package let nextUpdate: Int64?
    package let scope: CRLScope
    private let entries: ArraySlice<UInt8>

    /// Nil if the bytes are no list.
    package init?(_ list: [UInt8]) {
        var outer = DERScanner(list)
        guard var parts = outer.next(DERScanner.sequence)?.elements, let signed = parts.next(DERScanner.sequence),
            var algorithm = parts.next(DERScanner.sequence)?.elements,
            let oid = algorithm.next(DERScanner.objectIdentifier), let bits = parts.next(DERScanner.bitString),
            bits.contents.first == 0
        else { return nil }
        signedBytes = signed.whole
        self.algorithm = oid.contents
        signature = bits.contents.dropFirst()
        var fields = signed.elements
        _ = fields.next(DERScanner.integer)
        guard fields.next(DERScanner.sequence) != nil, let issuer = fields.next(DERScanner.sequence),
            let this = fields.next().flatMap(DERTime.seconds)
        else { return nil }
        self.issuer = issuer.whole
        thisUpdate = this
        if fields.nextTag == DERScanner.utcTime || fields.nextTag == DERScanner.generalizedTime {
            guard let next = fields.next().flatMap(DERTime.seconds) else { return nil }
            nextUpdate = next
        } else {
            nextUpdate = nil
        }
        entries = fields.next(DERScanner.sequence)?.contents ?? []
        var extensions = fields.next(0xA0)?.elements
        guard fields.isAtEnd, Self.areReadable(entries) else { return nil }
        scope = CRLScope(extensions?.next(DERScanner.sequence)?.elements)
    }

    /// Whether all entries have the expected form: the search for a certificate would end at a malformed entry.
    private static func areReadable(_ entries: ArraySlice<UInt8>) -> Bool {
        var rest = DERScanner(entries)
        while var parts = rest.next(DERScanner.sequence)?.elements {
            guard parts.next(DERScanner.integer) != nil else { return false }
        }
        return rest.isAtEnd
    }

    /// The entry with this serial number; nil if the list has none.
    package func entry(of serialNumber: ArraySlice<UInt8>) -> Entry? {
        var rest = DERScanner(entries)
        while let element = rest.next(DERScanner.sequence) {
            var parts = element.elements
            guard let serial = parts.next(DERScanner.integer), serial.contents.elementsEqual(serialNumber) else {
                continue
            }
            var entry = Entry()
            entry.revokedAt = parts.next().flatMap(DERTime.seconds)
            var extensions = parts.next(DERScanner.sequence)?.elements
            while var extra = extensions?.next(DERScanner.sequence)?.elements {
                guard extra.next(DERScanner.objectIdentifier)?.contents.elementsEqual(Self.reasonCode) == true else {
                    continue
                }
                _ = extra.next(DERScanner.boolean)
                var value = extra.next(DERScanner.octetString)?.elements
                entry.reason = value?.next(DERScanner.enumerated)?.contents.first.flatMap(Self.reason)
            }
            return entry
        }
        return nil
    }

    /// The name of a reason; nil for a number without a name.
    static func reason(_ number: UInt8) -> String? {
        reasons.indices.contains(Int(number)) ? reasons[Int(number)] : nil
    }

    /// 2.5.29.21.
    private static let reasonCode: [UInt8] = [0x55, 0x1D, 0x15]
    private static let reasons = [
        "unspecified", "keyCompromise", "cACompromise", "affiliationChanged", "superseded", "cessationOfOperation",
        "certificateHold", "unused", "removeFromCRL", "privilegeWithdrawn", "aACompromise",
    ]
}

/// Times in DER: UTCTime and GeneralizedTime, in UTC (RFC 5280 section 4.1.2.5).
enum DERTime {
    static func seconds(_ element: DERScanner.Element) -> Int64? {
        var digits = element.contents
        guard digits.popLast() == UInt8(ascii: "Z") else { return nil }
        guard element.tag == DERScanner.generalizedTime || element.tag == DERScanner.utcTime else { return nil }
        return seconds(Array(digits), isLong: element.tag == DERScanner.generalizedTime)
    }

    /// Of `YYYYMMDDhhmmss`, or without the century.
    static func seconds(_ digits: [UInt8], isLong: Bool) -> Int64? {
        let numbers = digits.map { Int64($0) - 0x30 }
        guard numbers.allSatisfy({ (0...9).contains($0) }), numbers.count == (isLong ? 14 : 12) else { return nil }
        func two(_ index: Int) -> Int64 { numbers[index] * 10 + numbers[index + 1] }
        let start = isLong ? 4 : 2
        let year = isLong ? two(0) * 100 + two(2) : two(0) + (two(0) < 50 ? 2000 : 1900)
        let (month, day) = (two(start), two(start + 2))
        guard (1...12).contains(month), (1...31).contains(day) else { return nil }
        return days(year, month, day) * 86400 + two(start + 4) * 3600 + two(start + 6) * 60 + two(start + 8)
    }

    /// Days since 1970 in the Gregorian calendar, by counting from March; for the years 0 to 9999.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let ofEra = year - era * 400
        let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }
}
