// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderRPC

/// Advice for options of curl, and for commands that do not exist.
enum OptionAdvice {
    private static let commands: Set = ["get", "post", "put", "patch", "delete", "head", "download", "sse"]

    private static let advice: [(options: [String], text: String)] = [
        (["-L", "--location"], "not needed: redirects are followed"),
        (["-N", "--no-buffer"], "not needed: a body is written as it arrives"),
        (["--anyauth"], "not needed: -u NAME gives the server what it asks for, Basic or Digest"),
        (["--bearer"], "write --oauth2-bearer TOKEN, or --oauth NAME"),
        (["--ntlm", "--negotiate", "--krb"], "not there: Basic and Digest are the schemes of -u NAME"),
        (["-C", "--continue-at"], "write `outrider download URL`, which resumes"),
        (["--no-clobber"], "`outrider download URL` replaces no file without --force"),
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
            ["--keepalive-time", "--no-keepalive", "--tcp-nodelay", "--tcp-fastopen", "--no-alpn", "--no-sessionid"],
            "not needed: leave the option out"
        ),
        (["--expect100-timeout"], "not needed: the body is sent at once"),
        (["-t", "-Q", "-P", "-l"], "http and https are spoken, and no FTP or telnet"),
        (["--unix-socket"], "write the URL as http+unix://%2Frun%2Fname.sock/path, with %2F for each / of the socket"),
        (["--remote-name-all"], "write -O, which holds for all URLs"),
        (["-#", "--progress-bar"], "not needed: with -o, a line on the terminal shows the progress"),
        (["--no-progress-meter"], "write -sS, which shows failures alone"),
        (["--remove-on-error"], "write `outrider download URL`, which leaves no part under the name of the file"),
        (["--stderr"], "write 2>FILE"),
        (["-B", "--use-ascii"], "not there: bodies are written byte for byte"),
        (["-q", "--disable"], "not needed: no .curlrc is read"),
        (["-K", "--config"], "write the options of the file in the command line"),
        (["-U", "--proxy-user"], "write -x http://NAME:PASSWORD@HOST:PORT"),
        (["--socks5", "--socks5-hostname"], "write -x socks5h://HOST:PORT"),
        (["--socks4", "--socks4a", "--preproxy"], "not there: -x takes one proxy, http://, https:// or socks5h://"),
        (["--next", "-:"], "write one command for each request, or a file for `outrider run`"),
        (["-p", "--proxytunnel"], "not needed: https goes through a tunnel"),
        (["--retry-connrefused"], "not needed: --retry repeats refused connections"),
        (["--raw"], "write -H 'Accept-Encoding: identity'"),
        (["--aws-sigv4"], "not there: sign the URL first, as `aws s3 presign` does"),
        (["--path-as-is"], "not there: . and .. in the path of a URL are resolved"),
        (["--doh-url", "--dns-servers"], "not there: the system looks names up; --resolve HOST:PORT:ADDRESS sets one"),
        (["--tlsv1", "--tlsv1.0", "--tlsv1.1", "--ssl"], "not there: TLS 1.2 or later is spoken with https servers"),
        (["--netrc-optional"], "write --netrc"),
        (["--trace-time", "--trace-ids"], "write -v"),
        (["--http3", "--http1.0", "-0"], "HTTP/1.1 and HTTP/2 are spoken"),
        (["--request-target"], "not there: the target follows from the URL"),
        (["--variable"], "not there: the shell has variables; `outrider run --variable` sets those of a file"),
        (["--rate"], "not there: `outrider call session.create` has limits.rate"),
        (["--hsts"], "not there: write https://"),
        (["--url"], "write the URL behind it; no URL begins with a hyphen"),
        (["-V"], "write --version"),
        (["-M", "--manual"], "see `man outrider-get`, or --help"),
        (["-a", "--append", "--ftp-pasv"], "http and https are spoken, and no FTP"),
        (["--trace", "--trace-ascii"], "write -v, or see `outrider call har.export`"),
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
            (["--output-dir", "-P"], "write -o DIRECTORY/"),
            (["--fail", "--fail-with-body"], "not needed: a status outside of 200 to 299 is a failure"),
            (["-S", "--show-error", "--no-progress-meter"], "not needed: failures are shown without -s"),
            (["--compressed"], "not needed: compressed bodies are accepted"),
            (["-z", "--time-cond"], "write `outrider get -z FILE -o FILE URL`"),
            (["-Z", "--parallel"], "write --segments COUNT for parts of a file; several files: one command for each"),
            (["-K", "--config"], "write the options in the command line: one command downloads one file"),
        ],
        "sse": [
            (["--retry"], "not needed: a lost connection is opened again"),
            (["-s", "--silent", "-S", "--show-error"], "not needed: no progress is shown"),
            (["-f", "--fail"], "not needed: a status other than 200 is a failure"),
            (["--compressed"], "not needed: compressed streams are accepted"),
            (["-m", "--max-time"], "write `timeout SECONDS outrider sse URL`"),
            (["-C", "--continue-at"], "write --last-event-id ID, which resumes"),
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
        let isUnexpected = complaint.contains("Unexpected argument") || complaint.contains("unexpected arguments")
        if isUnexpected, !parts.isEmpty, arguments.count > 2, complaint.contains("'\(arguments[2])'") {
            let near = NameSuggestions.of(arguments[2], among: parts).map { "\(command) \($0)" }
            let hint =
                near.isEmpty
                ? "write one of \(parts.joined(separator: ", "))" : "did you mean \(near.joined(separator: " or "))?"
            return "there is no command \(command) \(arguments[2]): \(hint)"
        }
        if isUnexpected, complaint.contains(": '\(command)'") || complaint.contains("argument '\(command)'") {
            return unknown(command, among: names)
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
        return own[command] != nil && isOfGet(option) ? "\(option): `outrider get URL` has this option" : nil
    }

    private static func isOfGet(_ option: String) -> Bool {
        do {
            // without a URL the parser tells of that, and not of an unknown option
            _ = try RequestCall.parse(["http://localhost/", option])
            return true
        } catch {
            return ParserComplaint.unknownOption(in: RequestCall.message(for: error)) == nil
        }
    }

    static func unknown(_ command: String, among names: [String]) -> String? {
        if command.contains(".") || command.contains(":") || command.contains("/") {
            return "name a command: `outrider get \(command)`"
        }
        if command == "version" { return "there is no command version: write --version" }
        // a later word that is written like the command
        if names.contains(command) { return nil }
        let near = NameSuggestions.of(command, among: names.filter { $0 != "credential-helper" })
        let hint = near.isEmpty ? "see `outrider --help`" : "did you mean \(near.joined(separator: " or "))?"
        return "there is no command \(command): \(hint)"
    }
}
