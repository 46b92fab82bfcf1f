// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// Cookie files in the form of Netscape, as curl, wget and yt-dlp write them: seven fields between tabs.
///
///     # Netscape HTTP Cookie File
///     #HttpOnly_.example.org	TRUE	/	TRUE	1767225600	name	value
package enum NetscapeCookies {
    /// A line that set no cookie.
    package struct Skipped: Sendable, Equatable {
        /// From 1.
        package var line: Int
        package var reason: String

        package init(line: Int, reason: String) {
            self.line = line
            self.reason = reason
        }
    }

    package struct Found: Sendable, Equatable {
        package var cookies: [Cookie] = []
        package var skipped: [Skipped] = []
    }

    private static let tab = UInt8(ascii: "\t")
    private static let httpOnly = "#HttpOnly_"
    /// More lines that were skipped are not listed.
    private static let mostSkipped = 1000

    /// Reads a file; malformed lines are skipped. A cookie keeps the bytes of its name and value, also those that are not
    /// UTF-8.
    ///
    /// - Parameter now: microseconds since 1970; the cookies count as used now, and each is a little younger than the
    ///   cookie before.
    package static func read(_ bytes: [UInt8], _ suffixes: PublicSuffixes, now: Int64) -> Found {
        var found = Found()
        for (index, raw) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let line = raw.last == 0x0D ? raw.dropLast() : raw
            let isHTTPOnly = line.starts(with: httpOnly.utf8)
            if line.first == UInt8(ascii: "#"), !isHTTPOnly { continue }
            if line.allSatisfy({ $0 == 0x20 || $0 == tab }) { continue }
            let fields = (isHTTPOnly ? line.dropFirst(httpOnly.utf8.count) : line[...])
                .split(separator: tab, omittingEmptySubsequences: false)
            do throws(CookieLineFault) {
                var cookie = try cookie(fields, suffixes)
                cookie.isHTTPOnly = isHTTPOnly
                cookie.expires = cookie.expires.map { Cookie.capped($0, now: now) }
                (cookie.created, cookie.used) = (now &+ Int64(found.cookies.count), now)
                do throws(CookieError) {
                    try CookieRules.check(cookie, suffixes)
                } catch {
                    throw CookieLineFault(error.reason.text)
                }
                found.cookies.append(cookie)
            } catch {
                if found.skipped.count < mostSkipped {
                    found.skipped.append(Skipped(line: index + 1, reason: error.reason))
                }
            }
        }
        return found
    }

    private struct CookieLineFault: Error {
        var reason: String
        init(_ reason: String) { self.reason = reason }
    }

    /// Six fields mean an empty value; the flag, not a leading dot, decides whether the cookie is sent to hosts below.
    private static func cookie(
        _ line: [ArraySlice<UInt8>], _ suffixes: PublicSuffixes
    ) throws(CookieLineFault) -> Cookie {
        guard line.count == 6 || line.count == 7 else {
            throw CookieLineFault("has \(line.count) fields between tabs, not 7")
        }
        let fields = line[..<5].map { String(decoding: $0, as: UTF8.self) }
        guard let isWide = flag(fields[1]) else { throw CookieLineFault("the second field is neither TRUE nor FALSE") }
        guard let isSecure = flag(fields[3]) else {
            throw CookieLineFault("the fourth field is neither TRUE nor FALSE")
        }
        guard let expires = seconds(fields[4]) else { throw CookieLineFault("the fifth field is no time in seconds") }
        // curl writes the Path of a server as it came, and reads a path in quotes without them
        var bytes = line[2]
        if bytes.first == UInt8(ascii: "\"") {
            bytes = bytes.dropFirst()
            if bytes.last == UInt8(ascii: "\"") { bytes = bytes.dropLast() }
        }
        guard var path = String(validating: bytes, as: UTF8.self) else {
            throw CookieLineFault("the path is not UTF-8")
        }
        if path.isEmpty { path = "/" }
        guard path.utf8.first == UInt8(ascii: "/") else { throw CookieLineFault("the path does not begin with /") }
        let written = fields[0].utf8.first == UInt8(ascii: ".") ? String(fields[0].dropFirst()) : fields[0]
        guard let host = canonicalHost(written) ?? canonicalHost(withoutPort(written)) else {
            throw CookieLineFault("the domain is no host name")
        }
        let pair = line[5...].map { FieldRules.text($0) }
        let isLatin1 = pair.contains(where: \.isLatin1)
        let texts = pair.map { isLatin1 ? $0.asLatin1.text : $0.text }
        var cookie = Cookie(name: texts[0], value: texts.count == 2 ? texts[1] : "", domain: host)
        cookie.isLatin1 = isLatin1
        cookie.isHostOnly = !isWide || isAddress(host)
        cookie.path = path
        cookie.isSecure = isSecure
        cookie.expires = expires == 0 ? nil : Cookie.time(seconds: expires)
        return cookie
    }

    /// The host of `host:port`, which wget writes for servers at other ports than the usual ones.
    private static func withoutPort(_ text: String) -> String {
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else { return text }
        let port = text[colon...].utf8.dropFirst()
        return !port.isEmpty && port.allSatisfy { (0x30...0x39).contains($0) } ? String(text[..<colon]) : text
    }

    private static func flag(_ text: String) -> Bool? {
        switch text.uppercased() {
        case "TRUE": true
        case "FALSE": false
        default: nil
        }
    }

    /// Parses whole seconds; the fraction that wget and some browsers add is ignored. 0, and the empty text that
    /// `http.cookiejar` of Python writes, mean a cookie of the session.
    private static func seconds(_ text: String) -> Int64? {
        if text.isEmpty { return 0 }
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, let seconds = Int64(whole) else { return nil }  // safe: of a text this gives nil
        guard parts.count == 1 || parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return max(seconds, 0)
    }

    /// A host in the form of jars: lower case, in punycode, no dot at the end, an IPv6 address without brackets; nil if
    /// invalid.
    package static func canonicalHost(_ text: String) -> String? {
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        let inner = isBracketed ? String(text.dropFirst().dropLast()) : text
        do throws(HTTPFailure) {
            if inner.utf8.contains(UInt8(ascii: ":")) { return try IPAddressText.ipv6(Array(inner.utf8)[...]) }
            guard !inner.isEmpty, inner.utf8.last != UInt8(ascii: ".") else { return nil }
            return try HostName.canonical(Array(inner.utf8)[...])
        } catch {
            return nil
        }
    }

    package static func isAddress(_ host: String) -> Bool { IPAddressText.bytes(of: host) != nil }

    // MARK: writing

    /// Writes a file. Cookies with a partition, or with a tab or line end in a value, cannot be written; their names are
    /// returned.
    ///
    /// - Parameter asText: all of the file is UTF-8; otherwise each cookie has the bytes that its server sent.
    package static func write(_ cookies: [Cookie], asText: Bool = false) -> (text: [UInt8], skipped: [String]) {
        var text = Array("# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n".utf8)
        var skipped: [String] = []
        for cookie in cookies {
            let parts = [cookie.domain, cookie.path, cookie.name, cookie.value]
            let isBroken = parts.contains { $0.utf8.contains { $0 == tab || $0 == 0x0A || $0 == 0x0D } }
            // without its partition, a cookie would reach other sites
            if isBroken || cookie.partition != nil {
                skipped.append(cookie.name)
                continue
            }
            let expires = cookie.expires.map { max($0 / Cookie.second, 1) } ?? 0
            text += Array(cookie.isHTTPOnly ? httpOnly.utf8 : "".utf8)
            text += Array(
                [
                    (cookie.isHostOnly ? "" : ".") + cookie.domain, cookie.isHostOnly ? "FALSE" : "TRUE", cookie.path,
                    cookie.isSecure ? "TRUE" : "FALSE", String(expires), "",
                ].joined(separator: "\t").utf8)
            let isLatin1 = cookie.isLatin1 && !asText
            text += FieldText("\(cookie.name)\t\(cookie.value)\n", isLatin1: isLatin1).bytes
        }
        return (text, skipped)
    }
}
