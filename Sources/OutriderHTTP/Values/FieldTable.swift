// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Fields by name, for many changes: the time of a change does not depend on the number of fields.
package struct FieldTable {
    /// Nil in the place of a removed field.
    private var list: [HTTPFields.Field?] = []
    /// The places of the fields of a name.
    private var places: [String: [Int]] = [:]

    package init(_ fields: HTTPFields = []) {
        for field in fields.list { add(field) }
    }

    package var fields: HTTPFields { HTTPFields(list.compactMap(\.self)) }

    package mutating func add(_ field: HTTPFields.Field) {
        places[HTTPFields.key(field.name), default: []].append(list.count)
        list.append(field)
    }

    /// Replaces all fields of that name by a single field, in the place of the first.
    package mutating func set(_ field: HTTPFields.Field) {
        let key = HTTPFields.key(field.name)
        guard let old = places[key], let first = old.first else { return add(field) }
        for place in old { list[place] = nil }
        list[first] = field
        places[key] = [first]
    }

    package mutating func remove(_ name: String) {
        for place in places.removeValue(forKey: HTTPFields.key(name)) ?? [] { list[place] = nil }
    }
}

extension HTTPFields {
    /// Each name once: in the place of its first field, with the spelling and the value of its last.
    package func unique() -> HTTPFields {
        var table = FieldTable()
        for field in list { table.set(field) }
        return table.fields
    }
}
