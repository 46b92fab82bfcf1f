// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Whether a body fits a JSON Schema.
enum SchemaCheck {
    struct Fault {
        /// A sentence for people.
        var message: String
        /// Where in the body, as an RFC 6901 pointer.
        var pointer: String
    }

    /// Why the bytes do not fit; nil when they do.
    static func fault(_ bytes: [UInt8], _ schema: JSONSchema, contentType: String?) -> Fault? {
        let charset = contentType.flatMap(MediaType.init(parsing:))?.charset
        return fault(inJSON: Serialization.utf8(bytes, wanted: nil, declared: charset), schema)
    }

    /// The same for bytes that are UTF-8 already.
    static func fault(inJSON bytes: [UInt8], _ schema: JSONSchema) -> Fault? {
        let value: JSONValue
        do {
            value = try JSONParser.parse(bytes, limits: Serialization.limits)
        } catch {
            return Fault(message: "it is not JSON: \(error.reason)", pointer: error.pointer.description)
        }
        guard let first = schema.faults(in: value).first else { return nil }
        return Fault(message: first.message, pointer: first.instance.description)
    }
}
