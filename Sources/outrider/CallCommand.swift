// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// A single call from a shell: its result on standard output, its error on standard error.
struct CallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Calls a method, and prints its result as a line of JSON; on a terminal indented and coloured.",
        discussion: """
            Parameters are a JSON object, or words: `key=value` is text, `key:=json` any JSON. Both may be mixed; \
            `-` reads an object from standard input.

              outrider call server.info
              outrider call data.send '{"url":"https://example.org/","timeout":10}'
              outrider call data.send url=https://example.org/ timeout:=10 headers:='{"Accept":"text/html"}'
              outrider call --spawn data.send url=https://example.org/ | jq -r .body.text

            Exit status: 0 a result, 1 an error (as JSON on standard error), 2 wrong usage, 3 no service, 4 timed out, \
            5 the service went away, 6 the service broke the protocol. A failed exchange is a result with `"ok":false`; \
            with --exit-by-kind the status is 10 request, 11 interception, 12 network, 13 trust, 14 validation, 15 \
            serialization, 16 file, 17 cancelled, 18 sockets.
            """)

    @Argument(help: "The method, such as data.send; `outrider describe` lists them.", completion: DescribeCommand.names)
    var method: String

    @Argument(help: "Its parameters: JSON, key=value, key:=json, or -.")
    var parameters: [String] = []

    @OptionGroup var service: ServiceOptions

    @Option(name: .long, help: "Seconds to wait for the result. Default: no limit.")
    var timeout: Double?

    @Flag(name: .long, help: "Print events as well, each on a line before the result.")
    var events = false

    @Flag(name: .long, help: "Print the whole reply, result or error, on standard output.")
    var raw = false

    @Flag(name: .long, help: "Tell from the exit status why an exchange failed.")
    var exitByKind = false

    func validate() throws {
        if let timeout, !(timeout > 0 && timeout <= 1_000_000) {
            throw ValidationError("--timeout must be a number of seconds above 0")
        }
    }

    func run() throws {
        let params = try ParameterWords.object(parameters)
        try Contract.check(params, for: method)
        let deadline = Deadline(after: timeout)
        var service = try service.connect()
        let text = JSONText(written: JSONWriter.bytes(of: params))
        let reply = try service.client.call(method, text, by: deadline) { line throws(CommandFailure) in
            if events { try StandardOutput.line(line) }
        }
        if raw {
            try StandardOutput.line(reply.line.drop { $0 == UInt8(ascii: " ") })
        } else if reply.error == nil {
            try StandardOutput.json(reply.body)
        } else {
            StandardError.line(String(decoding: reply.body, as: UTF8.self))
        }
        if reply.error != nil { throw ExitCode(CommandFailure.Status.error.rawValue) }
        if exitByKind, let status = FailureStatus.of(reply) { throw ExitCode(status) }
    }
}
