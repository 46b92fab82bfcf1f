// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// Server-sent events in a shell: a line of JSON for each.
struct SSECommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sse",
        abstract: "Opens an event stream, and writes its events to standard output, one line of JSON each.",
        discussion: """
              outrider sse https://example.org/events | jq -r .data
              outrider sse --last-event-id 42 https://example.org/events
              outrider sse --json '{"stream":true}' https://example.org/chat | jq -j '.value.choices[0].delta.content // empty'

            A line has event, data, perhaps id and retry, and where the data is JSON, value. When the connection ends it is
            opened again, unless the method may not be repeated, as POST may not.

            Exit status: 0 the events ended; 1 to 6 as `outrider call`; 10 request, 12 network, 13 trust, 14 the status is
            not 200, 17 cancelled, 18 no event stream.
            """)

    @Argument(help: "Where to, such as https://example.org/events.")
    var url: String

    @Option(name: [.customShort("X"), .customLong("request")], help: "The method; GET, or POST with data.")
    var method: String?

    @Option(name: [.customShort("H"), .customLong("header")], help: "A field to send: 'Name: value'. May be repeated.")
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")], help: "What to send: text, @file, or @- for standard input.")
    var data: String?

    @Option(name: .long, help: "The same as --data, sent as application/json.")
    var json: String?

    @Option(name: .long, help: "The id to go on from.")
    var lastEventId: String?

    @Flag(inversion: .prefixedNo, help: "Open it again when the connection ends, whatever the method, or never.")
    var reconnect: Bool?

    @OptionGroup var auth: AuthOptions

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if data != nil, json != nil { throw ValidationError("give only one of --data and --json") }
    }

    func run() throws {
        let params = try params()
        let sink = try BodyOutput(nil)
        var service = try service.connect(orPrivate: true)
        // what is waited for may take as long as it likes; the service has limits for the rest
        let opened = try service.client.object("sse.open", params, by: .never)
        try Self.check(opened["response"]?.object ?? [:])
        let asked: JSONObject = ["stream": opened["stream"] ?? .null, "bytes": .integer(262_144), "wait": .integer(60)]
        while true {
            let read = try service.client.object("stream.read", asked, by: Deadline(after: 120))
            var lines: [UInt8] = []
            for value in read["values"]?.array ?? [] {
                lines += JSONWriter.bytes(of: value)
                lines.append(UInt8(ascii: "\n"))
            }
            if !lines.isEmpty { try sink.write(lines) }
            guard read["end"] == .bool(true) else { continue }
            try Self.check(read)
            return try sink.finish()
        }
    }

    private func params() throws(CommandFailure) -> JSONObject {
        var params = try RequestWords(
            url: url, method: method, headers: headers, data: json ?? data, isJSON: json != nil, timeout: nil
        ).params()
        try auth.add(to: &params)
        proxy.add(to: &params)
        params["json"] = .bool(true)
        params["wait"] = .string("response")
        if let lastEventId { params["lastEventId"] = .string(lastEventId) }
        if let reconnect { params["reconnect"] = .bool(reconnect) }
        return params
    }

    /// That there are no more events is no failure.
    private static func check(_ result: JSONObject) throws(CommandFailure) {
        guard let error = result["error"]?.object, error["code"]?.integer != 2012 else { return }
        throw CommandFailure(response: error)
    }
}
