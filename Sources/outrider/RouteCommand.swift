// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderJSON

/// Calls an endpoint from a shell: its response on standard output, in the form of `outrider call router.send`.
struct RouteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "route",
        abstract: "Calls an endpoint of a router, and prints the response as a line of JSON.",
        discussion: """
            Parameters are words as for `outrider call`: `key=value` is text, `key:=json` any JSON.

              outrider route users getUser id:=7
              outrider route --from openapi.yaml users getUser id:=7 | jq .body

            The router is a router of the service: from `outrider serve --routers`, or shared by a client. With --from \
            the router is made from an OpenAPI document for this call.

            Exit status: 0 a response arrived, whatever its status code; 1 to 6 as `outrider call`; 10 to 18 as \
            `outrider call --exit-by-kind`.
            """)

    @Argument(help: "The router, by name.")
    var router: String

    @Argument(help: "The endpoint; `outrider call router.describe router=NAME` lists them.")
    var endpoint: String

    @Argument(help: "Its parameters: key=value, key:=json, or a JSON object.")
    var parameters: [String] = []

    @Option(name: .long, help: "An OpenAPI document, in JSON or YAML, to make the router of.", completion: .file())
    var from: String?

    @Option(name: .long, help: "The base URL of the API, in place of the document's.")
    var baseUrl: String?

    @Flag(name: .long, help: "Show the request, and send nothing.")
    var build = false

    @OptionGroup var service: ServiceOptions

    func validate() throws {
        if baseUrl != nil, from == nil { throw ValidationError("--base-url goes with --from only") }
    }

    func run() throws {
        let params: JSONObject = [
            "router": .string(router), "endpoint": .string(endpoint),
            "params": .object(try ParameterWords.object(parameters)),
        ]
        var service = try service.connect(orPrivate: from != nil)
        if let from { try call("router.import", try source(from), through: &service.client) }
        let reply = try call(build ? "router.build" : "router.send", params, through: &service.client)
        try StandardOutput.line(reply.body)
        if let status = FailureStatus.of(reply) { throw ExitCode(status) }
    }

    private func source(_ file: String) throws(CommandFailure) -> JSONObject {
        guard let path = realpath(file, nil) else {
            throw CommandFailure(.usage, "cannot read \(file): \(systemError(errno))")
        }
        defer { free(path) }
        var params: JSONObject = [
            "name": .string(router), "from": .object(["file": .string(String(cString: path))]),
        ]
        if let baseUrl { params["baseUrl"] = .string(baseUrl) }
        return params
    }

    /// Prints the error of a failed call, and ends with status 1.
    @discardableResult
    private func call(
        _ method: String, _ params: JSONObject, through client: inout ServiceClient
    ) throws -> ServiceClient.Reply {
        let reply = try client.call(method, JSONText(written: JSONWriter.bytes(of: params)), by: Deadline(after: nil))
        guard reply.error != nil else { return reply }
        StandardError.line(String(decoding: reply.body, as: UTF8.self))
        throw ExitCode(CommandFailure.Status.error.rawValue)
    }
}
