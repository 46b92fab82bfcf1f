// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// A parsed Set-Cookie field (RFC 6265bis section 5.6), before any storage rule applies.
package struct SetCookie: Sendable, Equatable {
    package var name = ""
    package var value = ""
    /// Without a leading dot, in lower case; nil if absent or empty.
    package var domain: String?
    /// Nil if absent, or without a leading slash.
    package var path: String?
    /// Seconds since 1970, from Expires.
    package var expires: Int64?
    /// Seconds, from Max-Age, which counts before Expires; zero or less removes the cookie.
    package var maxAge: Int64?
    package var isSecure = false
    package var isHTTPOnly = false
    package var sameSite: Cookie.SameSite?
    package var isPartitioned = false

    /// When the cookie ends, in microseconds since 1970; nil for the end of the session.
    package func end(now: Int64) -> Int64? {
        if let maxAge {
            return maxAge <= 0 ? .min : now &+ min(maxAge, Cookie.longestLife) &* Cookie.second
        }
        return expires.map { Cookie.capped(Cookie.time(seconds: $0), now: now) }
    }
}

/// Parses a Set-Cookie field: bytes are never decoded, quotes and commas belong to the value.
package struct SetCookieScanner {
    /// Throws the reason for which the whole field is ignored.
    ///
    /// - Parameter isLatin1: the bytes of the field are ISO 8859-1: see `FieldText`.
    package static func scan(_ field: String, isLatin1: Bool = false) throws(CookieError) -> SetCookie {
        var field = field
        var found: Result<SetCookie, CookieError>?
        field.withUTF8 { bytes in
            do throws(CookieError) {
                found = .success(try scan(bytes, isLatin1))
            } catch {
                found = .failure(error)
            }
        }
        guard let found else { throw CookieError(.noName) }
        return try found.get()
    }

    private static func scan(
        _ bytes: UnsafeBufferPointer<UInt8>, _ isLatin1: Bool
    ) throws(CookieError) -> SetCookie {
        var cookie = SetCookie()
        let end = bytes.firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
        let pair = bytes[..<end]
        let equals = pair.firstIndex(of: UInt8(ascii: "="))
        if let equals { cookie.name = text(pair[..<equals]) }
        if bytes.contains(where: isControl) { throw CookieError(.controlCharacter, name: shown(cookie.name)) }
        cookie.value = text(equals.map { pair[($0 + 1)...] } ?? pair)
        guard !cookie.name.isEmpty else { throw CookieError(.noName) }
        let size = Cookie.size(cookie.name, isLatin1: isLatin1) + Cookie.size(cookie.value, isLatin1: isLatin1)
        guard size <= Cookie.mostBytes else {
            throw CookieError(.tooLarge, name: shown(cookie.name))
        }
        guard end < bytes.count else { return cookie }
        for attribute in bytes[(end + 1)...].split(separator: UInt8(ascii: ";")) { cookie.take(attribute) }
        return cookie
    }

    private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

    /// A name for messages and events: short, without control characters.
    static func shown(_ name: String) -> String {
        let start = name.unicodeScalars.prefix(64).map { $0.value < 0x20 || $0.value == 0x7F ? "?" : $0 }
        return String(String.UnicodeScalarView(start))
    }

    fileprivate static func text(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> String {
        String(decoding: trimmed(bytes), as: UTF8.self)
    }

    fileprivate static func trimmed(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Slice<UnsafeBufferPointer<UInt8>> {
        var bytes = bytes
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        return bytes
    }

    /// Digits with an optional minus; numbers too large for 64 bits count as the largest.
    fileprivate static func number(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let digits = isNegative ? bytes.dropFirst() : bytes
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        if isNegative { return -1 }
        var number: Int64 = 0
        for digit in digits { number = min(number * 10 + Int64(digit &- 0x30), 1 << 40) }
        return number
    }
}

extension SetCookie {
    /// Values over 1,024 bytes are ignored.
    fileprivate mutating func take(_ attribute: Slice<UnsafeBufferPointer<UInt8>>) {
        let equals = attribute.firstIndex(of: UInt8(ascii: "="))
        let name = SetCookieScanner.text(equals.map { attribute[..<$0] } ?? attribute).lowercased()
        let value = SetCookieScanner.trimmed(equals.map { attribute[($0 + 1)...] } ?? attribute[attribute.endIndex...])
        guard value.count <= 1024 else { return }
        switch name {
        case "expires": if let date = CookieDate.parse(value) { expires = date }
        case "max-age": if let seconds = SetCookieScanner.number(value) { maxAge = seconds }
        case "domain":
            // white space behind the dot stays: a host has none
            let text = String(decoding: value.first == UInt8(ascii: ".") ? value.dropFirst() : value, as: UTF8.self)
            // ASCII only: other characters are refused later, and must stay unchanged until then
            domain = text.isEmpty ? nil : HTTPFields.key(text)
        case "path": path = value.first == UInt8(ascii: "/") ? SetCookieScanner.text(value) : nil
        case "secure": isSecure = true
        case "httponly": isHTTPOnly = true
        case "samesite": sameSite = Cookie.SameSite(rawValue: SetCookieScanner.text(value).lowercased())
        case "partitioned": isPartitioned = true
        default: break
        }
    }
}

/// Why a cookie was refused.
package struct CookieError: Error, Equatable {
    package var reason: CookieRefusal
    /// The name as far as known, at most 64 characters.
    package var name: String

    package init(_ reason: CookieRefusal, name: String = "") {
        self.reason = reason
        self.name = name
    }
}
