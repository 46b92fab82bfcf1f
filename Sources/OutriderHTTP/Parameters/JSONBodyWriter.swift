// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// How a value is written as JSON for a server.
package struct JSONOptions: Sendable, Equatable {
    /// Over several lines, indented by two spaces.
    package var pretty = false
    /// Members in the order of their names' bytes, instead of the order given.
    package var sortKeys = false
    package var keys = KeyStyle.default
    package var values = ValueStyle()

    package init() {}
}

/// A value as the text of a JSON body: UTF-8, numbers as they were written, tagged values as strings or numbers.
package struct JSONBodyWriter {
    private let options: JSONOptions
    private var out: [UInt8] = []
    private var depth = 0
    /// Longer names for many members could make more than memory holds.
    private static let mostBytes = 64 << 20

    private init(_ options: JSONOptions) { self.options = options }

    /// Complaints point into the value.
    package static func bytes(of value: JSONValue, _ options: JSONOptions) throws(JSONComplaint) -> [UInt8] {
        var writer = JSONBodyWriter(options)
        try writer.write(value)
        return writer.out
    }

    /// The depth of the recursion is bounded by the limits of the JSON parser.
    private mutating func write(_ value: JSONValue) throws(JSONComplaint) {
        switch value {
        case .null: out += "null".utf8
        case .bool(let flag): out += (flag ? "true" : "false").utf8
        case .integer(let number): out += number.description.utf8
        case .real(let number): out += number.description.utf8
        case .written(let text): out += text.utf8
        case .string(let text): append(quoting: text)
        case .secret: append(quoting: Secret.mask)
        case .array(let values): try write(values)
        case .object(let object):
            guard let tagged = try TaggedValue(object) else { return try write(object.members) }
            try write(tagged)
        }
    }

    private mutating func write(_ values: [JSONValue]) throws(JSONComplaint) {
        out.append(UInt8(ascii: "["))
        depth += 1
        for (index, value) in values.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            breakLine()
            do throws(JSONComplaint) {
                try write(value)
            } catch {
                throw error.under(index: index)
            }
        }
        depth -= 1
        if !values.isEmpty { breakLine() }
        out.append(UInt8(ascii: "]"))
    }

    private mutating func write(_ members: [JSONObject.Member]) throws(JSONComplaint) {
        out.append(UInt8(ascii: "{"))
        depth += 1
        for (index, member) in ordered(members).enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            breakLine()
            append(quoting: options.keys.styled(member.name))
            out.append(UInt8(ascii: ":"))
            if options.pretty { out.append(UInt8(ascii: " ")) }
            if out.count > Self.mostBytes {
                throw JSONComplaint("the JSON would be longer than \(Self.mostBytes) bytes")
            }
            do throws(JSONComplaint) {
                try write(member.value)
            } catch {
                throw error.under(member: member.name)
            }
        }
        depth -= 1
        if !members.isEmpty { breakLine() }
        out.append(UInt8(ascii: "}"))
    }

    private func ordered(_ members: [JSONObject.Member]) -> [JSONObject.Member] {
        guard options.sortKeys else { return members }
        return members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    private mutating func write(_ value: TaggedValue) throws(JSONComplaint) {
        switch value {
        case .decimal(let number): out += number.plain.utf8
        case .date(let moment):
            let (text, isNumber) = options.values.text(moment)
            if isNumber { out += text.utf8 } else { append(quoting: text) }
        case .data(let data):
            switch options.values.data {
            case .base64: append(quoting: Base64.encode(data))
            case .base64url: append(quoting: Base64.encodeForURL(data))
            case .hex: append(quoting: HexText.encode(data))
            case .bytes: try write(ValueStyle.numbers(data))
            case .raw: throw JSONComplaint("$data cannot be raw in JSON: say base64, base64url, hex or bytes")
            }
        }
    }

    private mutating func breakLine() {
        guard options.pretty else { return }
        out.append(0x0A)
        out.append(contentsOf: repeatElement(0x20, count: 2 &* depth))
    }

    /// Escapes only the required characters (RFC 8259 section 7).
    private mutating func append(quoting text: String) {
        out.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case 0x22: out += [0x5C, 0x22]
            case 0x5C: out += [0x5C, 0x5C]
            case 0x0A: out += [0x5C, UInt8(ascii: "n")]
            case 0x0D: out += [0x5C, UInt8(ascii: "r")]
            case 0x09: out += [0x5C, UInt8(ascii: "t")]
            case 0..<0x20: out += "\\u00\(HexText.encode([byte]))".utf8
            default: out.append(byte)
            }
        }
        out.append(UInt8(ascii: "\""))
    }
}
