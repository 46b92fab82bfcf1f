// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

@testable import OutriderHTTP

/// A URL that is accepted is written and read again to itself, and so is what it resolves.
func url(_ input: Input) {
    let parts = input.text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let first = parts.first else { return }
    let bases = ["http://a.test/b/c?d#e", "http+unix://%2Ftmp%2Fs/x"]
    if let url = try? HTTPURL(parsing: first) {
        isSound(url)
        if parts.count == 2, let resolved = try? url.resolve(reference: parts[1]) { isSound(resolved) }
    }
    for base in bases {
        guard let base = try? HTTPURL(parsing: base), let url = try? base.resolve(reference: first) else { continue }
        isSound(url)
    }
}

private func isSound(_ url: HTTPURL) {
    let visible = url.described.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    expect(visible, "a byte that no request may hold: \(url.described)")
    expect((1...65535).contains(url.port), "port \(url.port)")
    expect(url.target.utf8.first == UInt8(ascii: "/"), "the target \(url.target)")
    expect(!url.host.contains { $0.isUppercase || "/?#@\\".contains($0) }, "the host \(url.host)")
    // escaping may make a URL longer than a URL may be
    guard url.described.utf8.count <= HTTPURL.maximumLength else { return }
    let again = Result { () throws(HTTPFailure) in try HTTPURL(parsing: url.described) }
    expect((try? again.get()) == url, "read again it is another one: \(url.described) \(again)")
}

/// Names of files are safe, whatever a server suggests.
func disposition(_ input: Input) {
    let parsed = ContentDisposition(parsing: input.text)
    let name = FileName.suggested(["Content-Disposition": input.text].fields, url: nil)
    expect(FileName.fault(name) == nil && name.utf8.count <= FileName.mostBytes, "the name \(name)")
    expect(!name.hasPrefix(".") && !name.hasPrefix("-") && !name.contains("\\"), "the name \(name)")
    expect(FileName.safe(name) == name, "the safe name of \(name) is another one")
    // a name that is written by the rules is read again
    if let filename = parsed.filename, !filename.unicodeScalars.contains("\u{FFFD}") {
        let again = ContentDisposition(parsing: "attachment; filename=\(quoted(filename))")
        expect(again.filename == filename && again.type == "attachment", "read again it is \(again)")
        let coded = PercentEncoding.segment.escape(filename)
        let wide = ContentDisposition(parsing: "attachment; filename*=UTF-8''\(coded)")
        expect(wide.filename == filename, "escaped and read again it is \(wide)")
    }
}

extension [String: String] {
    fileprivate var fields: HTTPFields { HTTPFields(map { HTTPFields.Field($0.key, $0.value) }) }
}

func challenges(_ input: Input) {
    let lines = input.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let found = ChallengeScanner.challenges(in: lines)
    expect(found.count <= ChallengeScanner.mostChallenges, "too many challenges")
    for challenge in found {
        expect(challenge.parameters.count <= ChallengeScanner.mostParameters, "too many parameters")
        expect(FieldRules.isToken(challenge.scheme), "the scheme \(challenge.scheme)")
    }
    _ = ChallengeScanner.parameters(in: lines.map { FieldText($0) })
    // replaced bytes are longer: what is written may exceed the limit
    let written = found.map(written)
    guard written.reduce(0, { $0 + $1.utf8.count }) <= ChallengeScanner.mostBytes / 2 else { return }
    let again = ChallengeScanner.challenges(in: written)
    expect(again == found, "read again: \(again), and not \(found)")
    if let url = try? HTTPURL(parsing: "https://a.test/") { _ = AuthenticationOffer.ranked(found, from: url) }
}

private func written(_ challenge: Challenge) -> String {
    // some servers write parameters behind a token
    let token = challenge.token.map { [$0] } ?? []
    let list = token + challenge.parameters.map { "\($0.name)=\(quoted($0.value))" }
    return "\(challenge.scheme) \(list.joined(separator: ", "))"
}

