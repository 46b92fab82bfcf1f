// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore

/// A part of a request's body on its way to the kernel.
struct BodyPiece {
    /// The bytes on the wire, after compression.
    var bytes: ByteBuffer
    /// The number of bytes before compression.
    var plain: Int

    init(_ bytes: ByteBuffer) {
        self.bytes = bytes
        plain = bytes.readableBytes
    }
}

/// Sent buffers for reuse: fresh memory costs a page fault for every 4 KiB.
final class BufferShelf {
    private static let most = 4
    private var buffers: [ByteBuffer] = []

    func take() -> ByteBuffer { buffers.popLast() ?? ByteBuffer() }

    func put(_ buffer: ByteBuffer) {
        guard buffers.count < Self.most else { return }
        buffers.append(buffer)
        // keeps the memory, unless another buffer shares the storage
        buffers[buffers.count - 1].clear()
    }
}
