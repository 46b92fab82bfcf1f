// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension ResponseHead {
    /// Most fields of a head.
    private static let mostFields = 1_000

    /// Parses a whole head with its empty line (RFC 9112 sections 4 and 5); lines may end in LF alone. Nil if
    /// malformed: a folded line, a name that is no token, a control character.
    package init?(parsing bytes: ArraySlice<UInt8>) {
        var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
            line.last == 0x0D ? line.dropLast() : line
        }
        guard lines.popLast()?.isEmpty == true, lines.popLast()?.isEmpty == true, !lines.isEmpty,
            lines.count <= Self.mostFields,
            lines.allSatisfy({ line in line.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } })
        else { return nil }
        guard let (version, status, reason) = Self.statusLine(lines.removeFirst()) else { return nil }
        var fields: [HTTPFields.Field] = []
        for line in lines {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = String(decoding: line[..<colon], as: UTF8.self)
            guard FieldRules.isToken(name) else { return nil }
            let value = FieldRules.text(line[(colon + 1)...], of: name)
            fields.append(HTTPFields.Field(name, String(FieldRules.trimmed(value[...]))))
        }
        self.init(status: status, reason: reason, version: version, fields: HTTPFields(fields))
    }

    private static func statusLine(_ line: ArraySlice<UInt8>) -> (HTTPVersion, Int, String)? {
        let digits = { (index: Int) -> Int? in
            let byte = line[line.startIndex + index]
            return (0x30...0x39).contains(byte) ? Int(byte &- 0x30) : nil
        }
        guard line.count >= 12, line.starts(with: "HTTP/".utf8), line[line.startIndex + 6] == UInt8(ascii: "."),
            line[line.startIndex + 8] == 0x20, line.count == 12 || line[line.startIndex + 12] == 0x20,
            let major = digits(5), let minor = digits(7), let hundreds = digits(9), let tens = digits(10),
            let ones = digits(11), hundreds > 0
        else { return nil }
        return (
            HTTPVersion(major, minor), hundreds * 100 + tens * 10 + ones,
            FieldRules.text(line.dropFirst(13))
        )
    }
}
