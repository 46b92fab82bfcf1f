// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Cookies in fields (RFC 6265 sections 4.1 and 4.2), for display: neither validated nor stored.
package struct ShownCookie: Sendable, Equatable {
    package var name: String
    package var value: String
    package var path: String?
    package var domain: String?
    /// As received.
    package var expires: String?
    package var isHTTPOnly = false
    package var isSecure = false

    /// All cookies of the Cookie fields.
    package static func sent(_ fields: HTTPFields) -> [ShownCookie] {
        fields.all("Cookie").flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }.map { item in
            let (name, value) = pair(Substring(item))
            return ShownCookie(name: name, value: value)
        }
    }

    /// A cookie per Set-Cookie field.
    package static func received(_ fields: HTTPFields) -> [ShownCookie] {
        fields.all("Set-Cookie").map { field in
            let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            let (name, value) = pair(Substring(parts[0]))
            var cookie = ShownCookie(name: name, value: value)
            for part in parts.dropFirst() { cookie.take(Substring(part)) }
            return cookie
        }
    }

    private mutating func take(_ attribute: Substring) {
        let (name, value) = Self.pair(attribute)
        switch name.lowercased() {
        case "path": path = value
        case "domain": domain = value
        case "expires": expires = value
        case "httponly": isHTTPOnly = true
        case "secure": isSecure = true
        default: break
        }
    }

    private static func pair(_ text: Substring) -> (String, String) {
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            return (String(FieldRules.trimmed(text)), "")
        }
        let value = text[text.utf8.index(after: equals)...]
        return (String(FieldRules.trimmed(text[..<equals])), String(FieldRules.trimmed(value)))
    }
}

/// The pairs of a query or a form, decoded, for showing them.
package enum QueryPairs {
    /// The query of a target or URL: from the `?` up to the fragment.
    package static func of(_ url: String) -> [(name: String, value: String)] {
        guard let mark = url.utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        return of(form: url.utf8[url.utf8.index(after: mark)...].prefix { $0 != UInt8(ascii: "#") })
    }

    /// The pairs of a form.
    package static func of(form: some Collection<UInt8>) -> [(name: String, value: String)] {
        Array(form).split(separator: UInt8(ascii: "&")).map { pair in
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            return (text(pair[..<equals]), text(pair[equals...].dropFirst()))
        }
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
        let spaced = bytes.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        return String(decoding: PercentEncoding.decode(spaced), as: UTF8.self)
    }
}
