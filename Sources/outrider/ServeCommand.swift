// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser

/// Runs the service.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs the service, on a socket or for a single client on stdin and stdout.",
        discussion: """
            On a socket, for every program of this user:
              outrider serve
              outrider serve --socket /tmp/my.sock --idle-exit 900

            For an editor or script, which starts the service and speaks JSON-RPC, with a message per line or with \
            Content-Length headers:
              outrider serve --stdio

            Flags win over variables named OUTRIDER_…, these over ~/.config/outrider/config.yaml (outrider config), that over \
            other variables (SSL_CERT_FILE), these over the defaults.

            Exit status: 0 stopped; 1 the service could not start; 2 a flag, variable or configuration is wrong; 75 \
            another service has the socket; 128 and the number of the signal that ended the service.
            """)

    @OptionGroup var options: ServeOptions

    func run() async throws {
        do {
            try await ServiceProcess(settings: options.settings()).run()
        } catch var failure as CommandFailure {
            if !options.noConfig, let message = failure.message,
                let file = try? ConfigFile.load(named: options.config)
            {
                failure.message = file.placed(message, arguments: CommandLineWords.all)
            }
            throw failure
        }
    }
}
