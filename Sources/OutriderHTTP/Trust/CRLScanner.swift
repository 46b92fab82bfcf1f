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

    package let signed: SignedDER
    /// The whole Name.
    package let issuer: ArraySlice<UInt8>
    /// Seconds since 1970.
    package let thisUpdate: Int64
    package let nextUpdate: Int64?
    package let scope: CRLScope
    private let entries: ArraySlice<UInt8>

    /// Nil if the bytes are no list.
    package init?(_ list: [UInt8]) {
        guard let signed = SignedDER(DERScanner(list)) else { return nil }
        self.signed = signed
        var fields = signed.fields
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
        let numbers = digits.map { Int($0) - 0x30 }
        guard numbers.allSatisfy({ (0...9).contains($0) }), numbers.count == (isLong ? 14 : 12) else { return nil }
        func two(_ index: Int) -> Int { numbers[index] * 10 + numbers[index + 1] }
        let start = isLong ? 4 : 2
        let year = isLong ? two(0) * 100 + two(2) : two(0) + (two(0) < 50 ? 2000 : 1900)
        let (month, day) = (two(start), two(start + 2))
        guard (1...12).contains(month), (1...31).contains(day) else { return nil }
        let minutes = (CivilTime.days(year, month, day) * 24 + two(start + 4)) * 60 + two(start + 6)
        // safe: the year has four digits
        return Int64(minutes * 60 + two(start + 8))
    }
}
