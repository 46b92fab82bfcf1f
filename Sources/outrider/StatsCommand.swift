// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// The counters of the service, for people and for Prometheus.
struct StatsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Prints the counters of the service.",
        discussion: """
            A line of JSON, or with --prometheus the text format that Prometheus reads: counters, gauges and histograms.

              outrider stats | jq .requests
              outrider stats --prometheus > /var/lib/node_exporter/outrider.prom
            """)

    @OptionGroup var service: ServiceOptions

    @Flag(name: .long, help: "As text that Prometheus reads.")
    var prometheus = false

    @Option(name: .long, help: "Seconds to wait for the result.")
    var timeout = 30.0

    func validate() throws {
        if !(timeout > 0 && timeout <= 1_000_000) {
            throw ValidationError("--timeout must be a number of seconds above 0")
        }
    }

    func run() throws {
        var service = try service.connect()
        let method = prometheus ? "server.metrics" : "server.stats"
        let reply = try service.client.call(method, JSONText(written: Array("{}".utf8)), by: Deadline(after: timeout))
        if reply.error != nil {
            throw CommandFailure(.error, String(decoding: reply.body, as: UTF8.self))
        }
        guard prometheus else { return try StandardOutput.line(reply.body) }
        guard case .string(let text)? = try reply.parsed().object?["text"], text.hasSuffix("\n") else {
            throw CommandFailure(.brokeProtocol, "the result of server.metrics holds no text")
        }
        try StandardOutput.line(text.dropLast().utf8)
    }
}
