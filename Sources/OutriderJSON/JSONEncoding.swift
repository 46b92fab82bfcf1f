// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension Bool: JSONEncodable {
    package func encode(to writer: inout JSONWriter) { writer.value(self) }
}

extension Int: JSONEncodable {
    package func encode(to writer: inout JSONWriter) { writer.value(self) }
}

extension Int64: JSONEncodable {
    package func encode(to writer: inout JSONWriter) { writer.value(self) }
}

extension Double: JSONEncodable {
    package func encode(to writer: inout JSONWriter) { writer.value(self) }
}

extension String: JSONEncodable {
    package func encode(to writer: inout JSONWriter) { writer.value(self) }
}

extension Array: JSONEncodable where Element: JSONEncodable {
    package func encode(to writer: inout JSONWriter) {
        writer.array { writer in
            for element in self { element.encode(to: &writer) }
        }
    }
}

extension JSONObject: JSONEncodable {
    package func encode(to writer: inout JSONWriter) {
        writer.object { writer in
            for member in members {
                writer.name(dynamic: member.name)
                member.value.encode(to: &writer)
            }
        }
    }
}

extension JSONValue: JSONEncodable {
    package func encode(to writer: inout JSONWriter) {
        switch self {
        case .null: writer.null()
        case .bool(let flag): writer.value(flag)
        case .integer(let number): writer.value(number)
        case .real(let number): writer.value(number)
        case .written(let text): writer.text(JSONText(written: Array(text.utf8)))
        case .string(let text): writer.value(text)
        case .secret: writer.value(Secret.mask)
        case .array(let array): array.encode(to: &writer)
        case .object(let object): object.encode(to: &writer)
        }
    }
}

extension JSONPointer: JSONEncodable {
    package func encode(to writer: inout JSONWriter) { writer.value(description) }
}

/// The empty result: `{}`.
package struct JSONNothing: JSONEncodable, Sendable {
    package init() {}

    package func encode(to writer: inout JSONWriter) { writer.object { _ in } }
}
