// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// Server-sent events in a shell: a line of JSON for each.
struct SSECommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sse",
        abstract: "Opens an event stream, and writes its events to standard output, each as a line of JSON.",
        discussion: """
              outrider sse https://example.org/events | jq -r .data
              outrider sse --last-event-id 42 https://example.org/events
              outrider sse --json '{"stream":true}' https://example.org/chat | jq -j '.value.choices[0].delta.content // empty'

            A line has event, data, perhaps id and retry, and value if the data is JSON. A lost connection is \
            opened again, unless the method may not be repeated, as POST may not.

            Exit status: 0 the events ended; 1 to 6 as `outrider call`; 10 request, 11 credential, 12 network, 13 trust, \
            14 the status is not 200, 17 cancelled, 18 no event stream.
            """)

    @Argument(help: "Where to, such as https://example.org/events.")
    var url: String

    @Option(name: [.customShort("X"), .customLong("request")], help: "The method; GET, or POST with data.")
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: "A field to send: 'Name: value', or @file with a field on each line. May be repeated.")
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")],
        help: "Data to send: text, @file, or @- for standard input. May be repeated; the pieces are joined with &.")
    var data: [String] = []

    @Option(name: .long, help: "The same as --data, sent as application/json.")
    var json: String?

    @Option(name: .long, help: "The id to go on from.")
    var lastEventId: String?

    @Flag(inversion: .prefixedNo, help: "Reconnect after the end of a connection, for every method, or never.")
    var reconnect: Bool?

    @OptionGroup var auth: AuthOptions

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var trust: TrustOptions

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if !data.isEmpty, json != nil { throw ValidationError("give only one of --data and --json") }
        if let fault = RequestWords.fault(headers: headers, data: data + [json].compactMap { $0 }, asks: auth.asks) {
            throw ValidationError(fault)
        }
    }

    func run() throws {
        var params = try params()
        var sink = try BodyOutput(nil)
        var service = try service.connect(orPrivate: true)
        try CommandSession(places: trust.places).add(to: &params, over: &service.client)
        // no deadline: opening may take long, and the service has limits for the rest
        let opened = try service.client.reply("sse.open", params, by: .never)
        try Self.check(opened.text(of: "response", "error"))
        guard let stream = try opened.text(of: "stream").map(ServiceClient.parsed) else {
            throw CommandFailure(.brokeProtocol, "the result of sse.open names no stream")
        }
        let reading: JSONObject = ["stream": stream, "bytes": .integer(262_144), "wait": .integer(60)]
        service.client.endWithReader()
        while true {
            let read = try service.client.reply("stream.read", reading, by: Deadline(after: 120))
            let lines = Self.lines(read.text(of: "values") ?? [])
            if !lines.isEmpty { try sink.write(lines) }
            guard read.text(of: "end")?.elementsEqual("true".utf8) == true else { continue }
            try Self.check(read.text(of: "error"))
            return try sink.finish()
        }
    }

    /// Each value of an array, unchanged from the server's text.
    private static func lines(_ values: ArraySlice<UInt8>) -> [UInt8] {
        let ranges = values.withUnsafeBufferPointer { JSONLocator.elements(in: $0) }
        var lines: [UInt8] = []
        lines.reserveCapacity(values.count + ranges.count)
        for range in ranges {
            lines += values.dropFirst(range.lowerBound).prefix(range.count)
            lines.append(UInt8(ascii: "\n"))
        }
        return lines
    }

    private func params() throws(CommandFailure) -> JSONObject {
        var params = try RequestWords(url: url).params()
        let pieces = json.map { [$0] } ?? data
        params["method"] = .string(method ?? (pieces.isEmpty ? "GET" : "POST"))
        if !pieces.isEmpty {
            let type = json == nil ? "application/x-www-form-urlencoded" : "application/json"
            params["body"] = .object(try DataWords.body(DataWords.pieces(pieces), type: type))
            if method == "GET" { params["allowGetBody"] = .bool(true) }
        }
        try RequestWords.fields(headers).add(to: &params)
        try auth.add(to: &params)
        proxy.add(to: &params)
        try proxy.check(params["url"]?.string ?? "")
        try trust.add(to: &params)
        trust.redirect(&params)
        params["json"] = .bool(true)
        params["wait"] = .string("response")
        if let lastEventId { params["lastEventId"] = .string(lastEventId) }
        if let reconnect { params["reconnect"] = .bool(reconnect) }
        return params
    }

    /// The end of the events is no failure.
    private static func check(_ text: ArraySlice<UInt8>?) throws(CommandFailure) {
        guard let error = try text.map(ServiceClient.parsed)?.object, error["code"]?.integer != 2012 else { return }
        throw CommandFailure(response: error)
    }
}
