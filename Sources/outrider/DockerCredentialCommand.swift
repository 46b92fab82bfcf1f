// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// Speaks the protocol of Docker's credential helpers.
struct DockerCredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "docker-credential",
        abstract: "Gives the access token of a credential to Docker, or to a reader of Docker's configuration.",
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

    @Option(name: .long, help: "The user name for the registry; `<token>` for a registry that takes identity tokens.")
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
        guard try service.client.mayHave(credential, url) else { throw try Self.none() }
        let found = try service.client.token(of: credential, minValidity: nil)
        // the credential may have been replaced meanwhile
        guard try service.client.mayHave(credential, url) else { throw try Self.none() }
        let output: JSONObject = [
            "ServerURL": .string(server), "Username": .string(username), "Secret": .string(found.token),
        ]
        try StandardOutput.line(JSONWriter.bytes(of: output))
    }

    /// Writes Docker's own message for missing credentials to standard output.
    private static func none() throws(CommandFailure) -> CommandFailure {
        try StandardOutput.line("credentials not found in native keychain".utf8)
        return CommandFailure(.error, nil)
    }
}
