// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import NIOEmbedded
import NIOHTTP1

@testable import OutriderHTTP
@testable import OutriderTransport

// MARK: HTTP/1.1

/// What NIO's parser made of the bytes of a response, with the product's limits.
private struct Parsed: Equatable {
    var head: ResponseHead?
    var body: [UInt8] = []
    var trailers: HTTPFields?
    var isWhole = false
    var failed = false
}

private func parsed(_ pieces: [[UInt8]]) -> Parsed {
    let channel = EmbeddedChannel()
    let decoder = HTTPResponseDecoder(
        leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward,
        limitConfiguration: HTTP1Limits.decoder)
    var result = Parsed()
    var texts = HeadTexts()
    for piece in pieces { texts.feed(piece) }
    do {
        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(decoder))
        // a response without a request is none
        let request = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
        channel.pipeline.syncOperations.fireChannelActive()
        _ = try? channel.writeOutbound(HTTPClientRequestPart.head(request))
        for piece in pieces { try channel.writeInbound(ByteBuffer(bytes: piece)) }
    } catch {
        result.failed = true
    }
    while let part = try? channel.readInbound(as: HTTPClientResponsePart.self), !result.isWhole {
        switch part {
        case .head(let head):
            let text = texts.next()
            if (100..<200).contains(head.status.code), head.status.code != 101 { continue }
            result.head = ResponseHead(head, texts: text)
        case .body(let bytes): result.body += Array(bytes.readableBytesView)
        case .end(let trailers):
            result.trailers = trailers.map { HTTPFields($0) }
            result.isWhole = true
        }
    }
    _ = try? channel.finish(acceptAlreadyClosed: true)
    return result
}

/// The head of the quick parser, of the full one for handshakes, and of NIO.
func head(_ input: Input) {
    let plain = input.bytes.withUnsafeBytes { PlainHead($0) }
    let end = input.bytes.firstRange(of: [13, 10, 13, 10])?.upperBound
    let full = end.flatMap { ResponseHead(parsing: input.bytes[..<$0]) }
    if let plain {
        expect(plain.bytes == end, "the head ends elsewhere")
        expect(full == plain.head, "the full parser has \(String(describing: full)), not \(plain.head)")
        _ = try? BodyFraming.of(plain.head, to: "GET")
    }
    guard plain != nil || full.map({ $0.status != 101 && $0.status / 100 != 1 }) == true, let end else { return }
    let nio = parsed([Array(input.bytes[..<end])])
    if let plain {
        let shown = String(describing: nio.head)
        expect(nio.head?.status == plain.head.status, "NIO has another status, or none: \(shown)")
        expect(nio.head?.fields == plain.head.fields, "NIO has other fields: \(shown)")
    } else if let full, let head = nio.head, !nio.failed {
        expect(head.status == full.status && head.version == full.version, "NIO has another status than \(full)")
        expect(head.fields == full.fields, "NIO has other fields: \(head.fields) and \(full.fields)")
    }
}

/// A body in chunks by RFC 9112 section 7.1, without leniency; nil for anything else.
private func strictlyChunked(_ bytes: [UInt8]) -> [UInt8]? {
    var body: [UInt8] = []
    var rest = bytes[...]
    while true {
        guard let line = rest.firstRange(of: [13, 10]) else { return nil }
        let digits = rest[..<line.lowerBound]
        guard (1...6).contains(digits.count),
            digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20) }),
            let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
        else { return nil }
        rest = rest[line.upperBound...]
        if size == 0 { return rest.elementsEqual([13, 10]) ? body : nil }
        guard rest.count >= size + 2, rest.dropFirst(size).starts(with: [13, 10]) else { return nil }
        body += rest.prefix(size)
        rest = rest.dropFirst(size + 2)
    }
}

/// The bytes behind the head of a response in chunks.
func chunked(_ input: Input) {
    let head = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
    let whole = parsed([head + input.bytes])
    let pieces = parsed([head] + input.pieces)
    expect(whole.isWhole == pieces.isWhole, "whole in one way only: \(whole) and \(pieces)")
    if whole.isWhole { expect(whole == pieces, "cut otherwise: \(whole) and \(pieces)") }
    if let body = strictlyChunked(input.bytes) {
        expect(whole.isWhole && whole.body == body, "another body: \(whole.body.shown)")
    }
}

func loopback(_ input: Input) {
    var machine = LoopbackMachine(path: "/callback", host: "127.0.0.1", port: 4711)
    let response = machine.take(head: input.bytes)
    expect(response.bytes.starts(with: "HTTP/1.1 ".utf8), "a response that is none")
    if let query = response.query {
        expect(input.text.hasPrefix("GET /callback"), "another path")
        expect(input.text.lowercased().contains("127.0.0.1:4711"), "another host")
        expect(!query.contains(" ") && !query.contains("\r"), "a query of several words")
        _ = FormText(query)
        expect(machine.take(head: input.bytes).query == nil, "a second response")
    }
}

