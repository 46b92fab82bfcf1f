// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The Public Suffix List (publicsuffix.org): the names below which the public can register names.
///
/// The rules are stored in a block of bytes, sorted by their labels from the right: `jp kawasaki city`. An unlisted top
/// level is a suffix, too; the private section counts.
package struct PublicSuffixes: Sendable {
    /// The meaning of an entry in the list.
    struct Mark: OptionSet, Sendable {
        let rawValue: UInt8

        static let suffix = Mark(rawValue: 1)
        /// Every name directly below is a suffix.
        static let wildcard = Mark(rawValue: 2)
        /// No suffix, despite a wildcard above.
        static let exception = Mark(rawValue: 4)
    }

    private var bytes: [UInt8] = []
    /// The start of each entry, and the end of the last.
    private var starts: [UInt32] = [0]
    private var marks: [Mark] = []
    /// The day of the list, `YYYY-MM-DD`; nil if its file names none.
    package let date: String?

    package var count: Int { marks.count }

    /// - Parameter entries: labels from the right, joined by spaces; sorted, each once.
    init(_ entries: [(name: [UInt8], mark: Mark)], date: String?) {
        self.date = date
        bytes.reserveCapacity(entries.reduce(0) { $0 + $1.name.count })
        for entry in entries {
            bytes += entry.name
            starts.append(UInt32(truncatingIfNeeded: bytes.count))
            marks.append(entry.mark)
        }
    }

    /// An empty list, to be filled by `add` in the order of the names.
    init(date: String, capacity: Int) {
        self.date = date
        bytes.reserveCapacity(capacity)
    }

    /// Begins an entry with the first `count` labels of the last entry.
    mutating func begin(labels count: Int) {
        guard let last = starts.dropLast().last, count > 0 else { return }
        let (start, end) = (Int(last), bytes.count)
        var spaces = 0
        for index in start..<end {
            if bytes[index] == 0x20 { spaces += 1 }
            if spaces == count { break }
            bytes.append(bytes[index])
        }
        bytes.append(0x20)
    }

    mutating func add(_ byte: UInt8) { bytes.append(byte) }

    mutating func end(_ mark: Mark) {
        starts.append(UInt32(truncatingIfNeeded: bytes.count))
        marks.append(mark)
    }

    /// The public suffix and a further label; nil if the host is itself a public suffix, or has no name. As in browsers,
    /// nil also for the name of a wildcard, such as `kobe.jp` for `*.kobe.jp`.
    ///
    /// - Parameter host: lower case, in punycode, without a dot at the end; no address.
    package func registrableDomain(of host: String) -> String? {
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let length = suffixLength(labels)
        guard labels.count > length, labels.allSatisfy({ !$0.isEmpty }) else { return nil }
        return String(host[labels[labels.count - length - 1].startIndex...])
    }

    /// The registrable domain, or the host itself: cookies are stored and counted by this name.
    package func site(of host: String) -> String {
        IPAddressText.bytes(of: host) == nil ? registrableDomain(of: host) ?? host : host
    }

    /// How many labels of the name are its public suffix.
    private func suffixLength(_ labels: [Substring.UTF8View.SubSequence]) -> Int {
        var best = 1
        var key: [UInt8] = []
        var low = 0
        for (index, label) in labels.reversed().enumerated() {
            if index > 0 { key.append(0x20) }
            key += label
            low = firstEntry(notBefore: key, from: low)
            guard low < marks.count, entry(low, begins: key) else { return best }
            let mark = Int(starts[low + 1] - starts[low]) == key.count ? marks[low] : []
            if mark.contains(.exception) { return index }
            if mark.contains(.suffix) { best = max(best, index + 1) }
            if mark.contains(.wildcard) { best = max(best, index + 2) }
        }
        return best
    }

    private func entry(_ index: Int, begins key: [UInt8]) -> Bool {
        let (start, end) = (Int(starts[index]), Int(starts[index + 1]))
        guard end - start >= key.count else { return false }
        for offset in key.indices where bytes[start + offset] != key[offset] { return false }
        return end - start == key.count || bytes[start + key.count] == 0x20
    }

    private func firstEntry(notBefore key: [UInt8], from: Int) -> Int {
        var (low, high) = (from, marks.count)
        while low < high {
            let middle = (low + high) / 2
            if precedes(middle, key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether an entry sorts before the key. Called dozens of times in every lookup.
    private func precedes(_ index: Int, _ key: [UInt8]) -> Bool {
        let (start, end) = (Int(starts[index]), Int(starts[index + 1]))
        let common = min(end - start, key.count)
        var offset = 0
        while offset < common {
            let (one, other) = (bytes[start + offset], key[offset])
            if one != other { return one < other }
            offset += 1
        }
        return end - start < key.count
    }
}
