// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import ArgumentParser
import Glibc
import OutriderJSON

/// A WebSocket in a shell: each line of standard input is a message, and each message a line of standard output.
struct WebSocketCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "websocket",
        abstract: "Opens a WebSocket: lines of standard input are sent, messages go to standard output.",
        discussion: """
              outrider websocket wss://example.org/feed
              echo '{"op":"subscribe"}' | outrider websocket --count 10 wss://example.org/feed | jq .price
              outrider websocket --json --protocol graphql-transport-ws wss://example.org/graphql

            The end of standard input closes the WebSocket, unless no line was sent or --count is given. A binary message is \
            written in base64.

            Exit status: 0 the WebSocket was closed with 1000 or 1001, or --count messages came; 1 to 6 as `outrider call`; 10 \
            request, 11 credential, 12 network, 13 trust, 17 cancelled, 18 the handshake was refused, or the WebSocket \
            ended otherwise.
            """)

    @Argument(help: "Where to, such as wss://example.org/feed.")
    var url: String

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: "A field to send: 'Name: value', or @file with a field on each line. May be repeated.")
    var headers: [String] = []

    @Option(name: .customLong("protocol"), help: "A subprotocol to offer. May be repeated; the preferred first.")
    var protocols: [String] = []

    @Option(name: .long, help: "Close after so many messages.")
    var count: Int?

    @Flag(name: .long, help: "Write each message as a JSON object: {\"text\"} or {\"base64\"}.")
    var json = false

    @Flag(
        name: .long, help: "Send lines as binary messages, and write binary messages as they are, without a line feed.")
    var binary = false

    @Option(
        name: .customLong("max-message"),
        help: "The longest message from the server in bytes, such as 500k or 16M; 1M by default, 64M at most.")
    var maxMessage: String?

    @Option(name: .long, help: "Seconds of silence after which a ping is sent; 0 for no pings.")
    var ping: Double?

    @Flag(name: .long, help: "Reconnect after a lost connection.")
    var reconnect = false

    @OptionGroup var auth: AuthOptions

    @OptionGroup var proxy: ProxyOptions

    @OptionGroup var trust: TrustOptions

    @OptionGroup var service: ServiceOptions

    /// Bytes of messages that the service may send ahead.
    private static let credit: Int64 = 1 << 20

    /// The most that the service takes for `maxMessage`.
    private static let mostMessage: Int64 = 64 << 20

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be at least 1") }
        if let ping, !(ping == 0 || (ping >= 0.05 && ping <= 86400)) {
            throw ValidationError("--ping must be 0, or from 0.05 to 86400 seconds")
        }
        if let maxMessage, ByteRate(maxMessage).map({ $0.bytes > Self.mostMessage }) ?? true {
            throw ValidationError("--max-message must be a number of bytes up to 64M, such as 500k or 16M")
        }
        if json, binary { throw ValidationError("--json and --binary exclude each other") }
    }

    func run() throws {
        var params = try params()
        var service = try service.connect(orPrivate: true)
        try CommandSession(places: trust.places).add(to: &params, over: &service.client)
        let events = Events(json: json, binary: binary, most: count)
        let opened = try service.client.object("websocket.open", params, by: .never) { (line) throws(CommandFailure) in
            try events.take(line)
        }
        guard let stream = opened["stream"] else {
            let error = opened["response"]?.object?["error"]?.object
            throw error.map { CommandFailure(response: $0) }
                ?? CommandFailure(.brokeProtocol, "the result of websocket.open names no stream")
        }
        events.stream = stream
        try carry(events, over: &service.client)
        if let failure = events.failure, !events.isFull { throw failure }
    }

    private func carry(_ events: Events, over client: inout ServiceClient) throws(CommandFailure) {
        var input = LineInput()
        var isClosing = false
        while !events.isOver {
            try grant(events, over: &client)
            let file = input.isOver || isClosing ? nil : STDIN_FILENO
            try client.wait(or: file, endsWithReader: !isClosing) { (line) throws(CommandFailure) in
                try events.take(line)
            }
            if !isClosing, !input.isOver, input.isReady {
                for line in try input.lines() { try send(line, events, over: &client) }
            }
            let isDone = events.isFull || (input.isOver && input.hasBegun && count == nil)
            guard isDone, !isClosing, !events.isOver else { continue }
            isClosing = true
            events.isSilent = events.isFull
            let reply = try call("websocket.close", ["stream": events.stream], events, over: &client)
            _ = try ServiceClient.object(of: reply)
        }
    }

    /// Calls, and grants credit for the messages that come before the reply: the reply may wait for those.
    private func call(
        _ method: String, _ params: JSONObject, _ events: Events, over client: inout ServiceClient
    ) throws(CommandFailure) -> ServiceClient.Reply {
        let id = try client.send(ServiceClient.Order(method: method, params: params))
        while true {
            try grant(events, over: &client)
            let found = try client.next { (line) throws(CommandFailure) in try events.take(line) }
            if let found, found.id == id { return found.reply }
        }
    }

    private func send(_ line: [UInt8], _ events: Events, over client: inout ServiceClient) throws(CommandFailure) {
        var params: JSONObject = ["stream": events.stream, "wait": .integer(600)]
        if binary {
            params["base64"] = .string(Base64.encode(line))
        } else if let text = String(validating: line, as: UTF8.self) {
            params["text"] = .string(text)
        } else {
            throw CommandFailure(.usage, "a line of standard input is not UTF-8: send binary messages with --binary")
        }
        while true {
            let told = events.states
            let reply = try call("websocket.send", params, events, over: &client)
            // an event reports the reason of the end
            guard reply.error != nil, !events.isOver else { return }
            let error = try reply.parsed().object
            switch error?["data"]?.object?["state"]?.string {
            case nil: throw CommandFailure(.error, error?["message"]?.string ?? "the message could not be sent")
            case "reconnecting":
                // the next state, or the end
                while events.states == told, !events.isOver {
                    try grant(events, over: &client)
                    try client.wait(or: nil) { (line) throws(CommandFailure) in try events.take(line) }
                }
            default: return
            }
        }
    }

    /// Does not wait for the reply, which tells nothing new.
    private func grant(_ events: Events, over client: inout ServiceClient) throws(CommandFailure) {
        guard events.taken > Self.credit / 2, !events.isOver else { return }
        let params: JSONObject = ["stream": events.stream, "bytes": .integer(events.taken)]
        events.taken = 0
        _ = try client.send(ServiceClient.Order(method: "stream.credit", params: params))
    }

    private func params() throws(CommandFailure) -> JSONObject {
        let address = ShellURL.webSocket(url)
        var params: JSONObject = ["url": .string(address), "mode": .string("push"), "credit": .integer(Self.credit)]
        try RequestWords.fields(headers).add(to: &params)
        if !protocols.isEmpty { params["protocols"] = .array(protocols.map { .string($0) }) }
        if let most = maxMessage.flatMap(ByteRate.init) { params["maxMessage"] = .integer(most.bytes) }
        if let ping { params["ping"] = ping == 0 ? .bool(false) : .object(["interval": .real(ping)]) }
        if reconnect { params["reconnect"] = .bool(true) }
        try auth.add(to: &params)
        proxy.add(to: &params)
        try proxy.check(address)
        try trust.add(to: &params)
        trust.redirect(&params)
        return params
    }
}

