// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

/// An attempt as a curl command line that sends the same request, for people to read and try.
///
/// No value can inject shell code. With secrets masked, the request differs only in them.
package struct CurlCommand: Sendable {
    /// The command, for any POSIX shell.
    package let text: String
    /// The missing part that the user must supply; nil if the command is complete.
    package let note: String?

    /// - Parameter followsRedirects: whether the request follows redirects; adds `-L`.
    package init(_ attempt: Attempt, _ redaction: Redaction = .masked, followsRedirects: Bool = false) {
        let body = CurlBody(attempt, redaction)
        var words = ["curl"] + Self.method(attempt) + (followsRedirects ? ["-L"] : [])
        for field in attempt.fields.list where attempt.login == nil || !HTTPFields.same(field.name, "Authorization") {
            // the number of a handshake is no secret, and a server refuses the handshake without it
            let isNumber = attempt.upgrade != nil && HTTPFields.same(field.name, "Sec-WebSocket-Key")
            words += ["-H", Self.line(field.name, isNumber ? field.value : redaction.value(of: field))]
        }
        words += Self.upgrade(attempt)
        words += Self.login(attempt, redaction) + Self.corrections(attempt, body)
        words += CurlSecurity.words(attempt)
        words += Self.proxy(attempt, redaction)
        words += body.words
        words += Self.url(attempt.url, redaction)
        text = (body.input.map { "\($0) | " } ?? "") + words.joined(separator: " ")
        note = body.note
    }

    private static func method(_ attempt: Attempt) -> [String] {
        if attempt.method == "HEAD", attempt.body == .none { return ["--head"] }
        return attempt.method == "GET" && attempt.body == .none ? [] : ["-X", ShellText.quoted(attempt.method)]
    }

    /// The fields of a handshake that the transport writes; shows the head of the response, and what follows, at once.
    private static func upgrade(_ attempt: Attempt) -> [String] {
        guard let name = attempt.upgrade?.name else { return [] }
        return ["-H", "'Connection: Upgrade'", "-H", "'Upgrade: \(name)'", "-i", "-N"]
    }

    /// curl reads "Name:" as a request to omit the field, and "Name;" as an empty field.
    private static func line(_ name: String, _ value: String) -> String {
        let isBlank = value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
        return ShellText.pasted(isBlank ? "\(name);" : "\(name): \(value)")
    }

    /// The options for challenge authentication: curl must sign each request anew.
    private static func login(_ attempt: Attempt, _ redaction: Redaction) -> [String] {
        guard let login = attempt.login else { return [] }
        let credential = login.credential
        let password = redaction == .masked ? SecretFields.mask : credential.password
        let scheme: String
        switch login.scheme {
        case .basic: scheme = "--basic"
        case .digest: scheme = "--digest"
        case nil: scheme = "--anyauth"
        }
        return [scheme, "-u", ShellText.quoted("\(credential.username):\(password)")]
    }

    /// No options without a proxy setting, although curl then uses its environment and Outrider does not.
    private static func proxy(_ attempt: Attempt, _ redaction: Redaction) -> [String] {
        guard attempt.proxies != nil else { return [] }
        guard let proxy = attempt.proxy else { return ["--noproxy", ShellText.quoted("*")] }
        let words = ["-x", ShellText.quoted(proxy.text(withSecrets: redaction == .none))]
        guard proxy.speaksHTTP, let schemes = proxy.credential?.schemes else { return words }
        return words + [schemes == [.digest] ? "--proxy-digest" : "--proxy-basic"]
    }

    /// Suppresses curl's own additions, and adds fields that curl would omit.
    private static func corrections(_ attempt: Attempt, _ body: CurlBody) -> [String] {
        let fields = attempt.fields
        var words: [String] = []
        if attempt.decodesContent {
            let isAdded = !fields.contains("Accept-Encoding") && !fields.contains("Range")
            if isAdded { words += ["-H", ShellText.quoted("Accept-Encoding: \(ContentCoding.offered)")] }
            if isAdded || fields.contains("Accept-Encoding") { words.append("--compressed") }
        }
        for name in ["User-Agent", "Accept"] where !fields.contains(name) { words += ["-H", "\(name):"] }
        if !body.words.isEmpty, !fields.contains("Content-Type") { words += ["-H", "Content-Type:"] }
        if attempt.expectsContinue, attempt.body.size != 0 {
            words += ["-H", "'Expect: 100-continue'"]
        } else if body.size ?? .max > 1_000_000, !body.words.isEmpty, !fields.contains("Expect") {
            // for bodies above 1 MiB, curl sends Expect: 100-continue
            words += ["-H", "Expect:"]
        }
        if body.size == nil { words += ["-H", "'Transfer-Encoding: chunked'"] }
        if attempt.url.isSecure { words.append("--http1.1") }
        return words
    }

    private static func url(_ url: HTTPURL, _ redaction: Redaction) -> [String] {
        let target = redaction.url(url.target)
        var words: [String] = []
        if target.utf8.contains("/.".utf8) { words.append("--path-as-is") }
        let origin: String
        if let socketPath = url.socketPath {
            words += ["--unix-socket", ShellText.quoted(socketPath)]
            origin = "\(url.scheme.rawValue)://localhost"
        } else {
            origin = url.origin
            // curl leaves out the dot at the end of a name
            if url.host != url.hostName { words += ["-H", ShellText.quoted("Host: \(url.authority)")] }
        }
        if (origin + target).utf8.contains(where: { "[]{}".utf8.contains($0) }) { words.append("--globoff") }
        return words + [ShellText.quoted(origin + target)]
    }
}
