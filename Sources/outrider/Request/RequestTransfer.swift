// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import OutriderJSON

/// The file of `-D`: the heads of a command, one after the other, replace what is in it. The file is opened before anything
/// is sent.
final class HeadFile {
    private var file: BodyOutput

    init(_ file: consuming BodyOutput) { self.file = file }

    fileprivate func write(_ body: StreamedBody) throws(CommandFailure) {
        try file.write(body.head(isShown: file.isShown))
        try file.finish()
    }
}

/// A request of a command line as a series of calls: from its params to the body on standard output or in a file.
final class RequestTransfer {
    /// The step after a result.
    enum Step {
        case call(ServiceClient.Order)
        /// The rest of the body is long: `carry` takes the rest over a connection of its own, or `readOn` in pieces.
        case carry(StreamedBody)
        /// Standard output belongs to an earlier transfer: `resume` goes on.
        case waitForTurn
        case end
    }

    private enum Expectation {
        case command, head, turn, bytes, carried, closed, metrics
    }

    /// Bytes per call of a single transfer; base64 adds a third.
    private static let pieceBytes: Int64 = 1 << 20
    /// The same for each of many transfers, all of which may be on the way together.
    private static let smallPieceBytes: Int64 = 1 << 17

    let number: Int
    /// When the command gives up. The request has its own deadline, which the service keeps; this one is for a service that
    /// does not.
    let deadline: Deadline
    private(set) var outcome: WriteOut.Outcome
    /// Draws the progress; nil if nothing is drawn.
    let meter: ProgressMeter?
    /// Takes a copy of the response.
    private let kept: KeptResponse?
    private let heads: HeadFile?
    private let call: RequestCall
    private let url: ShellURL.Expanded
    private var sink: BodyOutput
    /// The file of `--etag-save`.
    private var tagFile: BodyOutput
    /// Whether the body came whole: no later failure removes it.
    private var isWhole = false
    private var painter: JSONPainter?
    private var expectation: Expectation
    private var body: StreamedBody?
    private var params = JSONObject()
    /// What is left of the retries for a request that is sent anew.
    private var retries: RetryOptions
    private var began = ContinuousClock.now
    /// The rate of `--limit-rate`; nil for no limit.
    private let rate: ByteRate?
    private var pacer: RatePacer?
    /// When the time of `-m` is over, which `--limit-rate` does not extend; nil without one of the two.
    private var limit: ContinuousClock.Instant?
    /// The bytes that came too late because of `--limit-rate`; nil while there is time.
    private var late: Int?

    private var output: OutputOptions { call.output }

    /// Opens the files, so that a wrong path is told before anything is sent; with `-J` the response names the file.
    ///
    /// - Parameters:
    ///   - number: its place among the URLs of the command.
    ///   - heads: common to all transfers of the command.
    init(
        _ call: RequestCall, url: ShellURL.Expanded, number: Int, heads: HeadFile?, kept: KeptResponse? = nil
    ) throws(CommandFailure) {
        self.call = call
        self.heads = heads
        self.kept = kept
        self.url = url
        self.number = number
        retries = call.retries
        rate = call.request.limitRate.flatMap(ByteRate.init)
        tagFile = try BodyOutput(call.curl ? "-" : call.output.etagSave ?? "-")
        // a shown command touches no file
        let path = call.output.remoteHeaderName || call.curl ? nil : try call.output.path(url: url, response: nil)
        sink = try call.output.sink(call.output.remoteHeaderName ? "-" : path)
        outcome = WriteOut.Outcome(filename: path, urlNumber: number)
        let isFile = call.output.remoteName || (path ?? "-") != "-"
        meter = isFile && !call.parallel ? ProgressMeter(isSilent: call.output.silent) : nil
        // the time is that of an attempt, and the waits between attempts may be long
        deadline = Deadline(after: call.retries.areWanted ? nil : call.request.total.map { $0 + 10 })
        expectation = call.curl ? .command : .head
    }

    /// Whether the transfer writes to standard output, where the bodies follow each other.
    private var needsTurn: Bool { !output.remoteName && (outcome.filename ?? "-") == "-" }

    /// Whether the transfer waits for standard output.
    var isWaiting: Bool { expectation == .turn }

    /// The first call.
    func begin(_ params: JSONObject) -> ServiceClient.Order {
        if call.curl { return ServiceClient.Order(method: "request.build", params: params) }
        var params = params
        self.params = params
        limitTime()
        if meter != nil { params["events"] = .array([.string("progress")]) }
        return StreamedBody.opening(params)
    }