func cookies(_ input: Input) {
    if let cookie = try? SetCookieScanner.scan(input.text) {
        let size = cookie.name.utf8.count + cookie.value.utf8.count
        expect(!cookie.name.isEmpty && size <= Cookie.mostBytes, "the size of \(cookie)")
        expect(cookie.end(now: 1 << 50).map { $0 <= 1 << 50 + 1 << 46 } ?? true, "the end of \(cookie)")
        // a dot makes a domain longer than an attribute may be, and no date has such a year
        guard (cookie.domain ?? "").utf8.count < 1024, cookie.expires.map({ HTTPDate.format($0) != nil }) ?? true else {
            return
        }
        var line = "\(cookie.name)=\(cookie.value)"
        if let domain = cookie.domain { line += "; Domain=.\(domain)" }
        if let path = cookie.path { line += "; Path=\(path)" }
        if let age = cookie.maxAge { line += "; Max-Age=\(age)" }
        if let site = cookie.sameSite { line += "; SameSite=\(site.rawValue)" }
        if let time = cookie.expires, let date = HTTPDate.format(time) { line += "; Expires=\(date)" }
        line += (cookie.isSecure ? "; Secure" : "") + (cookie.isHTTPOnly ? "; HttpOnly" : "")
        line += cookie.isPartitioned ? "; Partitioned" : ""
        let again = try? SetCookieScanner.scan(line)
        expect(again == cookie, "read again: \(String(describing: again)), and not \(cookie)")
    }
}

/// The file of cookies that curl and browsers exchange.
func netscape(_ input: Input) {
    let suffixes = PublicSuffixes.builtIn
    let found = NetscapeCookies.read(input.bytes, suffixes, now: 1 << 50)
    let (text, skipped) = NetscapeCookies.write(found.cookies)
    guard skipped.isEmpty else { return }
    let again = NetscapeCookies.read(text, suffixes, now: 1 << 50)
    // the file has whole seconds
    let rounded = found.cookies.map { cookie in
        var cookie = cookie
        cookie.expires = cookie.expires.map { $0 / Cookie.second * Cookie.second }
        return cookie
    }
    expect(again.cookies == rounded, "the file read again: \(again), and not \(rounded)")
}

func cacheControl(_ input: Input) {
    let lines = input.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let control = CacheControl(HTTPFields(lines.map { HTTPFields.Field("Cache-Control", $0) }))
    for seconds in [control.maxAge, control.minFresh, control.staleIfError, control.staleWhileRevalidate] {
        expect((0...CacheControlScanner.mostSeconds).contains(seconds ?? 0), "\(control)")
    }
    for line in lines {
        let found = CacheControlScanner.directives(in: line)
        expect(found.count <= 64, "too many directives")
        let written = found.map { $0.name + ($0.value.map { "=\(quoted($0))" } ?? "") }
        // a name may hold a quote, which begins no quoted string again
        if found.contains(where: { $0.name.utf8.contains(UInt8(ascii: "\"")) }) { continue }
        let again = CacheControlScanner.directives(in: written.joined(separator: ","))
        expect(again == found, "read again: \(again), and not \(found)")
    }
    _ = CacheControl(HTTPFields(lines.map { HTTPFields.Field("cache-control", $0) }))
}

func dates(_ input: Input) {
    let now: Int64 = 1_790_000_000
    if let seconds = HTTPDate.parse(input.text, now: now) {
        let again = HTTPDate.format(seconds).flatMap { HTTPDate.parse($0, now: now) }
        expect(again == seconds, "written again: \(seconds)")
    }
    _ = CookieDate.parse(input.bytes)
    if let seconds = RetryAfter.seconds(["Retry-After": input.text].fields, now: now) {
        expect(seconds >= 0 && seconds.isFinite, "\(seconds) seconds")
    }
}

func mediaType(_ input: Input) {
    guard let type = MediaType(parsing: input.text) else { return }
    let again = MediaType(parsing: type.description)
    expect(again == type, "read again: \(String(describing: again)), and not \(type)")
}
