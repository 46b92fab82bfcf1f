// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Fields that replace fields of the same names. Checked once, when given, and not with every attempt.
package struct FieldChanges: Sendable, Equatable {
    package private(set) var fields: HTTPFields
    /// Each name once.
    private var names: [String] = []

    /// Throws `createURLRequestFailed` at the first field that may not be sent.
    package init(_ fields: HTTPFields) throws(HTTPFailure) {
        try FieldCheck.check(fields)
        self.init(known: fields)
    }

    /// For constant fields of the service, which need no check.
    init(known fields: HTTPFields) {
        self.fields = fields
        for field in fields.list where !has(field.name) { names.append(field.name) }
    }

    package func apply(to fields: inout HTTPFields) {
        fields.list.removeAll { has($0.name) }
        fields.list.append(contentsOf: self.fields.list)
    }

    /// Merges later changes: the result equals applying both in order.
    mutating func append(_ later: FieldChanges) {
        later.apply(to: &fields)
        for name in later.names where !has(name) { names.append(name) }
    }

    private func has(_ name: String) -> Bool {
        for own in names where HTTPFields.same(own, name) { return true }
        return false
    }
}
