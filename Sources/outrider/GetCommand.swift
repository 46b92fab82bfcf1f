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
              outrider get --oauth work https://api.example.org/me
              outrider get -X PUT -H 'Content-Type: application/json' -d @data.json https://example.org/api/1
              outrider get --curl -d 'name=wolf' https://example.org/form

            With -o, and standard error on a terminal, a line shows how far a long body is.

            Uses the service of this user if it runs, so that connections stay warm; else one of its own.

            Exit status: 0 an answer arrived, whatever its status code (see --fail); 1 to 6 as `outrider call`;
            10 request, 11 credential, 12 network, 13 trust, 14 status 400 or above with --fail, 16 file, 17 cancelled.
            """)

    @Argument(help: "Where to, such as https://example.org/.")
    var url: String

    @Option(name: [.customShort("X"), .customLong("request")], help: "The method; GET, or POST with --data.")
    var method: String?

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: "A field to send: 'Name: value', or @file with one on each line. May be repeated.")
    var headers: [String] = []

    @Option(
        name: [.customShort("d"), .customLong("data")],
        help: "Data to send: text, @file, or @- for standard input. May be repeated; the pieces are joined with &.")
    var data: [String] = []

    @Option(name: .long, help: "The same as --data, sent as application/json.")
    var json: String?

    @Option(
        name: [.customShort("o"), .customLong("output")], help: "Write to this file, or to `-` also what is binary.",
        completion: .file())
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

    @Option(
        name: .long,
        help: "Repeat so many times what a lost connection, 408, 429 or 500 to 504 has failed, if it may be repeated.")
    var retry: Int?

    @OptionGroup var auth: AuthOptions

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if let fault = RequestWords.fault(timeout: timeout) { throw ValidationError(fault) }
        if let retry, !(0...100).contains(retry) { throw ValidationError("--retry must be from 0 to 100") }
        if !data.isEmpty, json != nil { throw ValidationError("give only one of --data and --json") }
        if let fault = RequestWords.fault(headers: headers, data: data + [json].compactMap { $0 }, asks: auth.asks) {
            throw ValidationError(fault)
        }
    }

    func run() throws {
        do throws(CommandFailure) {
            try fetch()
        } catch {
            throw silent ? CommandFailure(code: error.code, nil) : error
        }
    }

    private func fetch() throws(CommandFailure) {
        var params = try RequestWords(
            url: url, method: method, headers: headers, data: json.map { [$0] } ?? data, isJSON: json != nil,
            timeout: timeout
        ).params()
        try auth.add(to: &params)
        proxy.add(to: &params)
        if let retry {
            let statuses: [JSONValue] = [408, 429, 500, 502, 503, 504].map { .integer($0) }
            params["retry"] = .object(["limit": .integer(Int64(retry)), "statuses": .array(statuses)])
        }
        let meter = output.flatMap { $0 == "-" || curl ? nil : ProgressMeter(isSilent: silent) }
        if meter != nil { params["events"] = .array([.string("progress")]) }
        var sink = try BodyOutput(output)
        for piece in data where piece.hasPrefix("@") && sink.isSame(as: String(piece.dropFirst())) {
            throw CommandFailure(.usage, "\(piece.dropFirst()) is both sent and written: name another file")
        }
        var service = try service.connect(orPrivate: true)
        // The request has its own deadline, which the service keeps; this one is for a service that does not.
        let deadline = Deadline(after: timeout.map { $0 + 10 })
        if curl {
            let built = try service.client.object("request.build", params, by: deadline)
            try sink.write(Array(((built["curl"]?.string ?? "") + "\n").utf8))
            return try sink.finish()
        }
        defer { meter?.end() }
        let hears = { (event: [UInt8]) throws(CommandFailure) -> Void in meter?.heard(event) }
        var body = try StreamedBody(params, over: &service.client, by: deadline, onEvent: hears)
        if fail, body.status >= 400 {
            throw CommandFailure(
                code: 14, "\(body.response["url"]?.string ?? url) answered with status \(body.status)")
        }
        if include, body.status > 0 { try sink.write(Self.head(body.response, isShown: sink.isShown)) }
        while let piece = try body.next(over: &service.client, by: deadline, onEvent: hears) {
            try sink.write(piece, contentType: body.contentType)
        }
        if meter != nil { try body.settle(over: &service.client, by: deadline, onEvent: hears) }
        try sink.finish()
    }

    /// - Parameter isShown: on a terminal, which must not obey what a server says; elsewhere the bytes are exact.
    private static func head(_ response: JSONObject, isShown: Bool) -> [UInt8] {
        // RFC 9112 section 4: the space before the reason is sent even without a reason
        var text = "HTTP/\(response["httpVersion"]?.string ?? "1.1") \(response["status"]?.integer ?? 0) \r\n"
        for field in response["headers"]?.array ?? [] {
            let line = "\(field.object?["name"]?.string ?? ""): \(field.object?["value"]?.string ?? "")"
            text += "\(isShown ? line.printable : line)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }
}
