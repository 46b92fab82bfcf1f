// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Names of fields, each once. The time to find a name does not depend on their number.
package struct FieldNames: Sendable, Equatable {
    package private(set) var list: [String] = []
    /// The keys of the same names, to find one of many; empty for a few.
    private var keys: Set<String> = []

    private static let few = 16

    package init(_ names: some Sequence<String>) {
        for name in names { insert(name) }
    }

    /// The names of the fields.
    package init(of fields: HTTPFields) { self.init(fields.list.lazy.map(\.name)) }

    package mutating func insert(_ name: String) {
        if contains(name) { return }
        list.append(name)
        if list.count == Self.few + 1 {
            keys = Set(list.map(HTTPFields.key))
        } else if list.count > Self.few {
            keys.insert(HTTPFields.key(name))
        }
    }

    package func contains(_ name: String) -> Bool {
        if list.count > Self.few { return keys.contains(HTTPFields.key(name)) }
        for own in list where HTTPFields.same(own, name) { return true }
        return false
    }
}
