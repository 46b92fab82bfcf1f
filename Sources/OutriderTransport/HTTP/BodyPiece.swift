// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// A part of a request's body on its way to the kernel.
struct BodyPiece {
    enum Content {
        case bytes(ByteBuffer)
        /// Bytes that need not pass through our memory.
        case file(FileSlice)
    }

    var content: Content
    /// How many bytes of the body it stands for, before compression.
    var plain: Int

    init(_ bytes: ByteBuffer) { self.init(bytes, plain: bytes.readableBytes) }

    init(_ bytes: ByteBuffer, plain: Int) {
        content = .bytes(bytes)
        self.plain = plain
    }

    init(_ slice: FileSlice) {
        content = .file(slice)
        plain = slice.count
    }

    /// As it goes out.
    var count: Int {
        switch content {
        case .bytes(let bytes): bytes.readableBytes
        case .file(let slice): slice.count
        }
    }
}

/// Some bytes of an open file, which the kernel holds in its cache.
struct FileSlice {
    let file: FileReader
    private(set) var offset: Int64
    private(set) var count: Int

    init(_ file: FileReader, offset: Int64, count: Int) {
        self.file = file
        self.offset = offset
        self.count = count
    }

    func prefix(_ bytes: Int) -> FileSlice { FileSlice(file, offset: offset, count: min(bytes, count)) }

    mutating func removeFirst(_ bytes: Int) {
        offset += Int64(bytes)  // safe: an Int is an Int64
        count -= bytes
    }
}

/// Buffers that were sent, to be read into once more: fresh memory costs a page fault for every 4 KiB.
final class BufferShelf {
    private static let most = 6
    private var buffers: [ByteBuffer] = []

    func take() -> ByteBuffer { buffers.popLast() ?? ByteBuffer() }

    func put(_ buffer: ByteBuffer) {
        guard buffers.count < Self.most else { return }
        buffers.append(buffer)
        // keeps the memory, unless somebody else still looks at it
        buffers[buffers.count - 1].clear()
    }
}