/// The events of a WebSocket, and their output.
private final class Events {
    private let json: Bool
    private let binary: Bool
    private let most: Int?
    var stream = JSONValue.null
    /// Bytes of messages since credit was granted.
    var taken: Int64 = 0
    /// The number of reported states.
    private(set) var states = 0
    private var written = 0
    private(set) var isOver = false
    /// No more output is wanted.
    var isSilent = false
    private(set) var failure: CommandFailure?

    init(json: Bool, binary: Bool, most: Int?) {
        (self.json, self.binary, self.most) = (json, binary, most)
    }

    var isFull: Bool { most.map { written >= $0 } ?? false }

    func take(_ line: [UInt8]) throws(CommandFailure) {
        guard let message = try ServiceClient.parsed(line[...]).object, let params = message["params"]?.object else {
            return
        }
        switch message["method"]?.string {
        case "event.message":
            taken += params["bytes"]?.integer ?? 0
            if !isSilent, !isFull { try write(params) }
        case "event.socket": states += 1
        case "event.end":
            isOver = true
            end(params)
        default: break
        }
    }

    private func write(_ message: JSONObject) throws(CommandFailure) {
        written += 1
        let isBinary = message["base64"] != nil && message["isText"] == nil
        if json {
            var shown: JSONObject = [:]
            for name in ["text", "base64", "isText"] { if let value = message[name] { shown[name] = value } }
            return try StandardOutput.line(JSONWriter.bytes(of: shown))
        }
        if let text = message["text"]?.string { return try StandardOutput.line(text.utf8) }
        let base64 = message["base64"]?.string ?? ""
        if isBinary, !binary { return try StandardOutput.line(base64.utf8) }
        let bytes = Base64.decode(base64) ?? []
        if isBinary { try StandardOutput.write(bytes) } else { try StandardOutput.line(bytes) }
    }

    private func end(_ params: JSONObject) {
        if let error = params["error"]?.object { failure = CommandFailure(response: error) }
        guard failure == nil, let close = params["close"]?.object, let code = close["code"]?.integer,
            ![1000, 1001, 1005].contains(code)
        else { return }
        let reason = close["reason"]?.string.map { ": \($0)" } ?? ""
        failure = CommandFailure(code: FailureStatus.of(code: 2001), "the WebSocket was closed with \(code)\(reason)")
    }
}

/// Lines of standard input, as they come.
private struct LineInput {
    /// The longest line: a longer one is no message that the service takes, and the input may have no line feed at all.
    private static let longest = 64 << 20

    /// The beginning of the next line, without a line feed.
    private var held: [UInt8] = []
    private(set) var isOver = false
    /// A line came.
    private(set) var hasBegun = false

    var isReady: Bool {
        var ready = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, 0) > 0
    }

    mutating func lines() throws(CommandFailure) -> [[UInt8]] {
        guard let bytes = try FileBytes.read(STDIN_FILENO) else {
            isOver = true
            defer { held = [] }
            if held.isEmpty { return [] }
            hasBegun = true
            return [held]
        }
        var pieces = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let last = pieces.removeLast()
        var lines: [[UInt8]] = []
        for piece in pieces {
            lines.append(held + piece)
            held = []
        }
        held += last
        if held.count > Self.longest {
            throw CommandFailure(.usage, "a line of standard input is longer than 64M: send it in several lines")
        }
        if !lines.isEmpty { hasBegun = true }
        return lines
    }
}
