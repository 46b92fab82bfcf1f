// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Finds the heads of responses to an upgrade request, and leaves all bytes behind them untouched.
struct UpgradeHead {
    /// Limit of a head in bytes.
    private static let mostBytes = 64 << 10

    private var bytes: [UInt8] = []
    /// The position at which the search for the end of the head continues.
    private var searched = 0
    private var informational = 0

    mutating func feed(_ more: ByteBuffer) { bytes.append(contentsOf: more.readableBytesView) }

    /// The next head; nil if more bytes are needed. Throws `malformedResponse` and `limitExceeded`.
    mutating func next() throws(HTTPFailure) -> ResponseHead? {
        guard let end = endOfHead(), end <= Self.mostBytes else {
            guard bytes.count <= Self.mostBytes else {
                let text = "the head of the response is longer than \(Self.mostBytes >> 10) KiB"
                throw HTTPFailure(.limitExceeded, text, phase: .firstByte, sent: .sent)
            }
            return nil
        }
        guard let head = ResponseHead(parsing: bytes[..<end]), head.version.major == 1 else {
            throw HTTPFailure(
                .malformedResponse, "the server did not respond in HTTP/1.1", phase: .firstByte, sent: .sent)
        }
        if head.status < 200 {
            informational += 1
            guard informational <= HTTP1Limits.informational else {
                let text = "the server sent more than \(HTTP1Limits.informational) informational responses"
                throw HTTPFailure(.limitExceeded, text, phase: .firstByte, sent: .sent)
            }
        }
        bytes.removeFirst(end)
        searched = 0
        return head
    }

    /// The bytes after the head; empty on a second call.
    var rest: ByteBuffer {
        mutating get {
            defer { bytes = [] }
            return ByteBuffer(bytes: bytes)
        }
    }

    /// The position after the empty line; nil if the line has not come.
    private mutating func endOfHead() -> Int? {
        for index in bytes.indices[max(0, searched - 3)...] where bytes[index] == 0x0A {
            if index >= 1, bytes[index - 1] == 0x0A { return index + 1 }
            if index >= 2, bytes[index - 1] == 0x0D, bytes[index - 2] == 0x0A { return index + 1 }
        }
        searched = bytes.count
        return nil
    }
}

/// Decodes the body of a response other than 101 from its framing (RFC 9112 section 6).
struct UpgradeRefusal {
    private enum Chunk {
        /// The line with the size of the next chunk, or the empty line before that.
        case size([UInt8])
        case data(Int64)
        case trailers
    }

    private var framing: BodyFraming
    private var chunk = Chunk.size([])
    private(set) var isOver = false

    init(_ framing: BodyFraming) {
        self.framing = framing
        isOver = framing == .none || framing == .length(0)
    }

    var endsWithConnection: Bool { framing == .untilClose || isOver }

    mutating func take(_ bytes: ByteBuffer) throws(HTTPFailure) -> [ByteBuffer] {
        guard !isOver else { return [] }
        switch framing {
        case .none: return []
        case .untilClose: return [bytes]
        case .length(let left):
            let count = min(left, Int64(bytes.readableBytes))
            framing = .length(left - count)
            isOver = left == count
            // safe: at most the readable bytes
            return bytes.getSlice(at: bytes.readerIndex, length: Int(count)).map { [$0] } ?? []
        case .chunked: return try takeChunks(bytes)
        }
    }

    private mutating func takeChunks(_ bytes: ByteBuffer) throws(HTTPFailure) -> [ByteBuffer] {
        var bytes = bytes
        var pieces: [ByteBuffer] = []
        while bytes.readableBytes > 0, !isOver {
            switch chunk {
            case .data(let left):
                // safe: at most the readable bytes
                let count = Int(min(left, Int64(bytes.readableBytes)))
                if let piece = bytes.readSlice(length: count) { pieces.append(piece) }
                chunk = Int64(count) == left ? .size([]) : .data(left - Int64(count))
            case .size(let line): try readSize(line, from: &bytes)
            case .trailers: isOver = true
            }
        }
        return pieces
    }

    private mutating func readSize(_ begun: [UInt8], from bytes: inout ByteBuffer) throws(HTTPFailure) {
        var line = begun
        while let byte: UInt8 = bytes.readInteger() {
            if byte != 0x0A {
                line.append(byte)
                guard line.count <= 4096 else { throw Self.malformed }
                continue
            }
            if line.last == 0x0D { line.removeLast() }
            if line.isEmpty { continue }
            let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 }
            guard digits.count <= 15, let size = Int64(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0
            else { throw Self.malformed }
            chunk = size == 0 ? .trailers : .data(size)
            isOver = size == 0
            return
        }
        chunk = .size(line)
    }

    private static var malformed: HTTPFailure {
        HTTPFailure(
            .malformedResponse, "the chunks of the response's body are malformed", phase: .response, sent: .sent)
    }
}
