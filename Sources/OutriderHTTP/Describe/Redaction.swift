// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Whether secrets are shown, and how masked text looks.
package enum Redaction: Sendable {
    case none
    /// Masks values of fields, parameters and members with secret names, and credentials in URLs, as `***`.
    case masked

    package func value(of field: HTTPFields.Field) -> String {
        guard self == .masked else { return field.value }
        if SecretFields.contains(field.name) { return SecretFields.mask }
        return Self.masked(field, SecretNames()) ?? field.value
    }

    /// Fields that hold a URL, which may hold a secret.
    private static let urls = ["Location", "Content-Location", "Referer", "Refresh", "Link"]

    /// The value of a field that holds URLs, without the parameters of these names; nil for another field.
    static func masked(_ field: HTTPFields.Field, _ names: SecretNames) -> String? {
        guard let name = urls.first(where: { HTTPFields.same(field.name, $0) }) else { return nil }
        switch name {
        case "Link": return masked(field.value, from: "<", to: ">", names)
        case "Refresh":
            let quote = field.value.first { $0 == "\"" || $0 == "'" }
            return quote.map { masked(field.value, from: $0, to: $0, names) } ?? masked(field.value, names)
        default: return masked(field.value, names)
        }
    }

    /// Masks each URL between two delimiters; what stands behind a URL, such as `; rel="next"`, stays.
    private static func masked(
        _ text: String, from start: Character, to end: Character, _ names: SecretNames
    ) -> String {
        var result = ""
        var rest = text[...]
        while let first = rest.firstIndex(of: start),
            let last = rest[rest.index(after: first)...].firstIndex(of: end)
        {
            let inside = rest.index(after: first)
            result += String(rest[..<inside])
            result += masked(String(rest[inside..<last]), names)
            result.append(end)
            rest = rest[rest.index(after: last)...]
        }
        let tail = String(rest)
        return result + (result.isEmpty || tail.contains(start) ? masked(tail, names) : tail)
    }

    package func fields(_ fields: HTTPFields) -> HTTPFields {
        guard self == .masked else { return fields }
        return HTTPFields(fields.list.map { HTTPFields.Field($0.name, value(of: $0)) })
    }

    /// A target or a whole URL: the credentials before its host, and parameters in its query and its fragment.
    package func url(_ text: String) -> String {
        self == .masked ? Self.masked(text, SecretNames()) : text
    }

    /// Masks each URL that stands between white space in a text.
    static func masked(urlsIn text: String, _ names: SecretNames) -> String {
        guard text.utf8.contains("://".utf8) else { return text }
        var result = ""
        var rest = text[...]
        while !rest.isEmpty {
            let space = rest.prefix { $0.isWhitespace }
            let word = String(rest[space.endIndex...].prefix { !$0.isWhitespace })
            rest = rest[space.endIndex...].drop { !$0.isWhitespace }
            result += space
            result += isURL(word) ? masked(word, names) : word
        }
        return result
    }

    /// The URLs that stand between white space in a text.
    static func urls(in text: String) -> [String] {
        guard text.utf8.contains("://".utf8) else { return [] }
        return text.split(whereSeparator: \.isWhitespace).map(String.init).filter(isURL)
    }

    private static func isURL(_ word: String) -> Bool {
        let bytes = Array(word.utf8)
        return URLReader.endOfScheme(bytes).map { bytes[($0 + 1)...].starts(with: "//".utf8) } ?? false
    }

    /// A target or a whole URL without the parameters of these names.
    static func masked(_ text: String, _ names: SecretNames) -> String {
        let text = withoutCredentials(text)
        let bytes = Array(text.utf8)
        guard let start = bytes.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
            return text
        }
        let fragment = bytes[start...].firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
        var masked = Array(bytes[..<start])
        masked += parameters(bytes[start..<fragment], names)
        // single-page applications put a route with its own query into the fragment
        let query = bytes[fragment...].firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
        masked += parameters(bytes[fragment..<query], names) + parameters(bytes[query...], names)
        return String(decoding: masked, as: UTF8.self)
    }

    /// Masks the credentials before the `@` in `scheme://user:password@host/` and `//user:password@host/`.
    ///
    /// In a text that is no URL, the place of the credentials is unknown: all up to the last `@` is masked, except the
    /// scheme.
    package static func withoutCredentials(_ text: String) -> String {
        guard let range = rangeOfCredentials(in: text) else { return text }
        return String(text[..<range.lowerBound]) + SecretFields.mask + String(text[range.upperBound...])
    }

    /// The credentials before the `@` of the authority, else before the last `@`; nil if there are none.
    static func credentials(of text: String) -> Substring? {
        guard let range = rangeOfCredentials(in: text) else { return nil }
        let authority = text[range].prefix { !"/?#".contains($0) }
        guard authority.endIndex < range.upperBound, let end = authority.lastIndex(of: "@") else { return text[range] }
        return authority[..<end]
    }

    private static func rangeOfCredentials(in text: String) -> Range<String.Index>? {
        guard text.utf8.contains(UInt8(ascii: "@")) else { return nil }
        let bytes = Array(text.utf8)
        // a URL that parses has no credentials
        guard let end = bytes.lastIndex(of: UInt8(ascii: "@")), !isReference(bytes),
            (try? HTTPURL(parsing: text)) == nil
        else { return nil }
        var start = endOfScheme(bytes)
        while start < end, isSlash(bytes[start]) { start += 1 }
        guard start < end else { return nil }
        let lower = text.utf8.index(text.startIndex, offsetBy: start)
        return lower..<text.utf8.index(lower, offsetBy: end - start)
    }

    /// Whether the text is a target, a query or a fragment, which have no place for credentials.
    private static func isReference(_ bytes: [UInt8]) -> Bool {
        switch bytes.first {
        case UInt8(ascii: "?"), UInt8(ascii: "#"): true
        case UInt8(ascii: "/"): bytes.count == 1 || !isSlash(bytes[1])
        default: false
        }
    }

    /// The index behind the colon of the scheme; 0 if the text before the first colon may be a user.
    private static func endOfScheme(_ bytes: [UInt8]) -> Int {
        guard let colon = URLReader.endOfScheme(bytes), colon + 1 < bytes.count else { return 0 }
        let name = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
        return isSlash(bytes[colon + 1]) || name == "http" || name == "https" ? colon + 1 : 0
    }

    private static func isSlash(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\") }

    /// Masks a body of a form, of parts of a form, or of JSON; other bodies stay unchanged.
    package func body(_ bytes: [UInt8], contentType: String?) -> [UInt8] {
        guard self == .masked else { return bytes }
        let type = contentType.flatMap(MediaType.init(parsing:))
        return WideText.changed(bytes, type) { Self.narrow($0, type) } ?? Self.narrow(bytes, type)
    }

    private static func narrow(_ bytes: [UInt8], _ type: MediaType?) -> [UInt8] {
        let names = SecretNames()
        if let type, type.subtype == "form-data" {
            return MultipartMask.masked(bytes, type[parameter: "boundary"], names) ?? bytes
        }
        let result = JSONRedaction.applies(to: bytes, type) ? JSONRedaction.masked(bytes, names) ?? bytes : bytes
        guard type?.type == "application", type?.subtype == "x-www-form-urlencoded" else { return result }
        return masked(form: result, names) ?? result
    }

    /// Masks pairs behind a question mark or a number sign, which stays.
    private static func parameters(_ bytes: ArraySlice<UInt8>, _ names: SecretNames) -> ArraySlice<UInt8> {
        guard let masked = pairs(bytes.dropFirst(), names) else { return bytes }
        return bytes.prefix(1) + masked
    }

    /// Masks a form; nil if the form holds no secret.
    static func masked(form bytes: [UInt8], _ names: SecretNames) -> [UInt8]? { pairs(bytes[...], names) }

    /// Masks pairs in the syntax of forms; nil if there is no secret.
    private static func pairs(_ bytes: ArraySlice<UInt8>, _ names: SecretNames) -> [UInt8]? {
        var isChanged = false
        let pairs = bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false).map { pair in
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), equals + 1 < pair.endIndex else { return pair }
            let name = String(decoding: PercentEncoding.decode(pair[..<equals]), as: UTF8.self)
            guard names.isSecret(parameter: name) else { return pair }
            isChanged = true
            return pair[...equals] + SecretFields.mask.utf8
        }
        return isChanged ? Array(pairs.joined(separator: [UInt8(ascii: "&")])) : nil
    }
}
