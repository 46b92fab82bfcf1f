// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser

/// An access token, for programs that send their own requests.
struct TokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Prints an access token that is still good, refreshed if need be.",
        discussion: """
              outrider token work
              curl -H @<(outrider token --header work) https://api.example/

            However many programs ask, the service refreshes the token once.

            Exit status: 0 a token was printed; 1 to 6 as `outrider call`; 11 there is none, and standard error names \
            the remedy.
            """)

    @Argument(help: "The credential.")
    var name: String

    @Flag(name: .long, help: "As a field: 'Authorization: Bearer …'.")
    var header = false

    @Option(name: .customLong("min-validity"), help: "The least validity of the token in seconds; 60.")
    var minValidity: Double?

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if let minValidity, !(minValidity >= 0 && minValidity <= 86400) {
            throw ValidationError("--min-validity must be from 0 to 86400 seconds")
        }
    }

    func run() throws {
        var service = try service.connect(orPrivate: true)
        let found = try service.client.token(of: name, minValidity: minValidity)
        try StandardOutput.line((header ? "Authorization: \(found.type) \(found.token)" : found.token).utf8)
    }
}
