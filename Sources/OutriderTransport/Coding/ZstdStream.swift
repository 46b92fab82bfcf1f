// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CZstd
import NIOCore

/// zstd frames (RFC 8878) in sequence, including skippable frames. Windows of more than 8 MiB are refused (RFC 9659
/// section 3), and bytes outside frames are an error.
final class ZstdStream: DecodingStream {
    /// 8 MiB.
    private static let windowLog: Int32 = 23

    /// The last frame has ended.
    private(set) var isComplete = false

    private let state: OpaquePointer?
    private var input = ByteBuffer()
    private var hasMore = false

    /// No frame has begun, or the last one has ended.
    private var isAtStart = true
    /// The bytes that the library wants next, at least 1. More would let damage in a later block take decoded blocks
    /// with it; a whole frame at once is decoded faster, and again in small steps if it is damaged.
    private var wanted = Int.max
    /// Whether a damaged frame is decoded again.
    private var isCareful = false

    init() {
        state = ZSTD_createDStream()
        if let state { _ = ZSTD_DCtx_setParameter(state, ZSTD_d_windowLogMax, Self.windowLog) }
    }

    deinit { ZSTD_freeDStream(state) }

    func feed(_ more: ByteBuffer) {
        if input.readableBytes == 0 { input = more } else { input.writeImmutableBuffer(more) }
    }

    func next() -> DecodingStep {
        guard let state else { return .malformed("out of memory") }
        while input.readableBytes > 0 || hasMore {
            if isAtStart {
                guard let magic = input.getInteger(at: input.readerIndex, endianness: .little, as: UInt32.self) else {
                    isComplete = false
                    return .needsInput
                }
                guard Self.beginsFrame(magic) else { return .malformed("it begins like no frame of RFC 8878") }
            }
            var output = ByteBuffer()
            let whole = input
            let isWhole = isAtStart && !isCareful
            let code = decode(state, into: &output)
            guard ZSTD_isError(code) == 0 else {
                if isWhole, ZSTD_isError(ZSTD_initDStream(state)) == 0 {
                    (isCareful, input, hasMore, wanted) = (true, whole, false, 1)
                    continue
                }
                let reason = ZSTD_getErrorName(code).map { String(cString: $0) }
                return .malformed(reason ?? "zstd cannot read it")
            }
            (isComplete, isAtStart) = (code == 0, code == 0)
            wanted = code == 0 && !isCareful ? .max : max(1, code)
            if output.readableBytes > 0 { return .output(output) }
        }
        return .needsInput
    }

    /// The library also reads the formats before RFC 8878, without a limit of the window.
    static func beginsFrame(_ magic: UInt32) -> Bool { magic == 0xFD2F_B528 || magic & ~0xF == 0x184D_2A50 }

    /// The same for fewer than four bytes.
    static func mayBeginFrame(_ start: some Collection<UInt8>) -> Bool {
        guard let first = start.first else { return true }
        let marks: [[UInt8]] = [[0x28, 0xB5, 0x2F, 0xFD], [0x50 | (first & 0xF), 0x2A, 0x4D, 0x18]]
        return marks.contains { start.elementsEqual($0.prefix(start.count)) }
    }

    private func decode(_ state: OpaquePointer, into output: inout ByteBuffer) -> Int {
        var code = 0
        var taken = 0
        output.reserveCapacity(CodingRoom.bytes(for: input))
        output.writeWithUnsafeMutableBytes(minimumWritableBytes: 0) { target in
            var place = ZSTD_outBuffer(dst: target.baseAddress, size: min(target.count, CodingRoom.piece), pos: 0)
            input.withUnsafeReadableBytes { source in
                var start = ZSTD_inBuffer(src: source.baseAddress, size: min(source.count, wanted), pos: 0)
                code = ZSTD_decompressStream(state, &place, &start)
                taken = start.pos
            }
            hasMore = code != 0 && place.pos == place.size
            return place.pos
        }
        input.drop(taken)
        return code
    }
}