// MARK: WebSocket

private func websocketFrames(_ pieces: [[UInt8]]) -> (frames: [String], fault: Int?) {
    var scanner = FrameScanner()
    var frames: [String] = []
    var (left, before) = (0, 0)
    for piece in pieces {
        defer { before += piece.count }
        var index = min(left, piece.count)
        left -= index
        do throws(WebSocketFault) {
            try piece.withUnsafeBufferPointer { buffer throws(WebSocketFault) in
                let bytes = UnsafeRawBufferPointer(buffer)
                while left == 0, let head = try scanner.head(in: bytes, at: &index) {
                    expect(head.length >= 0 && head.reserved < 8, "a head that cannot be")
                    expect(!head.opcode.isControl || head.isFinal && head.length <= 125, "a control frame")
                    frames.append("\(head) behind \(before + index)")
                    let skipped = min(head.length, bytes.count - index)
                    index += skipped
                    left = head.length - skipped
                }
            }
        } catch {
            return (frames, error.code)
        }
    }
    return (frames, nil)
}

func websocket(_ input: Input) {
    let (whole, pieces) = (websocketFrames([input.bytes]), websocketFrames(input.pieces))
    expect(whole.frames == pieces.frames && whole.fault == pieces.fault, "cut otherwise: \(whole) and \(pieces)")
    if let agreed = try? DeflateOffer.agreement(input.text, to: DeflateOffer()) {
        expect((8...15).contains(agreed.clientWindow) && (8...15).contains(agreed.serverWindow), "agreed on \(agreed)")
    }
}

// MARK: HTTP/2

/// Frames with the bytes of their payloads, however they are cut.
private func http2Frames(_ pieces: [[UInt8]]) -> [String] {
    var scanner = HTTP2FrameScanner()
    var found: [String] = []
    var data: [UInt8] = []
    for piece in pieces {
        var position = 0
        piece.withUnsafeBytes { bytes in
            while true {
                let step = scanner.next(bytes, from: &position)
                switch step {
                case .needsMore: return
                case .frame(let head, let range): found.append("\(head) \(Array(bytes[range]))")
                case .heldFrame(let head): found.append("\(head) \(scanner.held)")
                case .data(let head, let range, let isFirst, let isLast):
                    if isFirst { data = [] }
                    data += Array(bytes[range])
                    if isLast { found.append("\(head) \(data)") }
                case .tooLarge, .badPadding:
                    found.append("over")
                    position = bytes.count
                    return
                }
            }
        }
        if found.last == "over" { return found }
        expect(scanner.held.count <= HTTP2FrameScanner.mostPayload, "it holds too much")
    }
    return found
}

func frames2(_ input: Input) {
    let (whole, pieces) = (http2Frames([input.bytes]), http2Frames(input.pieces))
    expect(whole == pieces, "cut otherwise: \(whole) and \(pieces)")
}

/// The machine of a connection with three requests, given any bytes; each stream ends once.
func http2(_ input: Input) {
    for pieces in [[input.bytes], input.pieces] {
        var machine = HTTP2Machine(reserve: HTTP2WindowReserve(), now: 0)
        var streams: Set<UInt32> = []
        let url = HTTPURL(scheme: .https, host: "a.test", port: 443, target: "/")
        // an empty SETTINGS frame, as every server sends
        let greeting: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        var events: [HTTP2Event] = []
        var output = 0
        for (index, piece) in ([greeting] + pieces).enumerated() where !machine.isClosed {
            piece.withUnsafeBytes { bytes in
                var start = 0
                while start < bytes.count, !machine.isClosed {
                    let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
                    let used = machine.received(rest, now: 0)
                    expect(used > 0 && used <= rest.count, "\(used) of \(rest.count) bytes are used")
                    start += used
                    while let event = machine.nextEvent() { events.append(event) }
                }
            }
            let acks = machine.unsentAcks
            machine.takeOutput { output = max(output, $0.count) }
            machine.written(acks)
            if index == 0 {
                for _ in 0..<3 {
                    let attempt = Attempt(method: "GET", url: url, fields: [])
                    let request = HTTP2Request(attempt, hasBody: false, priority: .normal)
                    if let id = try? machine.begin(request, now: 0) { streams.insert(id.number) }
                }
            }
        }
        machine.closed()
        while let event = machine.nextEvent() { events.append(event) }
        var ended: Set<UInt32> = []
        for event in events {
            let id: HTTP2StreamID
            switch event {
            case .ended(let ending, _): id = ending
            case .broke(let broken, _): id = broken
            default: continue
            }
            expect(streams.contains(id.number) && ended.insert(id.number).inserted, "stream \(id.number) ends again")
        }
        expect(ended == streams, "\(streams.count - ended.count) streams never end")
        expect(output <= 1 << 20, "it writes \(output) bytes")
    }
}
