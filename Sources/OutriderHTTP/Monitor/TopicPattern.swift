// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A client's pattern for topics: a name, or a pattern with `*` for any run of characters, dots included.
///
///     request.finished    that topic
///     request.*           all about requests
///     *.failed            all failures
///     *                   everything
package struct TopicPattern: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text }

    /// Empty if no topic matches.
    package var topics: TopicSet {
        MonitorTopic.allCases.filter { matches($0.name) }.reduce(into: []) { $0.formUnion(TopicSet($1)) }
    }

    /// Takes at worst time proportional to the product of both lengths: there is no nested backtracking.
    package func matches(_ name: String) -> Bool {
        let pattern = Array(text.utf8)
        let name = Array(name.utf8)
        var (place, position) = (0, 0)
        /// After the last star, and where the name was then.
        var retry: (place: Int, position: Int)?
        while position < name.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                place += 1
                retry = (place, position)
            } else if place < pattern.count, pattern[place] == name[position] {
                place += 1
                position += 1
            } else if let last = retry {
                place = last.place
                position = last.position + 1
                retry = (place, position)
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
