// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CZlib
package import OutriderHTTP

/// Compresses messages with raw deflate (RFC 7692 section 7.2.1). zlib's state exists from the first message on.
// proof: one call at a time, which its owner sees to.
package final class MessageDeflate: MessageDeflating, @unchecked Sendable {
    private static let level: Int32 = 6
    /// A smaller state costs little compression: 38 KiB with a window of 12, instead of 262 KiB.
    private static let memoryLevel: Int32 = 5
    private static let roomBytes = 16 << 10

    private let stream: UnsafeMutablePointer<z_stream>
    private let window: Int32
    private let keepsWindow: Bool
    private var isOpen = false

    /// Nil if the agreement permits only a window of 256 bytes, which zlib does not support.
    package init?(_ agreement: DeflateAgreement) {
        guard (9...15).contains(agreement.clientWindow) else { return nil }
        window = Int32(agreement.clientWindow)  // safe: 9 to 15
        keepsWindow = agreement.clientTakeover
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if isOpen { deflateEnd(stream) }
        stream.deallocate()
    }

    package func deflate(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) -> Bool {
        guard open() else { return false }
        var source = bytes
        repeat {
            // zlib counts with 32 bits
            let piece = UnsafeRawBufferPointer(rebasing: source.prefix(1 << 30))
            source = UnsafeRawBufferPointer(rebasing: source.dropFirst(piece.count))
            guard run(piece, source.isEmpty ? Z_SYNC_FLUSH : Z_NO_FLUSH, &output) else { return false }
        } while !source.isEmpty
        // the receiver adds these four bytes again
        if output.suffix(4) == [0, 0, 0xFF, 0xFF] { output.removeLast(4) }
        if output.isEmpty { output.append(0) }
        if !keepsWindow { deflateReset(stream) }
        return true
    }

    private func open() -> Bool {
        if isOpen { return true }
        // safe: a constant of the library's own layout
        let size = Int32(MemoryLayout<z_stream>.size)
        isOpen =
            deflateInit2_(
                stream, Self.level, Z_DEFLATED, -window, Self.memoryLevel, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
            == Z_OK
        return isOpen
    }

    private func run(_ piece: UnsafeRawBufferPointer, _ flush: Int32, _ output: inout [UInt8]) -> Bool {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: piece.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(clamping: piece.count)
        defer { stream.pointee.next_in = nil }
        let room = min(Self.roomBytes, max(64, piece.count &+ 16))
        var code = Z_OK
        repeat {
            let chunk = [UInt8](unsafeUninitializedCapacity: room) { target, used in
                stream.pointee.next_out = target.baseAddress
                stream.pointee.avail_out = UInt32(clamping: room)
                code = CZlib.deflate(stream, flush)
                used = room &- Int(stream.pointee.avail_out)  // safe: at most the room
            }
            output.append(contentsOf: chunk)
            guard code == Z_OK || code == Z_BUF_ERROR else { return false }
        } while stream.pointee.avail_out == 0
        return true
    }
}

/// Inflates messages of raw deflate (RFC 7692 section 7.2.2). zlib's state exists from the first message on.
// proof: one call at a time, which its owner sees to.
package final class MessageInflate: MessageInflating, @unchecked Sendable {
    private static let roomBytes = 32 << 10
    private static let tail: [UInt8] = [0, 0, 0xFF, 0xFF]

    private let stream: UnsafeMutablePointer<z_stream>
    private let window: Int32
    private let keepsWindow: Bool
    private var isOpen = false
    /// Whether the bytes so far end between two blocks.
    private var isBetweenBlocks = true

    package init(_ agreement: DeflateAgreement) {
        // a larger window than agreed is always valid; zlib's smallest is 9 here
        window = Int32(max(9, min(15, agreement.serverWindow)))
        keepsWindow = agreement.serverTakeover
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
    }

    deinit {
        if isOpen { inflateEnd(stream) }
        stream.deallocate()
    }

    package func inflate(
        _ bytes: UnsafeRawBufferPointer, isLast: Bool, room: Int, to output: inout [UInt8]
    ) -> MessageInflation {
        guard open() else { return .malformed }
        var room = room
        var result = run(bytes, &room, &output)
        guard isLast, result == .done else { return result }
        result = Self.tail.withUnsafeBytes { run($0, &room, &output) }
        guard result == .done else { return result }
        guard isBetweenBlocks else { return .malformed }
        if !keepsWindow { inflateReset(stream) }
        return .done
    }

    private func open() -> Bool {
        if isOpen { return true }
        // safe: a constant of the library's own layout
        let size = Int32(MemoryLayout<z_stream>.size)
        isOpen = inflateInit2_(stream, -window, ZLIB_VERSION, size) == Z_OK
        return isOpen
    }

    private func run(
        _ bytes: UnsafeRawBufferPointer, _ room: inout Int, _ output: inout [UInt8]
    ) -> MessageInflation {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(clamping: bytes.count)
        defer { stream.pointee.next_in = nil }
        while true {
            // an extra byte beyond the room shows that there is more
            let count = min(Self.roomBytes, max(1, room &+ 1))
            var code = Z_OK
            let chunk = [UInt8](unsafeUninitializedCapacity: count) { target, used in
                stream.pointee.next_out = target.baseAddress
                stream.pointee.avail_out = UInt32(clamping: count)
                code = CZlib.inflate(stream, Z_SYNC_FLUSH)
                used = count &- Int(stream.pointee.avail_out)  // safe: at most the count
            }
            guard chunk.count <= room else { return .tooLong }
            room &-= chunk.count
            output.append(contentsOf: chunk)
            switch code {
            case Z_STREAM_END:
                // a final block ends zlib's stream, but not the message stream: the window stays
                guard inflateResetKeep(stream) == Z_OK else { return .malformed }
                isBetweenBlocks = true
            case Z_OK: isBetweenBlocks = stream.pointee.data_type & 128 != 0
            case Z_BUF_ERROR: break
            default: return .malformed
            }
            if stream.pointee.avail_in == 0, stream.pointee.avail_out > 0 { return .done }
            if code == Z_BUF_ERROR, stream.pointee.avail_in == 0 { return .done }
        }
    }
}
