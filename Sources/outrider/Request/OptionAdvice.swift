// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderRPC

/// Advice for options of curl, and for commands that do not exist.
enum OptionAdvice {
    private static let commands: Set = ["get", "post", "put", "patch", "delete", "head", "download", "sse"]

    private static let advice: [(options: [String], text: String)] = [
        (["-L", "--location", "--follow"], "not needed: redirects are followed"),
        (["-N", "--no-buffer"], "not needed: a body is written as it arrives"),
        (["--anyauth"], "not needed: -u NAME gives the server what it asks for, Basic or Digest"),
        (["--bearer"], "write --oauth2-bearer TOKEN, or --oauth NAME"),
        (["--ntlm", "--negotiate", "--krb"], "not there: Basic and Digest are the schemes of -u NAME"),
        (["-C", "--continue-at"], "write `outrider download URL`, which resumes"),
        (["--no-clobber", "--skip-existing"], "`outrider download URL` replaces no file without --force"),
        (
            ["--proto", "--proto-redir", "--ssl-reqd"],
            "not needed: http and https alone are spoken, and no redirect leads from https to http"
        ),
        (["--proto-default"], "not needed: a URL without a scheme is https, and on loopback http"),
        (
            ["--interface", "--local-port"],
            "not there: the routes of the system choose the interface; -x PROXY goes another way"
        ),
        (
            ["-y", "--speed-time", "-Y", "--speed-limit"],
            "write --timeout SECONDS; a least rate is timeout.minRate of `outrider call data.send`"
        ),
        (["--location-trusted"], "not there: credentials stay with their origin; name the last URL of the redirects"),
        (
            [
                "--keepalive-time", "--no-keepalive", "--tcp-nodelay", "--tcp-fastopen", "--no-alpn", "--no-sessionid",
                "--keepalive-cnt", "--happy-eyeballs-timeout-ms", "--ignore-stdin", "--stream",
            ],
            "not needed: leave the option out"
        ),
        (["--expect100-timeout"], "not needed: the body is sent at once"),
        (
            ["-t", "-Q", "-l", "--append", "--quote", "--list-only", "--crlf", "--disable-epsv", "--pubkey"],
            "http and https are spoken, and no FTP, telnet or SSH"
        ),
        (["--unix-socket"], "write the URL as http+unix://%2Frun%2Fname.sock/path, with %2F for each / of the socket"),
        (["--remote-name-all"], "write -O, which holds for all URLs"),
        (["-#", "--progress-bar"], "not needed: with -o, a line on the terminal shows the progress"),
        (["--no-progress-meter"], "write -sS, which shows failures alone"),
        (["--remove-on-error"], "write `outrider download URL`, which leaves no part under the name of the file"),
        (["--stderr"], "write 2>FILE"),
        (["-B", "--use-ascii"], "not there: bodies are written byte for byte"),
        (["-q", "--disable"], "not needed: no .curlrc is read"),
        (["-K", "--config"], "write the options of the file in the command line"),
        (["--socks5", "--socks5-hostname"], "write -x socks5h://HOST:PORT"),
        (["--socks4", "--socks4a", "--preproxy"], "not there: -x takes one proxy, http://, https:// or socks5h://"),
        (["--next", "-:"], "write one command for each request"),
        (["-p", "--proxytunnel"], "not needed: https goes through a tunnel"),
        (["--retry-connrefused"], "not needed: --retry repeats refused connections"),
        (["--raw"], "write -H 'Accept-Encoding: identity'"),
        (["--path-as-is"], "not there: . and .. in the path of a URL are resolved"),
        (["--doh-url", "--dns-servers"], "not there: the system looks names up; --resolve HOST:PORT:ADDRESS sets one"),
        (
            ["--tlsv1", "--tlsv1.0", "--tlsv1.1", "--ssl", "-1", "-2", "-3", "--sslv2", "--sslv3"],
            "not there: TLS 1.2 or later is spoken with https servers"
        ),
        (["--netrc-optional"], "write --netrc"),
        (["--trace-time", "--trace-ids", "--trace-config"], "write -v"),
        (["--http3", "--http3-only", "--http1.0", "--http0.9", "-0"], "HTTP/1.1 and HTTP/2 are spoken"),
        (["--request-target"], "not there: the target follows from the URL"),
        (["--variable"], "not there: the shell has variables; `outrider run --variable` sets those of a file"),
        (["--hsts"], "not there: write https://"),
        (["--url"], "write the URL behind it; no URL begins with a hyphen"),
        (["-V"], "write --version"),
        (["-M", "--manual"], "see `man outrider-get`, or --help"),
        (["--trace", "--trace-ascii"], "write -v, or see `outrider call har.export`"),
        (
            ["--post301", "--post302", "--post303"],
            "not there: behind a redirect of that status a POST is a GET; name the last URL of the redirects"
        ),
        (["--out-null"], "write -o /dev/null"),
        (["--tls13-ciphers", "--curves"], "not there: --ciphers names suites of TLS 1.2; those of TLS 1.3 are fixed"),
        (["--disallow-username-in-url"], "not needed: a URL with a user is refused"),
        // of httpie
        (["--auth", "-a"], "write -u NAME"),
        (["--verify"], "write -k in place of --verify=no, and --cacert FILE in place of --verify=FILE"),
        (["--print", "--headers", "--body", "--all"], "write -I or -i for the head, and -v for the request, too"),
        (["--check-status"], "write --fail-with-body"),
        (["--session"], "write --jar NAME, which keeps cookies"),
        (["--download"], "write `outrider download URL`"),
        // of wget
        (["--no-check-certificate"], "write -k"),
        (["--quiet"], "write -s"),
        (["--output-document"], "write -o FILE"),
        (["--post-data", "--body-data"], "write `outrider get -d DATA URL`"),
        (["--post-file", "--body-file"], "write `outrider get -d @FILE URL`"),
        (["--method"], "write `outrider get -X METHOD URL`"),
        (["--tries"], "write --retry COUNT"),
        (["--password", "--http-user", "--http-password"], "write -u NAME, which asks for the password"),
        (["--load-cookies"], "write -b FILE"),
        (["--save-cookies"], "write -c FILE"),
        (["--spider"], "write `outrider head URL`"),
        (["--directory-prefix", "-P"], "write --create-dirs --output-dir DIRECTORY -O"),
        (["--content-disposition"], "write `outrider download URL`"),
        (["--mirror", "--recursive"], "not there: a command requests the URLs that it names, and no links"),
    ]

