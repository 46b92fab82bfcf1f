// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CBrotli
import NIOCore

/// A single brotli stream (RFC 7932) with a window of at most 16 MiB. Bytes after its end are an error.
final class BrotliStream: DecodingStream {
    private(set) var isComplete = false

    private let state: OpaquePointer?
    private var input = ByteBuffer()
    /// The library has more output without more input.
    private var hasMore = false

    init() { state = BrotliDecoderCreateInstance(nil, nil, nil) }

    deinit { BrotliDecoderDestroyInstance(state) }

    func feed(_ more: ByteBuffer) {
        if input.readableBytes == 0 { input = more } else { input.writeImmutableBuffer(more) }
    }

    func next() -> DecodingStep {
        guard let state else { return .malformed("out of memory") }
        if isComplete { return input.readableBytes == 0 ? .needsInput : .malformed("bytes behind its end") }
        guard input.readableBytes > 0 || hasMore else { return .needsInput }
        var output = ByteBuffer()
        let code = decode(state, into: &output)
        switch code {
        case BROTLI_DECODER_RESULT_SUCCESS: isComplete = true
        case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT: hasMore = true
        case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT: hasMore = false
        default:
            let reason = BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state))
            return .malformed(reason.map { String(cString: $0) } ?? "brotli cannot read it")
        }
        return output.readableBytes > 0 ? .output(output) : next()
    }

    private func decode(_ state: OpaquePointer, into output: inout ByteBuffer) -> BrotliDecoderResult {
        var code = BROTLI_DECODER_RESULT_ERROR
        var taken = 0
        output.reserveCapacity(CodingRoom.bytes(for: input))
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: 0) { target in
            let room = min(target.count, CodingRoom.piece)
            var left = room
            var place = target.bindMemory(to: UInt8.self).baseAddress
            input.withUnsafeReadableBytes { source in
                var available = source.count
                var start = source.bindMemory(to: UInt8.self).baseAddress
                code = BrotliDecoderDecompressStream(state, &available, &start, &left, &place, nil)
                taken = source.count - available
            }
            return room - left
        }
        input.drop(taken)
        return code
    }
}

extension ByteBuffer {
    /// Moves behind read bytes. Behind the last of them the memory is let go: TLS reads into it again, and would copy all
    /// of it for an empty rest.
    mutating func drop(_ bytes: Int) {
        if bytes == readableBytes { self = ByteBuffer() } else { moveReaderIndex(forwardBy: bytes) }
    }
}

/// The memory for a piece of output.
enum CodingRoom {
    static let piece = 64 << 10

    /// Small inputs seldom become large.
    static func bytes(for input: ByteBuffer) -> Int { min(piece, max(512, input.readableBytes &* 8)) }
}
