// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// The directives of the Cache-Control lines of a request or a response (RFC 9111 section 5.2, RFC 5861, RFC 8246).
///
/// All times are seconds, at most 2³¹. A broken `max-age` counts as 0, of two different ones the shorter counts; a broken
/// value of another directive counts as if the directive were not there. `no-cache="field"` is read as `no-cache`.
package struct CacheControl: Sendable, Equatable {
    package var maxAge: Int64?
    package var isNoStore = false
    package var isNoCache = false
    package var isPublic = false
    package var isPrivate = false
    package var mustRevalidate = false
    package var mustUnderstand = false
    package var isImmutable = false
    package var onlyIfCached = false
    package var staleWhileRevalidate: Int64?
    package var staleIfError: Int64?
    /// Of a request: how long a response may have been stale; `Int64.max` for any time.
    package var maxStale: Int64?
    package var minFresh: Int64?
    /// Whether there is any Cache-Control line.
    package var isPresent = false

    package init() {}

    package init(_ fields: HTTPFields) {
        for field in fields.list where HTTPFields.same(field.name, "Cache-Control") {
            isPresent = true
            for directive in CacheControlScanner.directives(in: field.value) { take(directive) }
        }
    }

    private mutating func take(_ directive: CacheControlScanner.Directive) {
        let seconds = directive.value.flatMap(CacheControlScanner.seconds)
        switch directive.name {
        case "max-age": maxAge = min(maxAge ?? .max, seconds ?? 0)
        case "no-store": isNoStore = true
        case "no-cache": isNoCache = true
        case "public": isPublic = true
        case "private": isPrivate = true
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "immutable": isImmutable = true
        case "only-if-cached": onlyIfCached = true
        case "stale-while-revalidate": staleWhileRevalidate = seconds ?? staleWhileRevalidate
        case "stale-if-error": staleIfError = seconds ?? staleIfError
        case "max-stale": maxStale = directive.value == nil ? .max : seconds ?? maxStale
        case "min-fresh": minFresh = seconds ?? minFresh
        default: break
        }
    }
}

/// Finds directives in a line of Cache-Control: `name`, `name=token` and `name="quoted, text"`, with commas between them.
package enum CacheControlScanner {
    package struct Directive: Sendable, Equatable {
        /// In lower case.
        package var name: String
        /// Without quotes; nil without `=`.
        package var value: String?
    }

    /// RFC 9111 section 1.2.2: a larger number of seconds counts as this one.
    package static let mostSeconds: Int64 = 1 << 31

    /// A line with more directives counts as `no-store`: the rest of them could say so.
    private static let mostDirectives = 64

    package static func directives(in line: String) -> [Directive] {
        var found: [Directive] = []
        for item in items(of: Array(line.utf8)) {
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let rest = item.dropFirst(name.count)
            let word = trimmed(name)
            guard !word.isEmpty else { continue }
            guard found.count < mostDirectives else { return [Directive(name: "no-store")] }
            let value = rest.isEmpty ? nil : text(of: trimmed(rest.dropFirst()))
            found.append(Directive(name: String(decoding: word, as: UTF8.self).lowercased(), value: value))
        }
        return found
    }

    /// Digits and nothing else.
    package static func seconds(_ text: String) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return min(FieldRules.decimal(text) ?? mostSeconds, mostSeconds)
    }

    /// The parts between separators that stand outside of quotes. A quote that does not end quotes nothing: `no-store`
    /// behind the quote counts.
    static func items(of bytes: [UInt8], between separator: UInt8 = UInt8(ascii: ",")) -> [ArraySlice<UInt8>] {
        var items: [ArraySlice<UInt8>] = []
        var start = 0
        var quote: Int?
        var isEscaped = false
        for (index, byte) in bytes.enumerated() {
            if isEscaped {
                isEscaped = false
            } else if quote != nil, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                quote = quote == nil ? index : nil
            } else if byte == separator, quote == nil {
                items.append(bytes[start..<index])
                start = index &+ 1
            }
        }
        if let quote {
            for index in quote..<bytes.count where bytes[index] == separator {
                items.append(bytes[start..<index])
                start = index &+ 1
            }
        }
        items.append(bytes[min(start, bytes.count)...])
        return items
    }

    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let front = bytes.drop(while: isSpace)
        return front.dropLast(front.reversed().prefix(while: isSpace).count)
    }

    /// A token as it stands, a quoted string without its quotes and escapes.
    static func text(of bytes: ArraySlice<UInt8>) -> String {
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else {
            return String(decoding: bytes, as: UTF8.self)
        }
        var plain: [UInt8] = []
        var isEscaped = false
        for byte in bytes.dropFirst().dropLast() {
            if !isEscaped, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                plain.append(byte)
                isEscaped = false
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }
}
