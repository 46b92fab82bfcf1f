// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderJSON

/// Encodes names and values as a query or a form.
///
/// Nested names are joined first, and then escaped. A value without an encoding (an empty list or object, a dropped
/// null) leaves no `&` behind.
package struct FormWriter {
    private let options: FormOptions
    private var out: [UInt8] = []
    /// The name so far, not escaped.
    private var key: [UInt8] = []
    /// Bytes of names that patterns made.
    private var patterned = 0
    /// A long name over a long list could make more than memory holds.
    private static let mostBytes = 64 << 20

    private init(_ options: FormOptions) { self.options = options }

    /// The text; empty without values. Complaints point into the values.
    package static func text(of values: FormValues, _ options: FormOptions) throws(JSONComplaint) -> String {
        String(decoding: try bytes(of: values, options), as: UTF8.self)
    }

    package static func bytes(of values: FormValues, _ options: FormOptions) throws(JSONComplaint) -> [UInt8] {
        var writer = FormWriter(options)
        writer.out.reserveCapacity(values.members.count &* 16)
        try writer.write(values.members, sorted: options.sorts ?? !values.isList, isRoot: true, values.isList)
        return writer.out
    }

    /// The escaped pairs for a value under a name.
    package static func components(
        of value: JSONValue, under name: String, _ options: FormOptions
    ) throws(JSONComplaint) -> [(name: String, value: String)] {
        let text = try bytes(of: FormValues([JSONObject.Member(name, value)]), options)
        return text.split(separator: UInt8(ascii: "&")).map { pair in
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            return (
                String(decoding: name, as: UTF8.self),
                String(decoding: pair[name.endIndex...].dropFirst(), as: UTF8.self)
            )
        }
    }

    /// The depth of the recursion is bounded by the limits of the JSON parser.
    private mutating func write(
        _ members: [JSONObject.Member], sorted: Bool, isRoot: Bool = false, _ isList: Bool = false
    ) throws(JSONComplaint) {
        let length = key.count
        var segments: [Range<Int>] = []
        for (index, member) in members.enumerated() {
            let start = out.count
            do throws(JSONComplaint) {
                if isRoot { key.append(contentsOf: member.name.utf8) } else { try appendKeyPath(member.name) }
                try write(member.value)
            } catch {
                throw isList ? error.under(member: "value").under(index: index) : error.under(member: member.name)
            }
            key.removeLast(key.count - length)
            guard sorted, out.count > start else { continue }
            segments.append((out[start] == UInt8(ascii: "&") ? start + 1 : start)..<out.count)
        }
        if segments.count > 1 { sort(segments) }
    }

    private mutating func appendKeyPath(_ name: String) throws(JSONComplaint) {
        switch options.keyPaths {
        case .brackets:
            key.append(UInt8(ascii: "["))
            key.append(contentsOf: name.utf8)
            key.append(UInt8(ascii: "]"))
        case .dots:
            key.append(UInt8(ascii: "."))
            key.append(contentsOf: name.utf8)
        case .template(let template):
            guard let name = template.name(key: name.utf8), patterned < Self.mostBytes else { throw Self.tooLong }
            patterned &+= name.count
            key += name
        }
    }

    private mutating func write(_ value: JSONValue) throws(JSONComplaint) {
        switch value {
        case .string(let text): try append(text)
        case .secret: try append(Secret.mask)
        case .integer(let number): try append(number.description)
        case .real(let number): try append(number: number.description)
        case .written(let text): try append(number: text)
        case .bool(let flag):
            switch options.bools {
            case .numeric: try append(flag ? "1" : "0")
            case .literal: try append(flag ? "true" : "false")
            }
        case .null:
            switch options.nulls {
            case .dropKey: break
            case .dropValue: try append("")
            case .null: try append("null")
            case .text(let text): try append(text)
            }
        case .array(let values): try write(values)
        case .object(let object):
            guard let tagged = try TaggedValue(object) else {
                return try write(object.members, sorted: options.sorts ?? true)
            }
            try write(tagged)
        }
    }

    private mutating func write(_ values: [JSONValue]) throws(JSONComplaint) {
        if case .template(let template) = options.arrays { return try write(values, template) }
        let length = key.count
        for (index, value) in values.enumerated() {
            switch options.arrays {
            case .brackets: key += "[]".utf8
            case .indexInBrackets: key += "[\(index)]".utf8
            case .noBrackets, .template: break
            }
            do throws(JSONComplaint) {
                try write(value)
            } catch {
                throw error.under(index: index)
            }
            key.removeLast(key.count - length)
        }
    }

    private mutating func write(_ values: [JSONValue], _ template: KeyTemplate) throws(JSONComplaint) {
        let list = key
        for (index, value) in values.enumerated() {
            guard let name = template.name(key: list, index: index), patterned < Self.mostBytes else {
                throw Self.tooLong
            }
            patterned &+= name.count
            key = name
            do throws(JSONComplaint) {
                try write(value)
            } catch {
                throw error.under(index: index)
            }
        }
        key = list
    }

    private mutating func write(_ value: TaggedValue) throws(JSONComplaint) {
        switch value {
        case .decimal(let number): try append(number.plain)
        case .date(let moment): try append(options.values.text(moment).text)
        case .data(let data):
            switch options.values.data {
            case .base64: try append(Base64.encode(data))
            case .base64url: try append(Base64.encodeForURL(data))
            case .hex: try append(HexText.encode(data))
            case .raw: try appendPair { out, escaping in escaping.append(data[...], to: &out) }
            case .bytes: try write(ValueStyle.numbers(data))
            }
        }
    }

    // MARK: pairs

    private mutating func append(number text: String) throws(JSONComplaint) {
        if options.numbers == .plain, let number = DecimalNumber(text) { return try append(number.plain) }
        try append(text)
    }

    private mutating func append(_ text: String) throws(JSONComplaint) {
        try appendPair { out, escaping in escaping.append(text, to: &out) }
    }

    private static var tooLong: JSONComplaint { JSONComplaint("the names of the form would be too long") }

    private mutating func appendPair(_ value: (inout [UInt8], PercentEncoding) -> Void) throws(JSONComplaint) {
        if out.count > Self.mostBytes {
            throw JSONComplaint("the form would be longer than \(Self.mostBytes) bytes")
        }
        if !out.isEmpty { out.append(UInt8(ascii: "&")) }
        if options.keys == .default {
            options.escaping.append(key[...], to: &out)
        } else {
            options.escaping.append(options.keys.styled(String(decoding: key, as: UTF8.self)), to: &out)
        }
        out.append(UInt8(ascii: "="))
        value(&out, options.escaping)
    }

    /// Sorts adjacent pieces, separated by `&`, by their bytes.
    private mutating func sort(_ segments: [Range<Int>]) {
        guard let start = segments.first?.lowerBound else { return }
        let sorted = out.withUnsafeBufferPointer { bytes in
            segments.enumerated().sorted { one, other in
                let (first, second) = (bytes[one.element], bytes[other.element])
                if first.lexicographicallyPrecedes(second) { return true }
                return one.offset < other.offset && first.elementsEqual(second)
            }
        }
        var moved: [UInt8] = []
        moved.reserveCapacity(out.count &- start)
        for segment in sorted {
            if !moved.isEmpty { moved.append(UInt8(ascii: "&")) }
            moved.append(contentsOf: out[segment.element])
        }
        out.replaceSubrange(start..., with: moved)
    }
}

