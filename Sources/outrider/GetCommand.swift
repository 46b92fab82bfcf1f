// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// One HTTP request from a shell: its body, byte for byte, on standard output.
struct GetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Makes one HTTP request, and writes the body to standard output.",
        discussion: """
              outrider get https://example.org/
              outrider get -i -H 'Accept: application/json' https://example.org/api
              outrider get -o page.html https://example.org/
              outrider get -d 'name=wolf' https://example.org/form
              outrider get -X PUT -H 'Content-Type: application/json' -d @data.json https://example.org/api/1
              outrider get --curl -d 'name=wolf' https://example.org/form

            With -o, and standard error on a terminal, a line shows how far a long body is.

            Uses the service of this user if it runs, so that connections stay warm; else one of its own.

            Exit status: 0 an answer arrived, whatever its status code (see --fail); 1 to 6 as `outrider call`;
            10 request, 12 network, 13 trust, 14 status 400 or above with --fail, 16 file, 17 cancelled.
            """)

    @Argument(help: "Where to, such as https://example.org/.")
    var url: String

    @Option(name: [.customShort("X"), .customLong("request")], help: "The method; GET, or POST with --data.")
    var method: String?

    @Option(name: [.customShort("H"), .customLong("header")], help: "A field to send: 'Name: value'. May be repeated.")
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")], help: "What to send: text, @file, or @- for standard input.")
    var data: String?

    @Option(
        name: [.customShort("o"), .customLong("output")], help: "Write to this file, or to `-` also what is binary.")
    var output: String?

    @Flag(name: [.customShort("i"), .long], help: "Write the status and the fields before the body.")
    var include = false

    @Flag(
        name: [.customShort("f"), .long], help: "A status of 400 or above is a failure: write nothing, exit with 14.")
    var fail = false

    @Flag(name: [.customShort("s"), .long], help: "Say nothing about failures.")
    var silent = false

    @Flag(name: .long, help: "Send nothing: write the request as a curl command, secrets masked.")
    var curl = false

    @Option(name: .long, help: "Seconds for the whole request.")
    var timeout: Double?

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if let fault = RequestWords.fault(timeout: timeout) { throw ValidationError(fault) }
    }

    func run() throws {
        do throws(CommandFailure) {
            try fetch()
        } catch {
            throw silent ? CommandFailure(code: error.code, nil) : error
        }
    }

    private func fetch() throws(CommandFailure) {
        var params = try RequestWords(url: url, method: method, headers: headers, data: data, timeout: timeout).params()
        proxy.add(to: &params)
        let meter = output.flatMap { $0 == "-" || curl ? nil : ProgressMeter(isSilent: silent) }
        if meter != nil { params["events"] = .array([.string("progress")]) }
        let sink = try BodyOutput(output)
        var service = try service.connect(orPrivate: true)
        // The request has its own deadline, which the service keeps; this one is for a service that does not.
        let deadline = Deadline(after: timeout.map { $0 + 10 })
        let method = curl ? "request.build" : "data.send"
        defer { meter?.end() }
        let reply = try service.client.call(
            method, JSONText(written: JSONWriter.bytes(of: params)), by: deadline, onEvent: { meter?.heard($0) })
        guard let response = try reply.parsed().object else {
            throw CommandFailure(.brokeProtocol, "the answer is no response")
        }
        if reply.error != nil {
            throw CommandFailure(.error, response["message"]?.string ?? "the call failed")
        }
        if let command = response["curl"]?.string {
            try sink.write(Array((command + "\n").utf8))
            return try sink.finish()
        }
        try write(response, to: sink, through: &service.client)
    }

    private func write(
        _ response: JSONObject, to sink: borrowing BodyOutput, through client: inout ServiceClient
    ) throws(CommandFailure) {
        let status = response["status"]?.integer ?? 0
        if fail, status >= 400 {
            throw CommandFailure(code: 14, "\(response["url"]?.string ?? url) answered with status \(status)")
        }
        if include, status > 0 { try sink.write(Self.head(response)) }
        var body = ResponseBody(response["body"]?.object ?? [:])
        while let piece = try body.next(from: &client) { try sink.write(piece, contentType: body.contentType) }
        try sink.finish()
        if response["ok"] == .bool(false) {
            let error = response["error"]?.object ?? [:]
            throw CommandFailure(
                code: FailureStatus.of(code: error["code"]?.integer ?? 0),
                error["message"]?.string ?? "the request failed")
        }
    }

    private static func head(_ response: JSONObject) -> [UInt8] {
        var text = "HTTP/\(response["httpVersion"]?.string ?? "1.1") \(response["status"]?.integer ?? 0)\r\n"
        for field in response["headers"]?.array ?? [] {
            text += "\(field.object?["name"]?.string ?? ""): \(field.object?["value"]?.string ?? "")\r\n"
        }
        return Array((text + "\r\n").utf8)
    }
}
