// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CZstd
import NIOCore

/// Compresses a body into a single zstd frame (RFC 8878).
// proof: one call at a time, which is what its owners see to.
final class ZstdCompression: CompressionStream, @unchecked Sendable {
    /// The library's own default; its window is below the 8 MiB that every server must take.
    private static let level: Int32 = 3

    static let library = "zstd"

    var isDone = false
    private let state: OpaquePointer?

    init() {
        state = ZSTD_createCStream()
        if let state { _ = ZSTD_CCtx_setParameter(state, ZSTD_c_compressionLevel, Self.level) }
    }

    deinit { ZSTD_freeCStream(state) }

    func step(_ input: ByteBuffer, isLast: Bool, into output: inout ByteBuffer) -> (taken: Int, isDrained: Bool)? {
        guard let state else { return nil }
        var left = 0
        var taken = 0
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: CodingRoom.piece) { target in
            var place = ZSTD_outBuffer(dst: target.baseAddress, size: target.count, pos: 0)
            input.withUnsafeReadableBytes { source in
                var start = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
                left = ZSTD_compressStream2(state, &place, &start, isLast ? ZSTD_e_end : ZSTD_e_continue)
                taken = start.pos
            }
            return place.pos
        }
        // with `continue`, the rest stays inside until more input comes
        return ZSTD_isError(left) == 0 ? (taken, left == 0 || !isLast) : nil
    }
}