    /// Advice for a single command, which the command's own options need in place of the general advice.
    private static let own: [String: [(options: [String], text: String)]] = [
        "download": [
            (["-R", "--remote-time"], "not there: `outrider get -R -o FILE` has this option; or use touch -d"),
            (["--url"], "write the URL alone"),
            (["--create-dirs"], "make the directory first, with mkdir -p"),
            (["--remove-on-error"], "not needed: no part appears under the name of the file"),
            (
                ["-O", "--remote-name", "-J", "--remote-header-name", "--remote-name-all"],
                "not needed: `outrider download URL` takes the name that the server suggests; -o FILE chooses another"
            ),
            (["-C", "--continue-at", "--continue", "-c"], "not needed: the same command resumes"),
            (["-q", "--quiet"], "write -s"),
            (["-t", "--tries"], "write --retry COUNT"),
            (["--output-dir", "--directory-prefix", "-P"], "write -o DIRECTORY/"),
            (["--fail", "--fail-with-body"], "not needed: a status outside of 200 to 299 is a failure"),
            (["-S", "--show-error", "--no-progress-meter"], "not needed: failures are shown without -s"),
            (["--compressed"], "not needed: compressed bodies are accepted"),
            (["-z", "--time-cond"], "write `outrider get -z FILE -o FILE URL`"),
            (["-Z", "--parallel"], "write --segments COUNT for parts of a file; several files: one command for each"),
            (["-K", "--config"], "write the options in the command line: one command downloads one file"),
        ],
        // as curl has the letter
        "import": [(["-a", "-P"], "http and https are spoken, and no FTP, telnet or SSH")],
        "sse": [
            (["--retry"], "not needed: a lost connection is opened again"),
            (["-s", "--silent", "-S", "--show-error"], "not needed: no progress is shown"),
            (["-f", "--fail"], "not needed: a status other than 200 is a failure"),
            (["--compressed"], "not needed: compressed streams are accepted"),
            (["-m", "--max-time"], "write `timeout SECONDS outrider sse URL`"),
            (["-C", "--continue-at"], "write --last-event-id ID, which resumes"),
            (["--output-dir", "--directory-prefix", "-P"], "write >FILE"),
            (["-o", "--output"], "write >FILE"),
            (["--url"], "write the URL alone"),
        ],
    ]

