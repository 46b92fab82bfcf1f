// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// Reads a property list in XML: only the subset of XML that property lists use. No external resource is fetched, and
/// no entities can be defined.
struct XMLPropertyList {
    private let bytes: [UInt8]
    private var position = 0
    private var count = 0

    init(_ utf8: [UInt8]) { bytes = utf8 }

    mutating func root() throws(PropertyListFault) -> PropertyListValue {
        try skipMarkup()
        var tag = try tag()
        let isWrapped = tag.name == "plist" && !tag.isEnd
        if isWrapped {
            guard !tag.isEmpty else { throw fault("plist is empty") }
            try skipMarkup()
            tag = try self.tag()
        }
        let value = try value(tag, depth: 0)
        if isWrapped { try end("plist") }
        try skipMarkup()
        guard position == bytes.count else { throw fault("something follows the end") }
        return value
    }

    // MARK: elements

    private struct Tag {
        var name: String
        var isEnd = false
        var isEmpty = false
    }

    private mutating func value(_ tag: Tag, depth: Int) throws(PropertyListFault) -> PropertyListValue {
        guard !tag.isEnd else { throw fault("</\(tag.name)> has no beginning") }
        count += 1
        if count > PropertyListLimits.values { throw fault("there are too many values") }
        switch tag.name {
        case "dict": return .dictionary(try members(tag, depth))
        case "array": return .array(try elements(tag, depth))
        case "string": return .string(try content(tag))
        case "true", "false":
            guard try content(tag).isEmpty else { throw fault("<\(tag.name)> is not empty") }
            return .bool(tag.name == "true")
        case "integer":
            let text = try content(tag)
            guard let digits = Self.integer(text) else { throw fault("\(FieldRules.shown(text)) is no integer") }
            return .integer(digits)
        case "real":
            let text = try content(tag)
            guard let number = Self.real(text) else { throw fault("\(FieldRules.shown(text)) is no real") }
            return .real(number)
        case "date":
            let text = try content(tag)
            guard PropertyListDate.isSound(text) else { throw fault("\(FieldRules.shown(text)) is no date") }
            return .date(text)
        case "data":
            let text = try content(tag).utf8.filter { $0 > 0x20 }
            guard let data = Base64.decode(String(decoding: text, as: UTF8.self)) else {
                throw fault("<data> holds no base64")
            }
            return .data(data)
        default: throw fault("\(FieldRules.shown(tag.name)) is no element of a property list")
        }
    }

    private mutating func members(
        _ tag: Tag, _ depth: Int
    ) throws(PropertyListFault) -> [(key: String, value: PropertyListValue)] {
        var members: [(key: String, value: PropertyListValue)] = []
        var seen: Set<[UInt8]> = []
        while let next = try child(of: tag, depth) {
            guard next.name == "key", !next.isEnd else { throw fault("<dict> needs a <key> before each value") }
            let key = try content(next)
            guard seen.insert(Array(key.utf8)).inserted else {
                throw fault("the key \(FieldRules.shown(key)) occurs twice")
            }
            try skipMarkup()
            members.append((key, try value(try self.tag(), depth: depth + 1)))
        }
        return members
    }

    private mutating func elements(_ tag: Tag, _ depth: Int) throws(PropertyListFault) -> [PropertyListValue] {
        var values: [PropertyListValue] = []
        while let next = try child(of: tag, depth) { values.append(try value(next, depth: depth + 1)) }
        return values
    }

    /// The next tag inside an element; nil at its end.
    private mutating func child(of tag: Tag, _ depth: Int) throws(PropertyListFault) -> Tag? {
        if tag.isEmpty { return nil }
        guard depth < PropertyListLimits.depth else { throw fault("it is nested too deeply") }
        try skipMarkup()
        let next = try self.tag()
        guard next.isEnd else { return next }
        guard next.name == tag.name else { throw fault("<\(tag.name)> ends as </\(next.name)>") }
        return nil
    }

    private mutating func end(_ name: String) throws(PropertyListFault) {
        try skipMarkup()
        let tag = try tag()
        guard tag.isEnd, tag.name == name else { throw fault("<\(name)> has no end") }
    }

