// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderHTTP
import OutriderJSON

/// Speaks Git's credential protocol (gitcredentials(7), git-credential(1)).
struct GitCredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "git-credential",
        abstract: "Gives Git the access token of a credential.",
        discussion: """
            Tell Git once which credential is for which server:
              git config --global credential.https://git.example.helper '!outrider git-credential --credential work'

            Git gets the token only for servers that are origins of the credential. When a server refuses the token, \
            Git says so, and gets a new token next time.
            """)

    @Argument(help: "get, store or erase, added by Git; other words are ignored, as Git requires.")
    var action: String

    @Option(name: .long, help: "The credential.")
    var credential: String

    @Option(name: .long, help: "The user name that the server wants beside a token.")
    var username = "oauth2"

    @OptionGroup var service: ServiceOptions

    func run() throws {
        guard action == "get" || action == "erase" else { return }
        let query = try Self.pairs(try StandardInput.whole(most: 1 << 16))
        guard let scheme = query["protocol"], let host = query["host"] else {
            throw CommandFailure(.usage, "Git says neither protocol nor host")
        }
        try Self.check(scheme, host)
        var service = try service.connect(orPrivate: true)
        guard try service.client.mayHave(credential, "\(scheme)://\(host)") else { return }
        if action == "erase" { return try erase(query["password"] ?? query["credential"], &service.client) }
        let found = try service.client.token(of: credential, minValidity: nil)
        // the credential may have been replaced meanwhile
        guard try service.client.mayHave(credential, "\(scheme)://\(host)") else { return }
        var lines = ["username=\(username)", "password=\(found.token)"]
        if let end = found.expires.flatMap({ Moment($0) })?.seconds { lines.append("password_expiry_utc=\(end)") }
        try StandardOutput.line(lines.joined(separator: "\n").utf8)
    }

    /// Scheme and host are compared as a URL, so neither may contain a delimiter: another server would get the token.
    private static func check(_ scheme: String, _ host: String) throws(CommandFailure) {
        let isScheme = !scheme.isEmpty && scheme.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) }
        let isHost =
            !host.isEmpty
            && host.unicodeScalars.allSatisfy { scalar in
                scalar.value > 0x20 && scalar.value != 0x7F && !scalar.properties.isWhitespace
                    && scalar.properties.generalCategory != .control && !"/?#@\\".unicodeScalars.contains(scalar)
            }
        if isScheme && isHost { return }
        throw CommandFailure(
            .usage, "Git names a host with /, ?, #, @, white space or a control character: no token is given for it")
    }

    /// A server has refused the token: the next call gets a new token.
    private func erase(_ refused: String?, _ client: inout ServiceClient) throws(CommandFailure) {
        guard let refused else { return }
        _ = try client.result("oauth.token", ["credential": .string(credential), "refused": .string(refused)])
    }

    /// `name=value` lines up to an empty line.
    static func pairs(_ bytes: [UInt8]) throws(CommandFailure) -> [String: String] {
        var pairs: [String: String] = [:]
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            if line.isEmpty { break }
            let name = line.prefix { $0 != UInt8(ascii: "=") }
            guard name.count < line.count, !line.contains(0), !line.contains(0x0D) else {
                throw CommandFailure(.usage, "standard input is not what Git sends")
            }
            pairs[String(decoding: name, as: UTF8.self)] = String(
                decoding: line[name.endIndex...].dropFirst(), as: UTF8.self)
        }
        return pairs
    }
}