    /// The advice for a parser's complaint; nil if there is none.
    ///
    /// - Parameters:
    ///   - names: of all commands.
    ///   - parts: the names of the commands below the command, as of `cookies`.
    static func line(
        for complaint: String, of arguments: [String], commands names: [String], parts: [String]
    ) -> String? {
        guard arguments.count > 1 else { return nil }
        let command = arguments[1]
        if complaint.contains("Unknown option '\(command)'"), ["-V", "-v"].contains(command) {
            return "\(command): write --version"
        }
        // the parser tells of the lack of a URL first
        if commands.contains(command), arguments.count == 3, arguments[2] == "-V" { return "-V: write --version" }
        if command == "import", arguments.dropFirst(2).contains("curl") {
            return "import takes a command line as one word: put it in quotes, or write - and give it on standard input"
        }
        let unknown = ParserComplaint.unknownOption(in: complaint)
        if let unknown, commands.contains(command), own[command] == nil,
            let word = arguments.first(where: { $0.hasPrefix("-\(unknown.dropFirst())") && $0.hasSuffix("O-") })
        {
            return "\(word): not needed: without -o and -O the body goes to standard output"
        }
        if let unknown, command.hasPrefix(unknown), isOfGet(unknown) {
            return "\(unknown): name a command in front, as in `outrider get \(unknown) …`"
        }
        let isUnexpected = complaint.contains("Unexpected argument") || complaint.contains("unexpected arguments")
        if isUnexpected, !parts.isEmpty, arguments.count > 2, complaint.contains("'\(arguments[2])'") {
            let near = NameSuggestions.of(arguments[2], among: parts).map { "\(command) \($0)" }
            let hint =
                near.isEmpty
                ? "write one of \(parts.joined(separator: ", "))" : "did you mean \(near.joined(separator: " or "))?"
            return "there is no command \(command) \(arguments[2]): \(hint)"
        }
        if isUnexpected, complaint.contains(": '\(command)'") || complaint.contains("argument '\(command)'") {
            return self.unknown(command, among: names)
        }
        if isUnexpected, command == "download" {
            return "a download has a single URL: -o names the file, and each further URL needs a command of its own"
        }
        return commands.contains(command) ? line(for: complaint, of: command) : nil
    }

    /// The advice for an option that a command has not; nil if there is none, and for other complaints.
    static func line(for complaint: String, of command: String) -> String? {
        guard let option = ParserComplaint.unknownOption(in: complaint) else { return nil }
        for (options, text) in (own[command] ?? []) + advice where options.contains(option) {
            return "\(option): \(text)"
        }
        if own[command] != nil, isOfGet(option) { return "\(option): `outrider get URL` has this option" }
        if option.hasPrefix("--expand-") { return "\(option): not there: the shell has variables" }
        if spoken.contains(where: option.hasPrefix) {
            return "\(option): http and https are spoken, and no FTP or mail"
        }
        let positive = "--" + option.dropFirst("--no-".count)
        guard option.hasPrefix("--no-"), isOfGet(positive) else { return nil }
        return "\(option): not needed: \(positive) holds only where it is written"
    }

    /// The begins of options of curl for other protocols.
    private static let spoken = ["--ftp-", "--mail-", "--tftp-", "--telnet-", "--sasl-", "--hostpub"]

    private static func isOfGet(_ option: String) -> Bool {
        do {
            // without a URL the parser tells of that, and not of an unknown option
            _ = try RequestCall.parse(["http://localhost/", option])
            return true
        } catch {
            return ParserComplaint.unknownOption(in: RequestCall.message(for: error)) == nil
        }
    }

    /// The replacements of commands that other programs have.
    private static let others = [
        "version": "--version", "upload": "`outrider put -T FILE URL`", "options": "`outrider get -X OPTIONS URL`",
        "request": "`outrider get -X METHOD URL`", "ws": "`outrider websocket URL`", "wss": "`outrider websocket URL`",
        "events": "`outrider sse URL`", "tcp": "`outrider connect HOST PORT`", "nc": "`outrider connect HOST PORT`",
        "start": "`outrider get-socket`, or `outrider serve` for the foreground",
        "session": "`outrider get --jar NAME URL` to keep cookies, or `outrider call session.create`",
        "sessions": "`outrider call session.list`", "auth": "`outrider login NAME`", "oauth": "`outrider login NAME`",
    ]

    static func unknown(_ command: String, among names: [String]) -> String? {
        if command.contains(".") || command.contains(":") || command.contains("/") {
            return "name a command: `outrider get \(command)`"
        }
        if command == "curl" {
            return
                "there is no command curl: `outrider get` takes its options, and `outrider import 'curl …'` its lines"
        }
        let lower = ["http", "https", "wget", "fetch"].contains(command) ? "get" : command.lowercased()
        if lower != command, names.contains(lower) { return "there is no command \(command): did you mean \(lower)?" }
        if let remedy = others[lower] { return "there is no command \(command): write \(remedy)" }
        // a later word that is written like the command
        if names.contains(command) { return nil }
        let near = NameSuggestions.of(command, among: names.filter { $0 != "credential-helper" })
        let hint = near.isEmpty ? "see `outrider --help`" : "did you mean \(near.joined(separator: " or "))?"
        return "there is no command \(command): \(hint)"
    }
}
