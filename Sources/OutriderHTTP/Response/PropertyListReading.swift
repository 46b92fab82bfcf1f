// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Property lists, XML and binary, turned into JSON.
///
/// | property list     | JSON                                                        |
/// |-------------------|-------------------------------------------------------------|
/// | string, dict, array, true, false, integer, real | the same                      |
/// | data              | `{"$data": "<base64>"}`                                     |
/// | date              | `{"$date": "2001-01-01T00:00:00Z"}`                         |
/// | nan, infinities   | `{"$real": "nan"}`, `"inf"`, `"-inf"`                       |
/// | UID (binary only) | `{"$uid": 1}`                                               |
package enum PropertyListReading {
    /// Why bytes are no property list.
    package struct Fault: Error, Equatable {
        /// The fault and its place, for the middle of a sentence.
        package var reason: String
    }

    package static func json(_ bytes: [UInt8]) throws(Fault) -> JSONText {
        let value = try value(bytes)
        var writer = JSONWriter(capacity: bytes.count + 64)
        value.encode(to: &writer)
        return JSONText(written: writer.bytes)
    }

    static func value(_ bytes: [UInt8]) throws(Fault) -> PropertyListValue {
        if bytes.starts(with: BinaryPropertyList.magic) {
            var list = try BinaryPropertyList(bytes)
            return try list.root()
        }
        guard let text = TextDecoding.decode(bytes, wanted: declared(bytes)) else {
            throw Fault(reason: "it begins neither with bplist00 nor with XML text")
        }
        var list = XMLPropertyList(Array(text.text.utf8))
        return try list.root()
    }

    /// The encoding that an XML declaration names (XML 1.0 section 4.3.3).
    private static func declared(_ bytes: [UInt8]) -> String? {
        let head = bytes.prefix(200)
        guard head.starts(with: Array("<?xml".utf8)), let end = head.firstIndex(of: UInt8(ascii: ">")) else {
            return nil
        }
        let text = String(decoding: head[..<end], as: UTF8.self)
        guard let place = text.range(ofName: "encoding") else { return nil }
        let value = text[place...].drop { $0 == " " || $0 == "=" }
        guard let quote = value.first, quote == "\"" || quote == "'" else { return nil }
        return String(value.dropFirst().prefix { $0 != quote })
    }

    /// Arrays and dictionaries inside each other.
    static let depth = 128
    /// The most values in the whole list: a binary list may reference a value many times.
    static let values = 1_000_000
    /// Bytes of strings and data in the whole list, for the same reason.
    static let content = 64 << 20
}

extension String {
    /// The index behind a name.
    fileprivate func range(ofName name: String) -> String.Index? {
        var rest = self[...]
        while !rest.isEmpty {
            if rest.hasPrefix(name) { return rest.index(rest.startIndex, offsetBy: name.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}

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
