// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Decodes gzip, deflate, br and zstd (RFC 9110 section 8.4.1) piece by piece, so that a small input never becomes a
/// big output at once. At most two codings on top of each other.
struct ContentDecoder {
    private let host: String
    private let limits = InflationLimits()
    /// The last coding applied is the first decoded.
    private let streams: [any DecodingStream]
    private var bytesIn: Int64 = 0
    private var bytesOut: Int64 = 0
    /// The coding whose mark the first bytes must have; nil once they were looked at, or for a coding without a mark.
    private var expected: ContentCoding?
    /// The first bytes, while they are too few.
    private var start = ByteBuffer()
    /// The failure of a body that is not coded. Its bytes are delivered as they came, so that they are not lost.
    private var fault: HTTPFailure?
    private var plain = ByteBuffer()

    /// Limit of the bytes of a body that is not coded; then the body fails.
    private static let mostPlain: Int64 = 1 << 20

    /// Nil if the codings are unknown: then the body is delivered unchanged.
    init?(codings: [String], host: String) {
        guard let layers = ContentCoding.layers(codings), !layers.isEmpty else { return nil }
        self.host = host
        expected = layers.last
        streams = layers.reversed().map { coding in
            switch coding {
            case .gzip: InflateStream(.gzip)
            case .deflate: InflateStream(.deflate)
            case .br: BrotliStream()
            case .zstd: ZstdStream()
            }
        }
    }

    /// Adds bytes from the wire. To be called only after `next` returned nil.
    mutating func feed(_ input: ByteBuffer) {
        bytesIn &+= Int64(input.readableBytes)
        if let coding = expected { return begin(input, coding) }
        if fault == nil { streams[0].feed(input) } else { plain = input }
    }

    /// Looks at the first bytes: a server may name a coding that the body does not have.
    private mutating func begin(_ input: ByteBuffer, _ coding: ContentCoding) {
        if start.readableBytes == 0 { start = input } else { start.writeImmutableBuffer(input) }
        guard let isCoded = Self.isMarked(start, coding) else { return }
        if isCoded {
            streams[0].feed(start)
        } else {
            fault = damage("its first bytes are not those of \(coding)")
            plain = start
        }
        (expected, start) = (nil, ByteBuffer())
    }

    /// Whether the bytes begin as a body of that coding does; nil if more bytes are needed.
    private static func isMarked(_ start: ByteBuffer, _ coding: ContentCoding) -> Bool? {
        switch coding {
        case .gzip:
            let mark: [UInt8] = [0x1F, 0x8B]
            let found = start.readableBytesView.prefix(mark.count)
            if !found.elementsEqual(mark.prefix(found.count)) { return false }
            return found.count < mark.count ? nil : true
        case .zstd:
            let mark = start.getInteger(at: start.readerIndex, endianness: .little, as: UInt32.self)
            return mark.map(ZstdStream.beginsFrame) ?? (ZstdStream.mayBeginFrame(start.readableBytesView) ? nil : false)
        case .deflate, .br: return true
        }
    }

    private func damage(_ reason: String) -> HTTPFailure {
        let text = "the compressed body from \(host) is damaged: \(reason) (decode: false gives the body as it comes)"
        return HTTPFailure(.malformedResponse, text, phase: .response)
    }

    /// At most 64 KiB of decoded bytes; nil when more input is needed.
    mutating func next() throws(HTTPFailure) -> ByteBuffer? {
        if let fault { return try nextPlain(fault) }
        guard let output = try pull(streams.count - 1) else { return nil }
        bytesOut &+= Int64(output.readableBytes)
        if limits.isExceeded(received: bytesIn, decoded: bytesOut) {
            let text =
                "the compressed body from \(host) grows to more than \(limits.ratio) times its size"
                + " (decode: false gives the body as it comes)"
            throw HTTPFailure(.limitExceeded, text, phase: .response)
        }
        return output
    }

    private mutating func nextPlain(_ fault: HTTPFailure) throws(HTTPFailure) -> ByteBuffer? {
        if bytesOut >= Self.mostPlain { throw fault }
        guard plain.readableBytes > 0, let piece = plain.readSlice(length: min(plain.readableBytes, CodingRoom.piece))
        else { return nil }
        bytesOut &+= Int64(piece.readableBytes)
        return piece
    }

    /// Checks, at the end of the body on the wire, that its coding has ended too. An empty body needs no coding.
    func finish() throws(HTTPFailure) {
        if let fault { throw fault }
        guard bytesIn > 0, !streams.allSatisfy(\.isComplete) else { return }
        let text = "the compressed body from \(host) ends too early, after \(bytesIn) bytes"
        throw HTTPFailure(.connectionLost, text, phase: .response)
    }

    private func pull(_ index: Int) throws(HTTPFailure) -> ByteBuffer? {
        while true {
            switch streams[index].next() {
            case .output(let output): return output
            case .malformed(let reason): throw damage(reason)
            case .needsInput:
                guard index > 0, let input = try pull(index - 1) else { return nil }
                streams[index].feed(input)
            }
        }
    }
}