    /// The text of an element without children.
    private mutating func content(_ tag: Tag) throws(PropertyListFault) -> String {
        if tag.isEmpty { return "" }
        var text: [UInt8] = []
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "&") {
                try appendReference(to: &text)
            } else if starts("<![CDATA[") {
                position += 9
                try appendUntil("]]>", to: &text)
            } else if starts("<!--") {
                try skip(to: "-->")
            } else if bytes[position] == UInt8(ascii: "<") {
                let end = try self.tag()
                guard end.isEnd, end.name == tag.name else { throw fault("<\(tag.name)> holds <\(end.name)>") }
                return String(decoding: text, as: UTF8.self)
            } else {
                text.append(bytes[position])
                position += 1
            }
        }
        throw fault("<\(tag.name)> has no end")
    }

    // MARK: markup

    /// `<name …>`, `</name>` or `<name …/>`; attributes are skipped.
    private mutating func tag() throws(PropertyListFault) -> Tag {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "<") else { throw fault("an element is missing") }
        position += 1
        var tag = Tag(name: "")
        if position < bytes.count, bytes[position] == UInt8(ascii: "/") {
            tag.isEnd = true
            position += 1
        }
        let start = position
        while position < bytes.count, Self.isName(bytes[position]) { position += 1 }
        guard position > start, position - start <= 32 else { throw fault("a tag has no name") }
        tag.name = String(decoding: bytes[start..<position], as: UTF8.self)
        var quote: UInt8?
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                tag.isEmpty = !tag.isEnd && bytes[position - 2] == UInt8(ascii: "/")
                return tag
            } else if byte == UInt8(ascii: "<") {
                break
            }
        }
        throw fault("<\(tag.name) has no end")
    }

    /// Space, comments, instructions and the document type.
    private mutating func skipMarkup() throws(PropertyListFault) {
        while position < bytes.count {
            if Self.isSpace(bytes[position]) {
                position += 1
            } else if starts("<!--") {
                try skip(to: "-->")
            } else if starts("<?") {
                try skip(to: "?>")
            } else if starts("<!DOCTYPE") {
                let end = bytes[position...].firstIndex(of: UInt8(ascii: ">")) ?? bytes.endIndex
                if bytes[position..<end].contains(UInt8(ascii: "[")) { throw fault("it defines its own elements") }
                try skip(to: ">")
            } else {
                return
            }
        }
    }

    private mutating func appendReference(to text: inout [UInt8]) throws(PropertyListFault) {
        let limit = min(position + 12, bytes.count)
        guard let end = bytes[position..<limit].firstIndex(of: UInt8(ascii: ";")) else {
            throw fault("an ampersand begins no reference")
        }
        let name = String(decoding: bytes[(position + 1)..<end], as: UTF8.self)
        guard let scalar = Self.named[name] ?? Self.numbered(name) else {
            throw fault("&\(name); is not known")
        }
        text.append(contentsOf: String(Character(scalar)).utf8)
        position = end + 1
    }

    private static let named: [String: Unicode.Scalar] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

    private static func numbered(_ name: String) -> Unicode.Scalar? {
        guard name.hasPrefix("#") else { return nil }
        let digits = name.dropFirst()
        let value = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
        return value.flatMap(Unicode.Scalar.init)
    }

    private func starts(_ word: StaticString) -> Bool {
        let end = position + word.utf8CodeUnitCount
        guard end <= bytes.count else { return false }
        let text = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
        return bytes[position..<end].elementsEqual(text)
    }

    private mutating func skip(to word: StaticString) throws(PropertyListFault) {
        var ignored: [UInt8] = []
        try appendUntil(word, to: &ignored)
    }

    private mutating func appendUntil(_ word: StaticString, to text: inout [UInt8]) throws(PropertyListFault) {
        while position < bytes.count {
            if starts(word) {
                position += word.utf8CodeUnitCount
                return
            }
            text.append(bytes[position])
            position += 1
        }
        throw fault("\(word) is missing")
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    private static func isName(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || (0x30...0x39).contains(byte)
    }

    private func fault(_ reason: String) -> PropertyListFault {
        PropertyListFault(reason: "\(reason), at byte \(position)")
    }

    // MARK: numbers

    /// In the form that JSON has: no plus sign, no leading zeros, not hexadecimal.
    private static func integer(_ text: String) -> String? {
        var digits = text.utf8.filter { $0 > 0x20 }[...]
        var sign = ""
        if let first = digits.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
            sign = first == UInt8(ascii: "-") ? "-" : ""
            digits = digits.dropFirst()
        }
        let word = String(decoding: digits, as: UTF8.self)
        if word.hasPrefix("0x") || word.hasPrefix("0X") {
            guard word.utf8.dropFirst(2).first != UInt8(ascii: "+") else { return nil }
            return UInt64(word.dropFirst(2), radix: 16).map { $0 == 0 ? "0" : sign + $0.description }
        }
        guard (1...40).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        let short = word.drop { $0 == "0" }
        return short.isEmpty ? "0" : sign + short
    }

    private static func real(_ text: String) -> Double? {
        let word = String(decoding: text.utf8.filter { $0 > 0x20 }, as: UTF8.self)
        guard word.utf8.count <= 400 else { return nil }
        return Double(word)
    }
}
