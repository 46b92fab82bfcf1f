// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Resolves references to URIs (RFC 3986) as text, as far as schemas need.
package enum URIText {
    /// The text before and after the first `#`.
    static func split(_ text: String) -> (uri: String, fragment: String?) {
        guard let mark = text.firstIndex(of: "#") else { return (text, nil) }
        return (String(text[..<mark]), String(text[text.index(after: mark)...]))
    }

    /// RFC 3986 section 5.2; a base that is itself relative is ignored.
    static func resolve(_ reference: String, against base: String) -> String {
        if schemeEnd(reference) != nil { return reference }
        guard let colon = schemeEnd(base) else { return reference.isEmpty ? base : reference }
        let scheme = base[...colon]
        let rest = base[base.index(after: colon)...]
        if reference.hasPrefix("//") { return scheme + reference }
        let (authority, path) = parts(rest)
        if reference.isEmpty { return base }
        if reference.hasPrefix("?") { return scheme + authority + path.prefix { $0 != "?" } + reference }
        if reference.hasPrefix("/") { return scheme + authority + withoutDots(reference) }
        let plain = path.prefix { $0 != "?" }
        let folder = plain.lastIndex(of: "/").map { String(plain[...$0]) } ?? (authority.isEmpty ? "" : "/")
        if folder.isEmpty && authority.isEmpty { return scheme + reference }
        return scheme + authority + withoutDots(folder + reference)
    }

    private static func parts(_ rest: Substring) -> (authority: Substring, path: Substring) {
        guard rest.hasPrefix("//") else { return (rest[..<rest.startIndex], rest) }
        let host = rest.dropFirst(2)
        let end = host.firstIndex { $0 == "/" || $0 == "?" } ?? host.endIndex
        return (rest[..<end], rest[end...])
    }

    private static func withoutDots(_ path: String) -> String {
        let isRooted = path.hasPrefix("/")
        var kept: [Substring] = []
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(isRooted ? 1 : 0)
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return (isRooted ? "/" : "") + kept.joined(separator: "/")
    }

    static func schemeEnd(_ text: String) -> String.Index? {
        guard let first = text.unicodeScalars.first, first.isASCII, first.properties.isAlphabetic else { return nil }
        for (index, scalar) in zip(text.unicodeScalars.indices, text.unicodeScalars) {
            switch scalar {
            case ":": return index
            case "a"..."z", "A"..."Z", "0"..."9", "+", "-", ".": continue
            default: return nil
            }
        }
        return nil
    }

    /// Decodes `%XX`.
    package static func decoded(_ text: String) -> String {
        guard text.utf8.contains(0x25) else { return text }
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == 0x25, rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
