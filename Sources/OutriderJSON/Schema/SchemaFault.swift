// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Where a value does not fit its schema, and why.
package struct SchemaFault: Error, Sendable, Equatable {
    /// The value at fault.
    package var instance: JSONPointer
    /// The keyword at fault, in the schema's document.
    package var schema: JSONPointer
    /// A sentence for a person, naming the value by its place.
    package var message: String
}

extension SchemaFault: JSONEncodable {
    package func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("instancePointer", instance)
            writer.member("schemaPointer", schema)
            writer.member("message", message)
        }
    }
}
