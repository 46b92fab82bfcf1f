// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Whether secrets are shown, and how what holds them looks without.
package enum Redaction: Sendable {
    case none
    /// Values of fields, parameters and members with telling names become `***`.
    case masked

    package func value(of field: HTTPFields.Field) -> String {
        guard self == .masked else { return field.value }
        if SecretFields.contains(field.name) { return SecretFields.mask }
        return Self.urls.contains { HTTPFields.same(field.name, $0) } ? url(field.value) : field.value
    }

    /// Fields that hold a URL, which may hold a secret.
    private static let urls = ["Location", "Content-Location", "Referer", "Refresh"]

    package func fields(_ fields: HTTPFields) -> HTTPFields {
        guard self == .masked else { return fields }
        return HTTPFields(fields.list.map { HTTPFields.Field($0.name, value(of: $0)) })
    }

    /// A target or a whole URL: what stands in its query, and nothing else.
    package func url(_ text: String) -> String {
        guard self == .masked, let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return text }
        let query = text.utf8[text.utf8.index(after: mark)...]
        let end = query.firstIndex(of: UInt8(ascii: "#")) ?? query.endIndex
        guard let masked = Self.pairs(Array(query[..<end])) else { return text }
        return String(text[...mark]) + String(decoding: masked, as: UTF8.self) + String(text[end...])
    }

    /// A body of a form or of JSON; others stay as they are.
    package func body(_ bytes: [UInt8], contentType: String?) -> [UInt8] {
        guard self == .masked, let type = contentType.flatMap(MediaType.init(parsing:)) else { return bytes }
        if type.type == "application", type.subtype == "x-www-form-urlencoded" {
            return Self.pairs(bytes) ?? bytes
        }
        guard type.subtype == "json" || type.subtype.hasSuffix("+json") else { return bytes }
        return Self.members(bytes) ?? bytes
    }

    /// Pairs as in a form; nil if there is nothing to hide.
    private static func pairs(_ bytes: [UInt8]) -> [UInt8]? {
        var isChanged = false
        let pairs = bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { pair in
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), equals + 1 < pair.endIndex else { return pair }
            let name = String(decoding: PercentEncoding.decode(pair[..<equals]), as: UTF8.self)
            guard SecretFields.containsParameter(lastSubscript(name)) else { return pair }
            isChanged = true
            return pair[...equals] + SecretFields.mask.utf8
        }
        return isChanged ? Array(pairs.joined(separator: [UInt8(ascii: "&")])) : nil
    }

    /// Of `user[password]` the part that tells.
    private static func lastSubscript(_ name: String) -> String {
        guard name.utf8.last == UInt8(ascii: "]"), let open = name.utf8.lastIndex(of: UInt8(ascii: "[")) else {
            return name
        }
        return String(name[name.utf8.index(after: open)...].dropLast())
    }

    /// Members of JSON whose values are strings; nil if there is nothing to hide. What is no JSON is read as far as it
    /// looks like it.
    private static func members(_ bytes: [UInt8]) -> [UInt8]? {
        var masked: [UInt8] = []
        var isChanged = false
        var position = 0
        /// The name that the string before a colon gave.
        var name: ArraySlice<UInt8>?
        while position < bytes.count {
            let byte = bytes[position]
            guard byte == UInt8(ascii: "\"") else {
                // only white space may stand between a name, its colon and its value
                if byte != UInt8(ascii: ":"), !isSpace(byte) { name = nil }
                masked.append(byte)
                position += 1
                continue
            }
            let end = endOfString(bytes, position)
            let text = bytes[position..<end]
            if isValue(masked), let told = name, isTelling(told) {
                masked += "\"\(SecretFields.mask)\"".utf8
                isChanged = true
            } else {
                masked += text
            }
            name = text
            position = end
        }
        return isChanged ? masked : nil
    }

    /// Whether what has been written ends in a colon, so that a value follows.
    private static func isValue(_ written: [UInt8]) -> Bool {
        written.last { !isSpace($0) } == UInt8(ascii: ":")
    }

    private static func isTelling(_ quoted: ArraySlice<UInt8>) -> Bool {
        SecretFields.containsParameter(String(decoding: quoted.dropFirst().dropLast(), as: UTF8.self))
    }

    private static func endOfString(_ bytes: [UInt8], _ start: Int) -> Int {
        var position = start + 1
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""): return position + 1
            case UInt8(ascii: "\\"): position += 2
            default: position += 1
            }
        }
        return bytes.count
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}
