// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderHTTP
import OutriderJSON

/// Turns a curl command line, copied from a browser or a document, into a call of the service.
struct ImportCurlCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Turns a curl command line into a call.",
        discussion: """
              outrider import "curl -d name=wolf https://example.org/form"
              wl-paste | outrider import -
              outrider import --run "$(wl-paste)"

            Writes the parameters of `data.send` as JSON; secrets in them are shown. With --run the request is made, and the \
            body written as by `outrider get`. Both forms of browsers are read, for bash and for cmd.exe. Fields of the \
            connection are left out, and -u sends Basic at once, as curl does. An option that Outrider has not is named; \
            nothing is run by a shell.
            """)

    @Argument(help: "The command line as a single word, or - for standard input.")
    var line: String

    @Flag(name: .customLong("run"), help: "Make the request.")
    var makesRequest = false

    func run() throws {
        let given =
            try line == "-" ? StandardInput.text(StandardInput.whole(most: 1 << 22), of: "standard input") : line
        let text = Self.bare(given)
        if let language = Self.language(of: text) {
            throw CommandFailure(
                .usage, "the text is \(language), and no curl command line: choose Copy as cURL in the browser")
        }
        var words =
            CommandPromptWords.fits(text) ? try CommandPromptWords.split(text) : try ShellWords.split(text)
        guard words.first == "curl" || words.first == "curl.exe" else {
            throw CommandFailure(.usage, "the command line does not begin with curl")
        }
        words = ["get"] + (try ShortOptions.ofCurl.parsable(words.dropFirst()))
        // without its options, such a line may lack a URL
        if line == "-", zip(words, words.dropFirst()).contains(where: { $0 == "--config" && $1 == "-" }) {
            throw Self.inputTwice
        }
        let calls = try NextRequests.split(words).map { words in try Self.call(of: Array(words.dropFirst())) }
        try NextRequests.check(calls)
        if line == "-", calls.contains(where: \.namesInput) { throw Self.inputTwice }
        if makesRequest {
            let requests = calls.map { call in { () throws -> Void in try call.run(nil) } }
            return try NextRequests.run(requests, failsEarly: words.contains("--fail-early"))
        }
        for call in calls {
            if call.cookies.sessionJar != nil {
                StandardError.line(
                    "outrider: files of -b and -c are left out: a jar belongs to a session (--run uses them)")
            }
            for params in try call.calls(nil) {
                try StandardOutput.line(JSONWriter.bytes(of: JSONValue.object(params)))
            }
        }
    }

    private static let inputTwice = CommandFailure(
        .usage, "standard input has the command line, which names standard input, too: write a file for one of them")

    /// The request of the words of a single one, in the grammar of the parser.
    private static func call(of words: [String]) throws -> RequestCall {
        let scheme = try Self.defaultScheme(of: words)
        var call: RequestCall
        do {
            call = try RequestCall.parse(Self.translated(words))
        } catch {
            let message = RequestCall.message(for: error)
            if let advice = OptionAdvice.line(for: message, of: "import") { throw CommandFailure(.usage, advice) }
            let sentence = ParserComplaint.pruned(message)
            throw CommandFailure(.usage, sentence.hasPrefix("Error: ") ? String(sentence.dropFirst(7)) : sentence)
        }
        if let fault = call.words.lazy.compactMap({ Self.otherProtocol($0, words) }).first {
            throw CommandFailure(.usage, fault)
        }
        call.words = call.words.map { ShellURL.complete($0, scheme: scheme) }
        try Self.takeCredentials(from: &call)
        call.request.headers = CopiedFields.sendable(call.request.headers, to: call.words)
        call.auth.scheme = Self.scheme(of: words)
        if words.contains("--path-as-is"), call.words.contains(where: Self.hasDots) {
            throw CommandFailure(
                .usage, "--path-as-is: . and .. in the path of a URL are resolved: another request would be sent")
        }
        return call
    }

    /// The scheme that curl gives a URL without one: http, also for hosts beyond this machine.
    private static func defaultScheme(of words: [String]) throws(CommandFailure) -> String {
        let option = "--proto-default"
        let word = words.last { $0.hasPrefix("\(option)=") }.map { String($0.dropFirst(option.count + 1)) }
        let next = words.lastIndex(of: option).flatMap { words[($0 + 1)...].first }
        let scheme = word ?? next ?? "http"
        if ["http", "https"].contains(scheme) { return scheme }
        throw CommandFailure(.usage, "\(option) \(scheme): http and https are spoken")
    }

    /// The protocols that curl takes the name of a host for, if the URL has no scheme, and others that it speaks.
    private static let guessed = ["ftp", "dict", "ldap", "imap", "smtp", "pop3"]
    private static let otherProtocols: Set = [
        "ftps", "sftp", "scp", "file", "gopher", "ldaps", "imaps", "smtps", "pop3s", "rtsp", "telnet", "tftp", "mqtt",
    ]

    /// Why curl would not speak HTTP with a URL; nil for URLs of HTTP.
    private static func otherProtocol(_ word: String, _ words: [String]) -> String? {
        let remedy = "http and https alone are supported"
        if ShellURL.hasScheme(word), let end = word.firstRange(of: "://") {
            let scheme = word[..<end.lowerBound].lowercased()
            guard guessed.contains(scheme) || otherProtocols.contains(scheme) else { return nil }
            return "\(scheme)://: \(scheme.uppercased()) is not supported: \(remedy)"
        }
        let authority = word.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        // a password stays unsaid
        let host = (authority.split(separator: "@").last ?? "").lowercased()
        guard !words.contains(where: { $0.hasPrefix("--proto-default") }),
            let scheme = guessed.first(where: { host.hasPrefix("\($0).") })
        else { return nil }
        return """
            \(host): curl speaks \(scheme.uppercased()) with a host of that name, which is not supported: \(remedy) \
            (write http:// or https:// before the host)
            """
    }

    /// Takes user and password from the URLs, as curl does; those of `-u` have precedence.
    private static func takeCredentials(from call: inout RequestCall) throws(CommandFailure) {
        var users: Set<String> = []
        call.words = call.words.map { word in
            let rest = ShellURL.afterScheme(word)
            let authority = rest.prefix { !"/?#".contains($0) }
            guard ShellURL.hasScheme(word), let at = authority.unicodeScalars.lastIndex(of: "@") else {
                users.insert("")
                return word
            }
            let user = authority[..<at]
            let credential = String(decoding: PercentEncoding.decode(user.utf8), as: UTF8.self)
            users.insert(user.unicodeScalars.contains(":") ? credential : credential + ":")
            return String(word[..<rest.startIndex] + rest[rest.unicodeScalars.index(after: at)...])
        }
        if users == [""] || call.auth.user != nil { return }
        guard users.count == 1 else {
            throw CommandFailure(.usage, "the URLs hold different credentials: write one command for each")
        }
        call.auth.user = users.first
    }

    /// How curl sends user and password: by Digest alone with `--digest`, so that no server gets the password.
    private static func scheme(of words: [String]) -> String? {
        guard !words.contains("--anyauth") else { return nil }
        guard words.contains("--digest") else { return "basic" }
        return words.contains("--basic") ? nil : "digest"
    }

    /// Whether the path of a URL has segments that mean another place (RFC 3986 section 3.3).
    private static func hasDots(_ url: String) -> Bool {
        let path = ShellURL.afterScheme(url).prefix { $0 != "?" && $0 != "#" }
        return path.split(separator: "/").dropFirst().contains { $0 == "." || $0 == ".." }
    }

    /// The text without a byte order mark, and without the prompt that documents show.
    private static func bare(_ text: String) -> String {
        let text = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
        return String(text.hasPrefix("$ ") ? text.dropFirst(2) : text)
    }

    /// The language of another form that browsers copy; nil for a command line.
    private static func language(of text: String) -> String? {
        if text.hasPrefix("$session") || text.hasPrefix("Invoke-") { return "PowerShell" }
        return text.hasPrefix("fetch(") || text.hasPrefix("await fetch(") ? "JavaScript" : nil
    }

    /// Options of curl that change nothing here, and are no options of `outrider get`: `OptionAdvice` says why.
    private static let needless: Set = [
        "--anyauth", "--basic", "--digest", "--path-as-is", "--proxytunnel", "-p",
    ]
    /// The same with a value.
    private static let needlessValues: Set = [
        "--expect100-timeout", "--keepalive-time", "--proto-default", "--proto-redir",
    ]

    /// What differs between curl's command line and ours: curl follows redirects only with `-L`, and some options say what
    /// holds anyway.
    private static func translated(_ words: [String]) -> [String] {
        var translated: [String] = []
        var follows = false
        var isValue = false
        for word in words {
            let isNeedless = isValue || needless.contains(word)
            isValue = !isValue && needlessValues.contains(word)
            if isNeedless || isValue || needlessValues.contains(where: { word.hasPrefix("\($0)=") }) { continue }
            if ["-b", "--cookie"].contains(translated.last), CookieOptions.isNameless(word) {
                translated.removeLast()
                translated += ["-H", "Cookie: \(word)"]
                continue
            }
            if word == "-L" || word == "--location" { follows = true }
            translated.append(word)
        }
        // in front: behind --, it would be a URL
        return follows ? translated : ["--no-location"] + translated
    }
}
