// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderHTTP

/// The settings that a start of the service would read from the configuration file, and their overrides.
struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Shows the configuration file of the service, checked.",
        discussion: """
              outrider config
              outrider config --path

            The file holds the flags of `outrider serve` without dashes, in YAML:

              # ~/.config/outrider/config.yaml
              ca-file: ~/work-ca.pem
              proxy: http://proxy.example:3128
              timeout-total: 600

            A flag wins over a variable named OUTRIDER_…, that over the file, the file over other variables (SSL_CERT_FILE). \
            A running service keeps its settings: `outrider restart` reads the file again.
            """)

    @Option(
        name: .long, help: "The file; else $OUTRIDER_CONFIG, else ~/.config/outrider/config.yaml.", completion: .file())
    var config: String?

    @Flag(name: .long, help: "Print the path of the file alone.")
    var path = false

    func run() throws {
        if path {
            guard let found = config ?? ConfigFile.usualPath else {
                let remedy = environmentVariable("OUTRIDER_CONFIG") == nil ? "set HOME" : "OUTRIDER_CONFIG is none"
                throw CommandFailure(.usage, "there is no place for a configuration: \(remedy)")
            }
            return try StandardOutput.line(found.utf8)
        }
        guard let file = try ConfigFile.load(named: config) else {
            let line = "no configuration: \(ConfigFile.absence); every setting has its default"
            return try StandardOutput.line(line.printable.utf8)
        }
        try StandardOutput.line("\(file.path)".printable.utf8)
        for entry in file.entries {
            let source =
                ConfigFile.variable(over: entry.key).map { "overruled by $\($0)" } ?? "line \(entry.line)"
            let text = entry.text.isEmpty ? "true" : Redaction.withoutCredentials(entry.text)
            try StandardOutput.line("  \(entry.key): \(text)  (\(source))".printable.utf8)
        }
    }
}
