// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc

/// Values that are cut out of a text before jansson parses the rest, and put back when its tree is copied.
///
/// Long strings: a body in base64 then costs a single copy instead of jansson's three, at a fifteenth of the speed.
/// Numbers that an Int64 or a Double would not reproduce as written. Secrets, which are decoded into locked memory.
///
/// Their placeholders are short strings that begin with U+0000 and a number drawn anew for each text, so that no client
/// can forge a placeholder.
struct JSONPlaceholders {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let ranges: [Range<Int>]
    /// The beginnings of the secrets among the ranges.
    private let secrets: Set<Int>
    private let mark: [UInt8]
    /// The beginning of each placeholder in the skeleton.
    private var starts: [Int] = []

    /// The ranges in order: the text between the quotes of a string, or a whole number.
    ///
    /// - Parameter secrets: the insides of strings, in order, that may be among the ranges as well.
    init(of bytes: UnsafeBufferPointer<UInt8>, at ranges: [Range<Int>], secrets: [Range<Int>] = []) {
        self.bytes = bytes
        self.secrets = Set(secrets.map(\.lowerBound))
        let others = ranges.filter { [secrets = self.secrets] in !secrets.contains($0.lowerBound) }
        self.ranges = secrets.isEmpty ? ranges : (others + secrets).sorted { $0.lowerBound < $1.lowerBound }
        mark = Array("\(String(UInt64.random(in: .min ... .max), radix: 16)):".utf8)
    }

    /// The text with placeholders.
    mutating func skeleton() -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count - ranges.reduce(0) { $0 + $1.count } + 40 * ranges.count)
        starts.reserveCapacity(ranges.count)
        var kept = 0
        for (index, range) in ranges.enumerated() {
            out.append(contentsOf: bytes[kept..<range.lowerBound])
            starts.append(out.count)
            let bare = !isQuoted(range)
            if bare { out.append(UInt8(ascii: "\"")) }
            out.append(contentsOf: "\\u0000".utf8)
            out.append(contentsOf: mark)
            out.append(contentsOf: String(index).utf8)
            if bare { out.append(UInt8(ascii: "\"")) }
            kept = range.upperBound
        }
        out.append(contentsOf: bytes[kept...])
        return out
    }

    /// The value of a placeholder; nil for any other string.
    func value(for start: UnsafePointer<CChar>, _ length: Int) -> JSONValue? {
        guard length > mark.count + 1, memcmp(start + 1, mark, mark.count) == 0 else { return nil }
        let digits = UnsafeRawBufferPointer(start: start + 1 + mark.count, count: length - 1 - mark.count)
        guard let index = Int(String(decoding: digits, as: UTF8.self)), ranges.indices.contains(index) else {
            return nil
        }
        if secrets.contains(ranges[index].lowerBound) {
            return .secret(Secret(unescaping: UnsafeBufferPointer(rebasing: bytes[ranges[index]])))
        }
        let text = JSONCursor(bytes).text(ranges[index])
        return isQuoted(ranges[index]) ? .string(text) : .written(text)
    }

    /// Converts a position in the skeleton to a position in the text.
    func offset(of place: Int) -> Int {
        guard let last = starts.lastIndex(where: { $0 < place }) else { return place }
        let grown = ranges[...last].reduce(0) { $0 + $1.count }
        let shrunk = (0...last).reduce(0) { sum, index in
            sum + (isQuoted(ranges[index]) ? 6 : 8) + mark.count + String(index).utf8.count
        }
        return min(max(0, place + grown - shrunk), bytes.count)
    }

    /// Whether a range is the inside of a string: only a string has a quote before its range.
    private func isQuoted(_ range: Range<Int>) -> Bool {
        range.lowerBound > 0 && bytes[range.lowerBound - 1] == UInt8(ascii: "\"")
    }
}
