// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
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

            The token is given only for servers that the credential names as its origins. When a server refuses it, Git says
            so, and the next one is a new one.
            """)

    @Argument(help: "get, store or erase, which Git adds; others are ignored, as Git asks.")
    var action: String

    @Option(name: .long, help: "The credential.")
    var credential: String

    @Option(name: .long, help: "The user name that the server wants beside a token.")
    var username = "oauth2"

    @OptionGroup var service: ServiceOptions

    func run() throws {
        guard action == "get" || action == "erase" else { return }
        let asked = try Self.pairs(try StandardInput.whole(most: 1 << 16))
        guard let scheme = asked["protocol"], let host = asked["host"] else {
            throw CommandFailure(.usage, "Git says neither protocol nor host")
        }
        var service = try service.connect(orPrivate: true)
        guard try service.client.mayHave(credential, "\(scheme)://\(host)") else { return }
        if action == "erase" { return try erase(asked["password"] ?? asked["credential"], &service.client) }
        let found = try service.client.token(of: credential, minValidity: nil)
        var lines = ["username=\(username)", "password=\(found.token)"]
        if let end = found.expires.flatMap({ Moment($0) })?.seconds { lines.append("password_expiry_utc=\(end)") }
        try StandardOutput.line(lines.joined(separator: "\n").utf8)
    }

    /// A server has refused it: the next one is a new one.
    private func erase(_ refused: String?, _ client: inout ServiceClient) throws(CommandFailure) {
        guard let refused else { return }
        _ = try client.result("oauth.token", ["credential": .string(credential), "refused": .string(refused)])
    }

    /// `name=value` lines up to an empty one.
    static func pairs(_ bytes: [UInt8]) throws(CommandFailure) -> [String: String] {
        var pairs: [String: String] = [:]
        for line in bytes.split(separator: 0x0A) {
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

/// Speaks the protocol of Docker's credential helpers.
struct DockerCredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "docker-credential",
        abstract: "Gives Docker, or what reads its configuration, the access token of a credential.",
        discussion: """
            Docker starts programs named docker-credential-NAME. Put this into a file docker-credential-work in your PATH:
              #!/bin/sh
              exec outrider docker-credential --credential work "$@"
            and say in ~/.docker/config.json: {"credHelpers": {"registry.example": "work"}}

            The token is given only for registries that the credential names as its origins. `store` and `erase` are refused:
            use `outrider login` and `outrider logout`.
            """)

    @Argument(help: "get, which Docker adds; list gives nothing.")
    var action: String

    @Option(name: .long, help: "The credential.")
    var credential: String

    @Option(name: .long, help: "The user name that the registry wants; `<token>` for one that takes identity tokens.")
    var username = "oauth2accesstoken"

    @OptionGroup var service: ServiceOptions

    func run() throws {
        switch action {
        case "list": try StandardOutput.line("{}".utf8)
        case "get": try get()
        default:
            throw CommandFailure(.error, "docker-credential \(action) is not supported: use outrider login and logout")
        }
    }

    private func get() throws(CommandFailure) {
        let bytes = try StandardInput.whole(most: 1 << 12).filter { $0 > 0x20 }
        let server = String(decoding: bytes, as: UTF8.self)
        var service = try service.connect(orPrivate: true)
        let url = server.contains("://") ? server : "https://\(server)"
        guard try service.client.mayHave(credential, url) else {
            // the words that Docker knows, on standard output
            try StandardOutput.line("credentials not found in native keychain".utf8)
            throw CommandFailure(.error, nil)
        }
        let found = try service.client.token(of: credential, minValidity: nil)
        let answer: JSONObject = [
            "ServerURL": .string(server), "Username": .string(username), "Secret": .string(found.token),
        ]
        try StandardOutput.line(JSONWriter.bytes(of: answer))
    }
}

extension ServiceClient {
    /// Whether a token of that credential may go to that URL: only to one of its origins. If not, standard error says so.
    mutating func mayHave(_ name: String, _ text: String) throws(CommandFailure) -> Bool {
        guard let url = try? HTTPURL(parsing: text) else {
            throw CommandFailure(.usage, "\(FieldRules.shown(text)) is no URL")
        }
        let info = try result("oauth.get", ["credential": .string(name)])
        let origins = info["origins"]?.array?.compactMap(\.string) ?? []
        let isOne = origins.contains { origin in
            (try? HTTPURL(parsing: origin)).map { $0.isSameOrigin(as: url) } ?? false
        }
        if !isOne {
            StandardError.write("outrider: \(url.origin) is no origin of \(name): add it with oauth.set, or --origin\n")
        }
        return isOne
    }
}

extension StandardInput {
    /// All of it, if it is short.
    static func whole(most: Int) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try FileBytes.read(STDIN_FILENO) {
            bytes += piece
            if bytes.count > most { throw CommandFailure(.usage, "standard input is too long") }
        }
        return bytes
    }
}