    /// The result of the last call.
    ///
    /// - Parameter hasTurn: no earlier transfer writes to standard output any more.
    func take(_ result: JSONObject, hasTurn: Bool) throws(CommandFailure) -> Step {
        switch expectation {
        case .command:
            try sink.write(Array(((result["curl"]?.string ?? "") + "\n").utf8))
            try sink.finish()
            return .end
        case .head:
            let body = try StreamedBody(opened: result)
            self.body = body
            outcome.response = body.response
            // the service alone knows when the last of several attempts began: it was not later
            if outcome.attemptCount > 1 { limitTime() }
            kept?.begin(body.response)
            if needsTurn, !hasTurn {
                expectation = .turn
                return .waitForTurn
            }
            return try resume()
        case .turn: return .waitForTurn
        case .bytes: return try takeBytes(result)
        case .carried:
            if let error = result["error"]?.object { throw CommandFailure(response: error) }
            guard result["pending"] != .bool(true) else {
                throw CommandFailure(.ended, "the service ended the body before its end")
            }
            try sink.finish()
            outcome.response = result
            return try end()
        case .closed: return try settle()
        case .metrics:
            outcome.response = result
            return try end()
        }
    }

    /// Goes on behind the head of the response.
    func resume() throws(CommandFailure) -> Step {
        guard let body else { return .end }
        if output.remoteHeaderName, outcome.earlierAttempts == 0 {
            let path = try output.path(url: url, response: body.response)
            outcome.filename = path
            sink = try output.sink(path, isNew: true)
        }
        try writeHead(of: body)
        if isFailure, !output.failWithBody {
            // a connection may have 256 streams
            expectation = .closed
            return .call(body.closing)
        }
        if call.request.head, let method = call.request.method, method != "HEAD", body.status > 0 {
            // -I shows the head alone, whatever method -X names
            try sink.finish(replaces: body.status != 304)
            expectation = .closed
            return .call(body.closing)
        }
        let isCoded = params["decode"] == .bool(false) && body.field("content-encoding") != nil
        painter = output.painter(isShown: sink.isShown, isJSON: body.isJSON && !isCoded)
        return readOn(body)
    }

    /// Ends the transfer with a failure.
    func fail(_ failure: CommandFailure) {
        outcome.failure = failure
        if output.removeOnError, !isWhole { sink.discard() }
    }

    /// The call that sends the request anew after its body broke off; nil if the failure is the end. A file is written from
    /// its start; what a pipe or a terminal has got stays there.
    func again(after failure: CommandFailure) -> ServiceClient.Order? {
        guard failure.code == FailureStatus.network, expectation == .bytes || expectation == .carried, kept == nil,
            !call.parallel, sink.canBeginAnew
        else { return nil }
        let attempts = outcome.attemptCount
        let elapsed = (ContinuousClock.now - began) / .seconds(1)
        let retry = outcome.earlierAttempts + attempts
        guard let (rest, delay) = retries.rest(after: attempts, retry: retry, elapsed: elapsed) else { return nil }
        // safe: a delay is a day at most
        var pause = timespec(tv_sec: Int(delay), tv_nsec: Int((delay - delay.rounded(.down)) * 1e9))
        nanosleep(&pause, nil)
        (retries, began, pacer, late) = (rest, .now, nil, nil)
        rest.add(to: &params, failsByStatus: output.failsByStatus)
        sink.beginAnew()
        (outcome.earlierAttempts, outcome.written) = (retry, 0)
        expectation = .head
        return begin(params)
    }

    private var isFailure: Bool { (body?.status ?? 0) >= 400 && output.failsByStatus }

    /// Asks for the next piece of the body.
    func readOn(_ body: StreamedBody) -> Step {
        expectation = .bytes
        let most = call.parallel ? Self.smallPieceBytes : Self.pieceBytes
        // pieces of a fifth of a second: the service goes on hearing of this command
        let paced = late == nil ? rate.map { max(1, min(most, $0.bytes / 5)) } : nil
        return .call(body.reading(paced ?? most))
    }

    private func takeBytes(_ result: JSONObject) throws(CommandFailure) -> Step {
        guard let piece = try body?.bytes(result), let body else { return .end }
        if let late, late + piece.count > 0 {
            self.late = late + piece.count
            guard body.isOver else { return readOn(body) }
            throw body.failure
                ?? CommandFailure(
                    code: FailureStatus.network,
                    "the body takes longer than -m allows: raise -m or the rate of --limit-rate")
        }
        outcome.written += Int64(piece.count)
        kept?.add(piece)
        try sink.write(painter?.paint(piece) ?? piece, contentType: body.contentType)
        pause(after: piece.count)
        guard body.isOver else {
            // many at once share one connection, and what is shown is looked at
            let isLookedAt = painter != nil || sink.isShown || kept != nil || rate != nil
            let isLong = outcome.written >= Self.pieceBytes
            return isLong && !call.parallel && !isLookedAt ? .carry(body) : readOn(body)
        }
        if let rest = painter?.finish() { try sink.write(rest) }
        if let failure = body.failure { throw failure }
        // the file of the caller is current (RFC 9110 section 15.4.5)
        try sink.finish(replaces: body.status != 304)
        return try settle()
    }

