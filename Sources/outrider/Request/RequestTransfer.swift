// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderJSON

/// One request of a command line: from its params to the body on standard output or in a file.
struct RequestTransfer {
    let call: RequestCall
    let url: ShellURL.Expanded
    /// Its place among the URLs of the command.
    let number: Int

    private var output: OutputOptions { call.output }

    /// - Parameter outcome: what is known, also where the transfer fails.
    func run(
        _ given: JSONObject, over client: inout ServiceClient, _ outcome: inout WriteOut.Outcome
    ) throws(CommandFailure) {
        // The request has its own deadline, which the service keeps; this one is for a service that does not.
        let deadline = Deadline(after: call.request.timeout.map { $0 + 10 })
        // a wrong path is told before anything is sent; with -J the response names the file
        let early = output.remoteHeaderName ? nil : try output.path(number, url: url, response: nil)
        var sink = try BodyOutput(output.remoteHeaderName ? "-" : early)
        outcome.filename = early
        if call.curl {
            let built = try client.object("request.build", given, by: deadline)
            try sink.write(Array(((built["curl"]?.string ?? "") + "\n").utf8))
            return try sink.finish()
        }
        let hearing = Hearing(output, isFile: output.remoteName || (early ?? "-") != "-")
        defer { hearing.meter?.end() }
        var params = given
        if hearing.meter != nil { params["events"] = .array([.string("progress")]) }
        var body = try StreamedBody(params, over: &client, by: deadline, onEvent: hearing.hears)
        outcome.response = body.response
        if output.remoteHeaderName {
            outcome.filename = try output.path(number, url: url, response: body.response)
            sink = try BodyOutput(outcome.filename, isNew: true)
        }
        try writeHead(of: body, to: &sink)
        let isFailure = body.status >= 400 && (output.fail || output.failWithBody)
        if !isFailure || output.failWithBody {
            while let piece = try body.next(over: &client, by: deadline, onEvent: hearing.hears) {
                outcome.written += Int64(piece.count)
                try sink.write(piece, contentType: body.contentType)
            }
            try sink.finish()
        }
        if hearing.meter != nil || call.output.writeOut != nil {
            outcome.response = try body.settled(over: &client, by: deadline, onEvent: hearing.hears)
        }
        if isFailure {
            let url = body.response["url"]?.string ?? url.text
            throw CommandFailure(code: 14, "\(url) answered with status \(body.status)")
        }
    }

    /// Writes the status and the fields where `-i`, `-I` and `-D` want them.
    private func writeHead(of body: StreamedBody, to sink: inout BodyOutput) throws(CommandFailure) {
        guard body.status > 0, !(output.fail && body.status >= 400) || output.dumpHeader != nil else { return }
        if let name = output.dumpHeader {
            var file = try BodyOutput(name)
            try file.write(body.head(isShown: file.isShown))
            try file.finish()
        }
        if output.include || call.request.head, !(output.fail && body.status >= 400) {
            try sink.write(body.head(isShown: sink.isShown))
        }
    }

    /// What listens to the events of one transfer.
    private struct Hearing {
        let meter: ProgressMeter?
        let log: VerboseLog?

        init(_ output: OutputOptions, isFile: Bool) {
            meter = isFile ? ProgressMeter(isSilent: output.silent) : nil
            log = output.verbose ? VerboseLog() : nil
        }

        func hears(_ event: [UInt8]) throws(CommandFailure) {
            meter?.heard(event)
            log?.heard(event)
        }
    }
}

extension StreamedBody {
    /// The status line and the fields.
    ///
    /// - Parameter isShown: on a terminal, which must not obey what a server says; elsewhere the bytes are exact.
    fileprivate func head(isShown: Bool) -> [UInt8] {
        // RFC 9112 section 4: the space before the reason is sent even without a reason
        var text = "HTTP/\(response["httpVersion"]?.string ?? "1.1") \(response["status"]?.integer ?? 0) \r\n"
        for field in response["headers"]?.array ?? [] {
            let line = "\(field.object?["name"]?.string ?? ""): \(field.object?["value"]?.string ?? "")"
            text += "\(isShown ? line.printable : line)\r\n"
        }
        return Array((text + "\r\n").utf8)
    }
}
