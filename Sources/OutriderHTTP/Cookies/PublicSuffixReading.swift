// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension PublicSuffixes {
    /// A list in the form of publicsuffix.org; nil if the text has no rule.
    ///
    /// - Parameter date: of the file, if the list does not name its own in a line `// VERSION:`.
    package static func read(_ text: String, date: String?) -> PublicSuffixes? {
        var found: [[UInt8]: Mark] = [:]
        var named: String?
        for line in text.utf8.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let word = line.prefix { $0 != 0x20 && $0 != 0x09 }
            if word.starts(with: "//".utf8) {
                if named == nil { named = version(String(Substring(line))) }
            } else if let (name, mark) = rule(Array(word)) {
                found[name, default: []].formUnion(mark)
            }
        }
        guard !found.isEmpty else { return nil }
        let entries = found.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        return PublicSuffixes(entries.map { ($0.key, $0.value) }, date: named ?? date)
    }

    /// `// VERSION: 2025-03-05_12-03-23_UTC`
    private static func version(_ line: String) -> String? {
        let mark = "// VERSION:"
        guard line.hasPrefix(mark) else { return nil }
        let date = line.dropFirst(mark.count).drop { $0 == " " }.prefix(10)
        let isDate = date.utf8.count == 10 && date.utf8.allSatisfy { (0x30...0x39).contains($0) || $0 == 0x2D }
        return isDate ? String(date) : nil
    }

    private static func rule(_ word: [UInt8]) -> ([UInt8], Mark)? {
        guard let first = word.first else { return nil }
        var name = word[...]
        var mark = Mark.suffix
        if first == UInt8(ascii: "!") {
            (name, mark) = (name.dropFirst(), .exception)
        } else if name.starts(with: "*.".utf8) {
            (name, mark) = (name.dropFirst(2), .wildcard)
        }
        guard !name.isEmpty, !name.contains(UInt8(ascii: "*")), name.count <= 253 else { return nil }
        do throws(HTTPFailure) {
            let labels = try HostName.canonical(name).split(separator: ".")
            return (Array(labels.reversed().joined(separator: " ").utf8), mark)
        } catch {
            // an invalid rule applies to no name
            return nil
        }
    }

    // MARK: the list that is built in

    /// The day of the list that is built in.
    package static var builtInDate: String { BuiltInSuffixes.date }

    /// Read at its first use.
    package static let builtIn = PublicSuffixes(compact: BuiltInSuffixes.block, date: BuiltInSuffixes.date)

    /// Reads the compact form from `scripts/suffixes`. Each entry begins with a capital letter for the number of labels
    /// shared with the entry before (A for none). Then follow the further labels from the right, joined by spaces, and
    /// `*` for a wildcard alone, `+` for a suffix and a wildcard, `!` for an exception.
    init(compact: StaticString, date: String) {
        let text = UnsafeBufferPointer(start: compact.utf8Start, count: compact.utf8CodeUnitCount)
        self.init(date: date, capacity: 2 * text.count)
        var mark = Mark.suffix
        for (index, byte) in text.enumerated() {
            switch byte {
            case 0x41...0x5A:
                if index > 0 { end(mark) }
                begin(labels: Int(byte &- 0x41))
                mark = .suffix
            case UInt8(ascii: "*"): mark = .wildcard
            case UInt8(ascii: "+"): mark = [.suffix, .wildcard]
            case UInt8(ascii: "!"): mark = .exception
            default: add(byte)
            }
        }
        if !text.isEmpty { end(mark) }
    }
}
