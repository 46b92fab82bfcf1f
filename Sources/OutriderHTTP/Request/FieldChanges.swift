// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Fields that replace fields of the same names. Checked once, when given, and not with every attempt.
package struct FieldChanges: Sendable, Equatable {
    package private(set) var fields: HTTPFields
    private var names: FieldNames

    /// Throws `createURLRequestFailed` at the first field that may not be sent.
    package init(_ fields: HTTPFields) throws(HTTPFailure) {
        try FieldCheck.check(fields)
        self.init(known: fields)
    }

    /// For constant fields of the service, which need no check.
    init(known fields: HTTPFields) {
        self.fields = fields
        names = FieldNames(of: fields)
    }

    package func apply(to fields: inout HTTPFields) {
        fields.list.removeAll { names.contains($0.name) }
        fields.list.append(contentsOf: self.fields.list)
    }

    /// Merges later changes: the result equals applying both in order.
    mutating func append(_ later: FieldChanges) {
        later.apply(to: &fields)
        for name in later.names.list { names.insert(name) }
    }
}
