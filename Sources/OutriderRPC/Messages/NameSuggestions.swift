// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Finds known names that resemble an unknown name.
package enum NameSuggestions {
    /// At most three, the closest first; none if nothing is close.
    package static func of(_ name: String, among names: [String]) -> [String] {
        let wanted = folded(name)
        // of a short name, two other letters leave nothing
        let limit = max(wanted.count > 4 ? 2 : 1, wanted.count / 3)
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

    /// Insertions, deletions, substitutions and exchanges of neighbours between the two names.
    private static func distance(_ from: [UInt8], _ to: [UInt8]) -> Int {
        var before: [Int] = []
        var above = Array(0...to.count)
        for line in from.indices {
            var row = [line + 1]
            for column in to.indices {
                var least = min(above[column + 1], row[column]) + 1
                least = min(least, above[column] + (from[line] == to[column] ? 0 : 1))
                if line > 0, column > 0, from[line] == to[column - 1], from[line - 1] == to[column] {
                    least = min(least, before[column - 1] + 1)
                }
                row.append(least)
            }
            (before, above) = (above, row)
        }
        return above[to.count]
    }
}
