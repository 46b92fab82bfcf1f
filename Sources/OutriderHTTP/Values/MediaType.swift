// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A media type with its parameters (RFC 9110 section 8.3.1): `text/html; charset=utf-8`.
package struct MediaType: Sendable, Equatable, CustomStringConvertible {
    /// Lower-case; `*` in a pattern.
    package var type: String
    /// Lower-case; `*` in a pattern.
    package var subtype: String
    /// Names in lower case, values as written, without quotes; the first of a repeated name counts.
    package var parameters: [Parameter]

    package struct Parameter: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(_ type: String, _ subtype: String, parameters: [Parameter] = []) {
        self.type = type
        self.subtype = subtype
        self.parameters = parameters
    }

    /// Nil when type or subtype are missing or no tokens. Parameters that make no sense are skipped, because servers
    /// write many, and the type is still worth having.
    package init?(parsing text: String) {
        // most responses that programs ask for
        if text == "application/json" {
            (type, subtype, parameters) = ("application", "json", [])
            return
        }
        let bytes = Array(text.utf8)
        guard let end = Self.endOfToken(bytes, 0), end < bytes.count, bytes[end] == UInt8(ascii: "/"),
            let close = Self.endOfToken(bytes, end + 1)
        else { return nil }
        var scan = ParameterScanner(bytes: bytes, position: close)
        guard scan.atEndOrSemicolon else { return nil }
        type = String(decoding: bytes[..<end], as: UTF8.self).lowercased()
        subtype = String(decoding: bytes[(end + 1)..<close], as: UTF8.self).lowercased()
        parameters = []
        while let parameter = scan.next() {
            if let parameter, !parameters.contains(where: { $0.name == parameter.name }) {
                parameters.append(parameter)
            }
        }
    }

    private static func endOfToken(_ bytes: [UInt8], _ start: Int) -> Int? {
        var index = start
        while index < bytes.count, FieldRules.isTokenByte(bytes[index]) { index += 1 }
        return index > start ? index : nil
    }

    package subscript(parameter name: String) -> String? {
        parameters.first { HTTPFields.same($0.name, name) }?.value
    }

    package var charset: String? { self[parameter: "charset"] }

    /// Type and subtype, without parameters.
    package var essence: String { "\(type)/\(subtype)" }

    package var description: String {
        parameters.reduce(into: essence) { text, parameter in
            let plain = FieldRules.isToken(parameter.value)
            text += "; \(parameter.name)=" + (plain ? parameter.value : Self.quoted(parameter.value))
        }
    }

    private static func quoted(_ value: String) -> String {
        var text = "\""
        for character in value.unicodeScalars {
            if character == "\"" || character == "\\" { text += "\\" }
            text.unicodeScalars.append(character)
        }
        return text + "\""
    }

    /// Whether the type matches a pattern: `text/*`, `*/*`; parameters are ignored.
    package func matches(_ pattern: MediaType) -> Bool {
        (pattern.type == "*" || pattern.type == type) && (pattern.subtype == "*" || pattern.subtype == subtype)
    }

    package var isJSON: Bool {
        subtype.hasSuffix("+json") || (type == "application" || type == "text") && subtype == "json"
    }

    /// Whether the content is text: any `text` type, XML, and textual formats of programs.
    package var isTextual: Bool {
        if type == "text" || isJSON || subtype.hasSuffix("+xml") || subtype.hasSuffix("+yaml") { return true }
        return type == "application" && Self.textualApplications.contains(subtype)
    }

    private static let textualApplications: Set<String> = [
        "ecmascript", "graphql", "javascript", "jsonl", "json-seq", "ld+json", "ndjson", "sql", "toml", "x-httpd-php",
        "x-javascript", "x-ndjson", "x-sh", "x-www-form-urlencoded", "x-yaml", "xml", "xml-dtd", "yaml",
    ]
}

/// Reads `; name=value` repeatedly.
private struct ParameterScanner {
    let bytes: [UInt8]
    var position: Int

    var atEndOrSemicolon: Bool {
        mutating get {
            skipSpace()
            return position >= bytes.count || bytes[position] == UInt8(ascii: ";")
        }
    }

    private mutating func skipSpace() {
        while position < bytes.count, bytes[position] == 0x20 || bytes[position] == 0x09 { position += 1 }
    }

    private mutating func skipToSemicolon() {
        while position < bytes.count, bytes[position] != UInt8(ascii: ";") { position += 1 }
    }

    /// The next parameter; the outer nil at the end, the inner nil for a malformed parameter.
    mutating func next() -> MediaType.Parameter?? {
        skipToSemicolon()
        guard position < bytes.count else { return nil }
        position += 1
        skipSpace()
        let start = position
        while position < bytes.count, FieldRules.isTokenByte(bytes[position]) { position += 1 }
        guard position > start, position < bytes.count, bytes[position] == UInt8(ascii: "=") else {
            return .some(nil)
        }
        let name = String(decoding: bytes[start..<position], as: UTF8.self).lowercased()
        position += 1
        guard let value = value() else { return .some(nil) }
        return MediaType.Parameter(name: name, value: value)
    }

    private mutating func value() -> String? {
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
            let start = position
            while position < bytes.count, bytes[position] != UInt8(ascii: ";"), bytes[position] > 0x20 { position += 1 }
            return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
        }
        position += 1
        var value: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count { position += 1 }
            value.append(bytes[position])
            position += 1
        }
        position = min(position + 1, bytes.count)
        return String(decoding: value, as: UTF8.self)
    }
}