/// The content of a query or a form: the members of an object, or a list of names and values, in which names may repeat
/// and interleave.
package struct FormValues: Sendable, Equatable {
    package var members: [JSONObject.Member]
    package var isList: Bool

    package init(_ members: [JSONObject.Member] = [], isList: Bool = false) {
        self.members = members
        self.isList = isList
    }

    /// Throws for values without names: a scalar, or a list of anything but `{name, value}`.
    package init(_ value: JSONValue) throws(JSONComplaint) {
        switch value {
        case .object(let object): self.init(object.members)
        case .array(let list):
            self.init(isList: true)
            members.reserveCapacity(list.count)
            for (index, item) in list.enumerated() {
                do throws(JSONComplaint) {
                    members.append(try Self.pair(item))
                } catch {
                    throw error.under(index: index)
                }
            }
        default: throw JSONComplaint("a form is an object, or a list of {name, value}, not \(value.typeName)")
        }
    }

    private static func pair(_ item: JSONValue) throws(JSONComplaint) -> JSONObject.Member {
        guard item.object != nil else {
            throw JSONComplaint("a form is an object, or a list of {name, value}, not of \(item.typeName)")
        }
        var fields = try JSONFields(item)
        let name: String? = try fields.optional("name")
        let value = fields.value("value") ?? .null
        try fields.finish()
        return JSONObject.Member(try JSONFields.need("name", name), value)
    }
}
