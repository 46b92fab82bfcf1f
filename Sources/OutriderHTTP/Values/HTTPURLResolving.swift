// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

extension HTTPURL {
    /// Resolves a reference from a response, such as Location, against this URL (RFC 3986 section 5.2).
    ///
    /// More lenient than `init(parsing:)` in white space, since servers write such references: surrounding space is
    /// dropped, and inner space percent-encoded. A reference without a fragment keeps this URL's fragment (RFC 9110
    /// section 10.2.2).
    package func resolve(reference written: String) throws(HTTPFailure) -> HTTPURL {
        let trimmed = FieldRules.trimmed(written[...])
        let reference =
            trimmed.utf8.contains(0x20)
            ? trimmed.split(
                separator: " ", omittingEmptySubsequences: false
            ).joined(separator: "%20") : String(trimmed)
        let bytes = Array(reference.utf8.prefix(URLReader.maximumLength + 1))
        var url: HTTPURL
        let isAbsolute = URLReader.endOfScheme(bytes) != nil
        // messages count the bytes of the reference, and not those of the URL that is read
        if !isAbsolute, !bytes.isEmpty { try URLReader(reference).checkBytes() }
        if isAbsolute {
            url = try HTTPURL(parsing: reference)
        } else if bytes.starts(with: "//".utf8) {
            url = try HTTPURL(parsing: "\(scheme.rawValue):\(reference)")
        } else {
            url = try HTTPURL(parsing: Self.placeholder + merged(reference))
            url = with(target: url.target, fragment: url.fragment)
        }
        if url.fragment == nil { url.fragment = fragment }
        return url
    }

    /// Any base serves to parse a path; this URL may name a socket.
    private static let placeholder = "http://x"

    private func with(target: String, fragment: String?) -> HTTPURL {
        var url = self
        url.target = target
        url.fragment = fragment
        return url
    }

    /// The reference as an absolute path with query and fragment (RFC 3986 section 5.2.3).
    private func merged(_ reference: String) -> String {
        let path = target.prefix { $0 != "?" }
        switch reference.utf8.first {
        case nil: return target
        case UInt8(ascii: "#"): return target + reference
        case UInt8(ascii: "?"): return path + reference
        case UInt8(ascii: "/"): return reference
        default:
            guard let slash = path.lastIndex(of: "/") else { return "/" + reference }
            return path[...slash] + reference
        }
    }

    /// Adds to the query; harmless with the empty text.
    package mutating func append(query: String) {
        guard !query.isEmpty else { return }
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return target += "?" + query }
        let isBare = target.utf8.index(after: mark) == target.utf8.endIndex || target.utf8.last == UInt8(ascii: "&")
        target += isBare ? query : "&" + query
    }
}
