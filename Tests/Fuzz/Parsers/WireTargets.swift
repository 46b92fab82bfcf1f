// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore

@testable import OutriderHTTP
@testable import OutriderTransport

// MARK: HTTP/1.1

/// What the reader found in the bytes of a response, up to its end or to a fault.
private struct Parsed: Equatable {
    var heads: [ResponseHead] = []
    var body: [UInt8] = []
    var trailers: HTTPFields?
    var fault: ResponseFault?

    init(_ pieces: [[UInt8]]) {
        var reader = ResponseReader()
        for piece in pieces where trailers == nil && fault == nil {
            var position = 0
            do {
                while let part = try piece.withUnsafeBytes({ try reader.next($0, from: &position) }) {
                    take(part, of: piece, &reader)
                    if trailers != nil { return }
                }
                expect(position == piece.count || heads.last?.status == 101, "bytes are left before the end")
            } catch {
                fault = error as? ResponseFault
            }
        }
    }

    private mutating func take(_ part: ResponseReader.Part, of piece: [UInt8], _ reader: inout ResponseReader) {
        switch part {
        case .head(let head):
            heads.append(head)
            if head.status >= 200 { reader.begin((try? BodyFraming.of(head, to: "GET").0) ?? .none) }
        case .body(let range):
            expect(!range.isEmpty && range.upperBound <= piece.count, "a piece of the body at \(range)")
            body += piece[range]
        case .end(let trailers): self.trailers = trailers
        }
    }
}

/// A head in one pass, and line by line.
func head(_ input: Input) {
    let whole = Parsed([input.bytes])
    // a first byte alone is no whole head
    let lines = Parsed([Array(input.bytes.prefix(1)), Array(input.bytes.dropFirst())])
    expect(whole == lines, "line by line: \(lines), not \(whole)")
    expect(whole == Parsed(input.pieces), "in pieces: \(Parsed(input.pieces)), not \(whole)")
    if let plain = input.bytes.withUnsafeBytes({ PlainHead($0) }) {
        expect(plain.bytes == input.bytes.firstRange(of: [13, 10, 13, 10])?.upperBound, "the head ends elsewhere")
        expect(whole.heads.first == plain.head, "\(whole.heads) for \(plain.head)")
    }
    for value in whole.heads.flatMap(\.fields.list).map(\.value) {
        expect(value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, "a control character in \(value)")
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
    let whole = Parsed([head + input.bytes])
    let pieces = Parsed([head] + input.pieces)
    expect(whole == pieces, "cut otherwise: \(whole) and \(pieces)")
    if let body = strictlyChunked(input.bytes) {
        expect(whole.trailers == [] && whole.body == body, "another body: \(whole.body.shown)")
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

/// The head of a frame, and how many bytes are before its payload.
private struct FoundFrame: Equatable {
    var head: FrameHead
    var end: Int
}

private func websocketFrames(_ pieces: [[UInt8]]) -> (frames: [FoundFrame], fault: Int?) {
    var scanner = FrameScanner()
    var frames: [FoundFrame] = []
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
                    frames.append(FoundFrame(head: head, end: before + index))
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

private enum FoundHTTP2Frame: Equatable {
    case frame(HTTP2FrameHead, [UInt8])
    case refused
}

/// Frames with the bytes of their payloads, however they are cut.
private func http2Frames(_ pieces: [[UInt8]]) -> [FoundHTTP2Frame] {
    var scanner = HTTP2FrameScanner()
    var found: [FoundHTTP2Frame] = []
    var data: [UInt8] = []
    for piece in pieces {
        var position = 0
        piece.withUnsafeBytes { bytes in
            while true {
                let step = scanner.next(bytes, from: &position)
                switch step {
                case .needsMore: return
                case .frame(let head, let range): found.append(.frame(head, Array(bytes[range])))
                case .heldFrame(let head): found.append(.frame(head, Array(scanner.held)))
                case .data(let head, let range, let isFirst, let isLast):
                    if isFirst { data = [] }
                    data += Array(bytes[range])
                    if isLast { found.append(.frame(head, data)) }
                case .tooLarge, .badPadding:
                    found.append(.refused)
                    position = bytes.count
                    return
                }
            }
        }
        if found.last == .refused { return found }
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
