// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CBrotli
import NIOCore
import OutriderHTTP

/// Compresses a body with brotli (RFC 7932).
// proof: one call at a time, which is what its owners see to.
final class BrotliCompression: CompressionStream, @unchecked Sendable {
    /// Out of 11: smaller output than gzip at its best level, in about the same time.
    private static let quality: UInt32 = 5

    private let state: OpaquePointer?
    private var isDone = false

    init() {
        state = BrotliEncoderCreateInstance(nil, nil, nil)
        if let state { BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, Self.quality) }
    }

    deinit { BrotliEncoderDestroyInstance(state) }

    func compress(_ input: ByteBuffer) throws(HTTPFailure) -> ByteBuffer { try run(input, BROTLI_OPERATION_PROCESS) }

    func finish() throws(HTTPFailure) -> ByteBuffer {
        guard !isDone else { return ByteBuffer() }
        isDone = true
        return try run(ByteBuffer(), BROTLI_OPERATION_FINISH)
    }

    private func run(_ input: ByteBuffer, _ operation: BrotliEncoderOperation) throws(HTTPFailure) -> ByteBuffer {
        guard let state else { throw Self.failure }
        var input = input
        var output = ByteBuffer()
        while true {
            var works = false
            var taken = 0
            output.writeWithUnsafeMutableBytes(minimumWritableBytes: CodingRoom.piece) { target in
                var left = target.count
                var place = target.bindMemory(to: UInt8.self).baseAddress
                input.withUnsafeReadableBytes { source in
                    var available = source.count
                    var start = source.bindMemory(to: UInt8.self).baseAddress
                    works =
                        BrotliEncoderCompressStream(
                            state, operation, &available, &start, &left, &place, nil) == BROTLI_TRUE
                    taken = source.count - available
                }
                return target.count - left
            }
            guard works else { throw Self.failure }
            input.moveReaderIndex(forwardBy: taken)
            if input.readableBytes == 0, BrotliEncoderHasMoreOutput(state) == BROTLI_FALSE { return output }
        }
    }

    private static let failure = HTTPFailure(.bodyUnreadable, "brotli could not compress the body", phase: .request)
}