    private func limitTime() {
        limit = rate == nil ? nil : call.request.total.map { .now + .seconds($0) }
    }

    /// Waits as `--limit-rate` asks for, no longer than `-m` allows: the service then has a failure to tell.
    private func pause(after count: Int) {
        guard let rate else { return }
        let now = (ContinuousClock.now - began) / .seconds(1)
        var pacer = pacer ?? RatePacer(bytesPerSecond: Int(clamping: rate.bytes), now: now)
        var seconds = pacer.wait(after: count, now: now)
        self.pacer = pacer
        if let limit {
            let left = max(0, (limit - .now) / .seconds(1))
            if seconds > left { (seconds, late) = (left, 0) }
        }
        // safe: a piece takes a second at most
        var pause = timespec(tv_sec: Int(seconds), tv_nsec: Int((seconds - seconds.rounded(.down)) * 1e9))
        nanosleep(&pause, nil)
    }

    /// Takes the rest of the body over a connection of its own.
    func carry(
        _ raw: consuming RawBody, of body: StreamedBody, hearing client: inout ServiceClient,
        onEvent: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) -> Step {
        var raw = raw
        try raw.write(to: &sink, hearing: &client, by: deadline, counting: &outcome.written, onEvent: onEvent)
        // bytes alone do not tell whether the body broke off before they were asked for
        expectation = .carried
        return .call(body.settling)
    }

    private func settle() throws(CommandFailure) -> Step {
        isWhole = !isFailure
        guard let body, meter != nil || output.writeOut != nil else { return try end() }
        expectation = .metrics
        return .call(body.settling)
    }

    private func end() throws(CommandFailure) -> Step {
        if isFailure, let body {
            throw CommandFailure(code: 14, "\(lastURL(in: body.response)) responded with status \(body.status)")
        }
        isWhole = true
        if output.tells { tellMethod() }
        try keepMetadata()
        return .end
    }

    /// Tells of a redirect that changed the method of `-X`, which curl sends again.
    private func tellMethod() {
        guard let method = call.request.method, let response = body?.response,
            response["redirects"]?.array?.isEmpty == false, let last = response["method"]?.string,
            last.uppercased() != method.uppercased()
        else { return }
        let url = lastURL(in: response)
        StandardError.line(
            "outrider: a redirect made the \(method) a \(last): name the last URL, \(url), in place of the first")
    }

    /// The URL that answered. A server chose the query and the fragment of a redirect, which may hold secrets.
    private func lastURL(in response: JSONObject) -> String {
        let last = response["url"]?.string ?? url.text
        guard response["redirects"]?.array?.isEmpty == false, let end = last.firstIndex(where: { "?#".contains($0) })
        else { return last }
        return "\(last[...end])…"
    }

    /// What `-R` and `--etag-save` keep of a response that came whole.
    private func keepMetadata() throws(CommandFailure) {
        guard let body else { return }
        if output.remoteTime, let date = body.field("last-modified"),
            let time = HTTPDate.parse(date, now: Int64(Glibc.time(nil)))
        {
            sink.setTime(time)
        }
        if output.etagSave != nil, (200...299).contains(body.status) || body.status == 304,
            let tag = body.field("etag")
        {
            try tagFile.write(Array("\(tag)\n".utf8))
            try tagFile.finish()
        }
    }

    /// Writes the status and the fields where `-i`, `-I` and `-D` want them.
    private func writeHead(of body: StreamedBody) throws(CommandFailure) {
        guard body.status > 0 else { return }
        try heads?.write(body)
        // a name that the server chose is for a body
        if isFailure, !output.failWithBody, output.remoteHeaderName { return }
        if output.include || call.request.head { try sink.write(body.head(isShown: sink.isShown)) }
    }
}

extension StreamedBody {
    /// The first field of that name, which is in lower case.
    fileprivate func field(_ name: String) -> String? {
        (response["headers"]?.array ?? []).lazy.compactMap(\.object).first {
            $0["name"]?.string?.lowercased() == name
        }?["value"]?
        .string
    }

    /// The status line and the fields.
    ///
    /// - Parameter isShown: on a terminal, which must not obey a server's control characters; otherwise exact bytes.
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
