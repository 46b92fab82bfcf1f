// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// The reachability of a host, as lines of JSON.
struct ReachabilityCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reachability",
        abstract: "Shows whether a network route leads to a host, or watches the route.",
        discussion: """
              outrider reachability
              outrider reachability --connect https://example.org/
              outrider reachability --watch | jq -r .status

            A line of JSON has status, interface, ipv4 and ipv6. With --watch the first line is the present state, and a \
            line follows each change.

            Exit status: 0 reachable; 7 not reachable; 1 to 6 as `outrider call`.
            """)

    @Argument(help: "The destination: a URL or a host. Default: any route out of this machine.")
    var target: String?

    @Flag(name: .long, help: "Go on, and write a line for each change.")
    var watch = false

    @Flag(name: .long, help: "Find out by connecting to the URL; otherwise nothing is sent.")
    var connect = false

    @Option(name: .long, help: "With --watch and --connect: seconds between connections, at least 5.")
    var interval: Double?

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if connect, target?.contains("://") != true {
            throw ValidationError("--connect needs a URL, such as https://example.org/")
        }
        if interval != nil, !watch || !connect { throw ValidationError("--interval goes with --watch and --connect") }
        if let interval, !(interval >= 5 && interval <= 86400) {
            throw ValidationError("--interval must be from 5 to 86400 seconds")
        }
    }

    func run() throws {
        var service = try service.connect(orPrivate: true)
        let method = watch ? "reachability.watch" : "reachability.status"
        let reply = try service.client.object(method, params(), by: .never)
        try Self.write(reply)
        guard watch else {
            if reply["status"]?.string != "reachable" { throw CommandFailure(code: 7, nil) }
            return
        }
        guard let subscription = reply["subscription"] else {
            throw CommandFailure(.brokeProtocol, "the result of reachability.watch names no subscription")
        }
        let params: JSONObject = ["subscription": subscription, "wait": .integer(600)]
        while true {
            let next = try service.client.object("events.next", params, by: .never)
            for event in next["events"]?.array ?? [] {
                if let state = event.object?["params"]?.object { try Self.write(state) }
            }
            if next["end"] == .bool(true) { return }
        }
    }

    private static func write(_ state: JSONObject) throws(CommandFailure) {
        var line = state
        line["subscription"] = nil
        line["seq"] = nil
        try StandardOutput.line(JSONWriter.bytes(of: line))
    }

    private func params() -> JSONObject {
        var params: JSONObject = [:]
        if let target { params[target.contains("://") ? "url" : "host"] = .string(target) }
        if connect { params["probe"] = .string("connect") }
        if let interval { params["interval"] = .real(interval) }
        if watch { params["pull"] = .bool(true) }
        return params
    }
}
