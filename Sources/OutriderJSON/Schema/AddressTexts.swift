// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Checks the syntax of addresses and names, for the formats of schemas: closely enough to find mistakes.
enum AddressTexts {
    typealias Bytes = ArraySlice<UInt8>

    static func isEmail(_ text: Bytes) -> Bool {
        guard let at = text.lastIndex(of: UInt8(ascii: "@")) else { return false }
        let local = text[..<at]
        let domain = text[(at + 1)...]
        if domain.first == UInt8(ascii: "["), domain.last == UInt8(ascii: "]") {
            let inner = domain.dropFirst().dropLast()
            if !isIPv4(inner) && !(inner.starts(with: "IPv6:".utf8) && isIPv6(inner.dropFirst(5))) { return false }
        } else if !isHostName(domain) {
            return false
        }
        if local.count >= 2, local.first == 0x22, local.last == 0x22 { return true }
        let atoms = local.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return atoms.allSatisfy {
            !$0.isEmpty && $0.allSatisfy { isAlphanumeric($0) || "!#$%&'*+-/=?^_`{|}~".utf8.contains($0) }
        }
    }

    /// RFC 1123 section 2.1.
    static func isHostName(_ text: Bytes) -> Bool {
        guard !text.isEmpty, text.count <= 253 else { return false }
        return text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            let hyphen = UInt8(ascii: "-")
            guard !label.isEmpty, label.count <= 63, label.first != hyphen, label.last != hyphen else { return false }
            // two hyphens at this position are reserved for Punycode
            if label.count >= 4, Array(label.dropFirst(2).prefix(2)) == [hyphen, hyphen] {
                guard String(decoding: label.prefix(2), as: UTF8.self).lowercased() == "xn", label.count > 4 else {
                    return false
                }
            }
            return label.allSatisfy { isAlphanumeric($0) || $0 == hyphen }
        }
    }

    static func isIPv4(_ text: Bytes) -> Bool {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4
            && parts.allSatisfy { part in
                guard !part.isEmpty, part.count <= 3, part.allSatisfy(TimeTexts.isDigit) else { return false }
                if part.count > 1, part.first == 0x30 { return false }
                return part.reduce(0) { $0 * 10 + Int($1 - 0x30) } <= 255
            }
    }

    /// RFC 4291 section 2.2.
    static func isIPv6(_ text: Bytes) -> Bool {
        let colon = UInt8(ascii: ":")
        var groups = text.split(separator: colon, omittingEmptySubsequences: false)
        guard groups.count >= 3, groups.count <= 9 else { return false }
        var wanted = 8
        if let last = groups.last, last.contains(UInt8(ascii: ".")) {
            guard isIPv4(last) else { return false }
            groups.removeLast()
            wanted = 6
        }
        // a gap at an end has an extra colon
        if groups.first?.isEmpty == true {
            guard groups.count > 1, groups[1].isEmpty else { return false }
            groups.removeFirst()
        }
        if wanted == 8, groups.last?.isEmpty == true {
            guard groups.count > 1, groups[groups.count - 2].isEmpty else { return false }
            groups.removeLast()
        }
        let gaps = groups.filter(\.isEmpty).count
        guard groups.allSatisfy({ $0.count <= 4 && $0.allSatisfy(isHexadecimal) }) else { return false }
        return gaps == 0 ? groups.count == wanted : gaps == 1 && groups.count <= wanted
    }

    static func isUUID(_ text: Bytes) -> Bool {
        let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12] && parts.allSatisfy { $0.allSatisfy(isHexadecimal) }
    }

    /// RFC 3986: only the characters that may stand there, and `%` only before two digits.
    static func isURIReference(_ text: Bytes) -> Bool {
        var rest = text
        var fragments = 0
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard rest.count >= 2, rest.prefix(2).allSatisfy(isHexadecimal) else { return false }
                rest = rest.dropFirst(2)
            case UInt8(ascii: "#"): fragments += 1
            default: guard isAlphanumeric(byte) || "-._~:/?[]@!$&'()*+,;=".utf8.contains(byte) else { return false }
            }
        }
        return fragments <= 1
    }

    static func isRelativePointer(_ text: String) -> Bool {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard !digits.isEmpty, digits == "0" || !digits.hasPrefix("0") else { return false }
        let rest = text.dropFirst(digits.count)
        return rest == "#" || JSONPointer(written: String(rest)) != nil
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        TimeTexts.isDigit(byte) || (0x61...0x7A).contains(byte | 0x20)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        TimeTexts.isDigit(byte) || (0x61...0x66).contains(byte | 0x20)
    }
}
