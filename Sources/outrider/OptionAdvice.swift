// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderRPC

/// Advice for options of curl, and for commands that do not exist.
enum OptionAdvice {
    private static let commands: Set = ["get", "post", "put", "patch", "delete", "head", "download", "sse"]

    private static let advice: [(options: [String], text: String)] = [
        (["-L", "--location"], "not needed: redirects are followed"),
        (["-N", "--no-buffer"], "not needed: a body is written as it arrives"),
        (
            ["--basic", "--digest", "--anyauth", "--ntlm", "--negotiate"],
            "not needed: -u NAME gives the server what it asks for, Basic or Digest"
        ),
        (["--bearer", "--oauth2-bearer"], "write --oauth NAME, or -H 'Authorization: Bearer …'"),
        (["-C", "--continue-at"], "write `outrider download URL`, which resumes"),
        (["--limit-rate"], "`outrider download URL` has this option"),
        (["-R", "--remote-time"], "not there: a file has the time of its writing; touch -d sets another"),
        (["--no-clobber"], "`outrider download URL` replaces no file without --force"),
        (
            ["-O", "--remote-name", "-J", "--remote-header-name"],
            "not needed: `outrider download URL` takes the name that the server suggests"
        ),
        (["--output-dir"], "write `outrider download -o DIRECTORY/ URL`"),
        (["--unix-socket"], "write the URL as http+unix://%2Frun%2Fname.sock/path, with %2F for each / of the socket"),
        (["--url"], "write the URL alone"),
        (["--remote-name-all"], "write -O, which holds for all URLs"),
        (["--create-dirs"], "make the directory first, with mkdir -p"),
        (["-#", "--progress-bar"], "not needed: with -o, a line on the terminal shows the progress"),
        (["--no-progress-meter"], "write -sS, which shows failures alone"),
        (["--fail-early"], "write one `outrider get` for each URL, with && between"),
        (["-q", "--disable"], "not needed: no .curlrc is read"),
        (["-K", "--config"], "write --input-file for URLs; options of the service are in config.yaml"),
        (["-U", "--proxy-user"], "write -x http://NAME:PASSWORD@HOST:PORT"),
        (["--socks5", "--socks5-hostname"], "write -x socks5h://HOST:PORT"),
        (["--next", "-:"], "write one command for each request, or a file for `outrider run`"),
        (["-p", "--proxytunnel"], "not needed: https goes through a tunnel"),
        (["--retry-connrefused"], "not needed: --retry repeats refused connections"),
        (["--data-ascii"], "write -d"),
        (["--url-query"], "write -G --data-urlencode TEXT, or name==text"),
        (["--raw"], "write -H 'Accept-Encoding: identity'"),
        (["--http3", "--http1.0", "-0"], "HTTP/1.1 and HTTP/2 are spoken"),
        (["-V"], "write --version"),
        (["-M", "--manual"], "see `man outrider-get`, or --help"),
        (["-a", "--append", "--ftp-pasv"], "http and https are spoken, and no FTP"),
        (["--trace", "--trace-ascii"], "write -v, or see `outrider call har.export`"),
    ]

    /// The advice for a parser's complaint; nil if there is none.
    ///
    /// - Parameter names: of all commands.
    static func line(for complaint: String, of arguments: [String], commands names: [String]) -> String? {
        guard arguments.count > 1 else { return nil }
        let command = arguments[1]
        let isUnexpected = complaint.contains("Unexpected argument") || complaint.contains("unexpected arguments")
        if isUnexpected, complaint.contains(": '\(command)'") || complaint.contains("argument '\(command)'") {
            return unknown(command, among: names)
        }
        guard commands.contains(command) else { return nil }
        for (options, text) in advice {
            for option in options where complaint.contains("Unknown option '\(option)'") { return "\(option): \(text)" }
        }
        return nil
    }

    static func unknown(_ command: String, among names: [String]) -> String? {
        if command.contains("://") || command.contains(".") || command.hasPrefix(":") {
            return "name a command: `outrider get \(command)`"
        }
        // a later word that is written like the command
        if names.contains(command) { return nil }
        let near = NameSuggestions.of(command, among: names.filter { $0 != "credential-helper" })
        let hint = near.isEmpty ? "see `outrider --help`" : "did you mean \(near.joined(separator: " or "))?"
        return "there is no command \(command): \(hint)"
    }
}
