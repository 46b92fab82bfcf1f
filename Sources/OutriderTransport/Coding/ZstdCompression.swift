// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CZstd
import NIOCore
import OutriderHTTP

/// Compresses a body into a single zstd frame (RFC 8878).
// proof: one call at a time, which is what its owners see to.
final class ZstdCompression: CompressionStream, @unchecked Sendable {
    /// The library's own default; its window is below the 8 MiB that every server must take.
    private static let level: Int32 = 3

    private let state: OpaquePointer?
    private var isDone = false

    init() {
        state = ZSTD_createCStream()
        if let state { _ = ZSTD_CCtx_setParameter(state, ZSTD_c_compressionLevel, Self.level) }
    }

    deinit { ZSTD_freeCStream(state) }

    func compress(_ input: ByteBuffer) throws(HTTPFailure) -> ByteBuffer { try run(input, ZSTD_e_continue) }

    func finish() throws(HTTPFailure) -> ByteBuffer {
        guard !isDone else { return ByteBuffer() }
        isDone = true
        return try run(ByteBuffer(), ZSTD_e_end)
    }

    private func run(_ input: ByteBuffer, _ operation: ZSTD_EndDirective) throws(HTTPFailure) -> ByteBuffer {
        guard let state else { throw Self.failure }
        var input = input
        var output = ByteBuffer()
        while true {
            var left = 0
            var taken = 0
            output.writeWithUnsafeMutableBytes(minimumWritableBytes: CodingRoom.piece) { target in
                var place = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
                input.withUnsafeReadableBytes { source in
                    var start = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
                    left = ZSTD_compressStream2(state, &place, &start, operation)
                    taken = start.pos
                }
                return place.pos
            }
            guard ZSTD_isError(left) == 0 else { throw Self.failure }
            input.moveReaderIndex(forwardBy: taken)
            // with `continue`, the rest stays inside until more input comes
            if input.readableBytes == 0, left == 0 || operation == ZSTD_e_continue { return output }
        }
    }

    private static let failure = HTTPFailure(.bodyUnreadable, "zstd could not compress the body", phase: .request)
}
