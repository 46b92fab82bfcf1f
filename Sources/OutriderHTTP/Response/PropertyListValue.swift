// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// A value of a property list.
indirect enum PropertyListValue: Sendable, JSONEncodable {
    case string(String)
    /// Digits, with a minus sign or not.
    case integer(String)
    case real(Double)
    case bool(Bool)
    case data([UInt8])
    /// RFC 3339, in UTC.
    case date(String)
    case uid(UInt64)
    case array([PropertyListValue])
    case dictionary([(key: String, value: PropertyListValue)])

    func encode(to writer: inout JSONWriter) {
        switch self {
        case .string(let text): writer.value(text)
        case .integer(let digits): writer.text(JSONText(written: Array(digits.utf8)))
        case .real(let number) where number.isFinite: writer.value(number)
        case .real(let number): writer.object { $0.member("$real", Self.name(number)) }
        case .bool(let flag): writer.value(flag)
        case .data(let bytes): writer.object { writer in bytes.withUnsafeBytes { writer.member("$data", base64: $0) } }
        case .date(let text): writer.object { $0.member("$date", text) }
        case .uid(let number):
            writer.object { writer in
                writer.name("$uid")
                writer.text(JSONText(written: Array(number.description.utf8)))
            }
        case .array(let values): values.encode(to: &writer)
        case .dictionary(let members):
            writer.object { writer in
                for member in members {
                    writer.name(dynamic: member.key)
                    member.value.encode(to: &writer)
                }
            }
        }
    }

    private static func name(_ number: Double) -> String {
        number.isNaN ? "nan" : number < 0 ? "-inf" : "inf"
    }
}
