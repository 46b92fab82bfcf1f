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

    /// Nil if the codings are unknown: then the body is delivered unchanged.
    init?(codings: [String], host: String) {
        guard let layers = ContentCoding.layers(codings), !layers.isEmpty else { return nil }
        self.host = host
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
        streams[0].feed(input)
    }

    /// At most 64 KiB of decoded bytes; nil when more input is needed.
    mutating func next() throws(HTTPFailure) -> ByteBuffer? {
        guard let output = try pull(streams.count - 1) else { return nil }
        bytesOut &+= Int64(output.readableBytes)
        if limits.isExceeded(received: bytesIn, decoded: bytesOut) {
            let text = "the compressed body from \(host) grows to more than \(limits.ratio) times its size"
            throw HTTPFailure(.limitExceeded, text, phase: .response)
        }
        return output
    }

    /// Checks, at the end of the body on the wire, that its coding has ended too. An empty body needs no coding.
    func finish() throws(HTTPFailure) {
        guard bytesIn > 0, !streams.allSatisfy(\.isComplete) else { return }
        let text = "the compressed body from \(host) ends too early, after \(bytesIn) bytes"
        throw HTTPFailure(.connectionLost, text, phase: .response)
    }

    private func pull(_ index: Int) throws(HTTPFailure) -> ByteBuffer? {
        while true {
            switch streams[index].next() {
            case .output(let output): return output
            case .malformed(let reason):
                let text = "the compressed body from \(host) is damaged: \(reason)"
                throw HTTPFailure(.malformedResponse, text, phase: .response)
            case .needsInput:
                guard index > 0, let input = try pull(index - 1) else { return nil }
                streams[index].feed(input)
            }
        }
    }
}
