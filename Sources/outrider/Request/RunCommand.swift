// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import OutriderJSON

/// Sends the requests of a file, in order.
struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Sends the requests of a .http file.",
        discussion: """
              outrider run wolves.http
              outrider run wolves.http --name create --variable host=http://localhost:8080

            The format is that of the REST Client of VS Code and of kulala: ### between requests, @name = value for variables, \
            {{name}}, {{$timestamp}}, {{$guid}}, {{$randomInt 1 9}} and {{$processEnv NAME}} in texts, `< file` for a body. \
            A request named by `# @name login` gives later ones {{login.response.body.$.token}} and \
            {{login.response.headers.Location}}. The options hold for each request. Scripts are refused.

            The first failure ends the run; its exit status is that of `outrider get`.
            """)

    @Argument(help: "The file, or - for standard input.", completion: .file(extensions: ["http", "rest"]))
    var file: String

    @Option(
        name: .customLong("name"), help: "Send this request alone: its name, or its number from 1. May be repeated.")
    var names: [String] = []

    @Option(name: .customLong("variable"), help: "A variable, name=value; wins over the file. May be repeated.")
    var variables: [String] = []

    @Flag(name: .long, help: "Send nothing: list the requests.")
    var list = false

    @Flag(name: .long, help: "Send nothing: write the requests as curl commands, secrets masked.")
    var curl = false

    @OptionGroup var output: OutputOptions

    @OptionGroup var auth: AuthOptions

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var trust: TrustOptions

    @OptionGroup var service: ServiceOptions

    func run() throws {
        let text = try StandardInput.text(of: file)
        let parsed = try RequestFile(text, path: file)
        if list {
            for (index, request) in parsed.requests.enumerated() {
                let line = "\(index + 1)  \(request.method) \(request.url)  \(request.name)"
                try StandardOutput.line(line.printable.utf8)
            }
            return
        }
        var variables = try RequestVariables(file: parsed.variables, given: variables)
        variables.leavesResponses = curl
        for request in try chosen(parsed.requests) {
            let kept = request.name.isEmpty || curl ? nil : KeptResponse()
            try send(request, variables, kept)
            if let kept { variables.responses[request.name] = kept }
        }
    }

    private func chosen(_ requests: [RequestFile.Request]) throws(CommandFailure) -> [RequestFile.Request] {
        if names.isEmpty { return requests }
        var chosen: [RequestFile.Request] = []
        for name in names {
            let number = Int(name).map { $0 - 1 }
            let found =
                requests.first { $0.name == name }
                ?? number.flatMap { requests.indices.contains($0) ? requests[$0] : nil }
            guard let found else {
                throw CommandFailure(.usage, "\(file) has no request \(name) (outrider run --list \(file))")
            }
            chosen.append(found)
        }
        return chosen
    }

    private func send(
        _ request: RequestFile.Request, _ variables: RequestVariables, _ kept: KeptResponse?
    ) throws {
        var call = try RequestCall.plain(try variables.filled(request.url))
        call.curl = curl
        call.request.noLocation = !request.followsRedirects
        call.request.compressed = true
        (call.output, call.auth, call.proxy, call.trust, call.service) = (output, auth, proxy, trust, service)
        for field in request.fields {
            let filled = try variables.filled(field)
            // a response that is put in here must not name a file
            if filled.hasPrefix("@"), !field.hasPrefix("@") {
                throw CommandFailure(
                    .usage, "a field of \(file) begins with @ after its variables are filled in: \(field)")
            }
            if let auth = RequestFile.auth(filled) {
                call.auth.rawAuth = auth
            } else {
                call.request.headers.append(filled)
            }
        }
        call.request.headers = CopiedFields.sendable(call.request.headers, to: call.words)
        if let body = try body(of: request, variables) { call.request.body.rawBody = body }
        try call.run(request.method, keeping: kept)
    }

    private func body(
        of request: RequestFile.Request, _ variables: RequestVariables
    ) throws(CommandFailure) -> JSONObject? {
        if request.body.isEmpty { return nil }
        if request.body.count == 1, case .file(let name, false)? = request.body.first {
            return try DataWords.file(path(name))
        }
        var bytes: [UInt8] = []
        for piece in request.body {
            switch piece {
            case .text(let text): bytes += Array(try variables.filled(text).utf8)
            case .file(let name, false): bytes += try StandardInput.bytes(of: path(name))
            case .file(let name, true):
                let text = try StandardInput.text(of: path(name))
                bytes += Array(try variables.filled(text).utf8)
            }
        }
        if let text = String(validating: bytes, as: UTF8.self) { return ["text": .string(text)] }
        return ["base64": .string(Base64.encode(bytes))]
    }

    /// A path counts from the directory of the file.
    private func path(_ name: String) -> String {
        let folder = file == "-" ? "" : file.lastIndex(of: "/").map { String(file[...$0]) } ?? ""
        return name.hasPrefix("/") ? name : folder + name
    }
}
