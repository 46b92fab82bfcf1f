// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds known names that resemble an unknown name.
package enum NameSuggestions {
    /// At most three, the closest first; none if nothing is close.
    package static func of(_ name: String, among names: [String]) -> [String] {
        let wanted = folded(name)
        let limit = max(2, wanted.count / 3)
        // the distance is at least the difference of the lengths
        return names.filter { abs(min($0.utf8.count, mostBytes) - wanted.count) <= limit }
            .map { (name: $0, distance: distance(wanted, folded($0))) }
            .filter { $0.distance <= limit }
            .sorted { ($0.distance, $0.name) < ($1.distance, $1.name) }
            .prefix(3)
            .map(\.name)
    }

    /// Names are cut here: the distance takes quadratic time.
    private static let mostBytes = 128

    /// The name with ASCII letters in lower case.
    private static func folded(_ name: String) -> [UInt8] {
        name.utf8.prefix(mostBytes).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Insertions, deletions and substitutions between the two names (Levenshtein distance).
    private static func distance(_ from: [UInt8], _ to: [UInt8]) -> Int {
        var row = Array(0...to.count)
        for (line, byte) in from.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for column in to.indices {
                let above = row[column + 1]
                row[column + 1] = min(above + 1, row[column] + 1, diagonal + (byte == to[column] ? 0 : 1))
                diagonal = above
            }
        }
        return row[to.count]
    }
}
