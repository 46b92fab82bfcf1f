// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import Testing

@testable import OutriderServer

@Suite struct ReadBufferTests {
    private static let text = "a secret"

    /// A buffer whose memory another holder has, too, as NIO does.
    private let read = ByteBuffer(string: Self.text)

    private func isErased(_ buffer: ByteBuffer) -> Bool { buffer.readableBytesView.allSatisfy { $0 == 0 } }

    @Test func `bytes are zeroed where they came in`() {
        var buffer = ReadBuffer()
        buffer.append(read, erasing: true)
        buffer.consume(2, erasing: true)
        #expect(read.readableBytesView.elementsEqual([0, 0] + Array("secret".utf8)))
        buffer.consume(100, erasing: true)
        #expect(isErased(read))
        #expect(buffer.count == 0)
    }

    @Test func `bytes of harmless frames are left alone`() {
        var buffer = ReadBuffer()
        buffer.append(read, erasing: true)
        buffer.consume(buffer.count, erasing: false)
        #expect(String(buffer: read) == Self.text)
    }

    @Test func `a frame in pieces is in one place only`() {
        let pieces = (0..<50).map { ByteBuffer(repeating: UInt8($0 + 1), count: 1 + $0 * 100) }
        var buffer = ReadBuffer()
        for piece in pieces { buffer.append(piece, erasing: true) }
        #expect(pieces.allSatisfy(isErased))
        let expected = (0..<50).flatMap { [UInt8](repeating: UInt8($0 + 1), count: 1 + $0 * 100) }
        #expect(buffer.withBytes { $0.elementsEqual(expected) })
    }

    @Test func `a frame that nothing follows is handed over, and any other frame is copied`() {
        var buffer = ReadBuffer()
        buffer.append(read, erasing: true)
        let address = buffer.withBytes { $0.baseAddress }
        let whole = buffer.frame(2..<8, 8)
        #expect(String(buffer: whole) == "secret")
        #expect(whole.withUnsafeReadableBytes { $0.baseAddress } == address.map { UnsafeRawPointer($0 + 2) })
        let part = buffer.frame(0..<1, 2)
        #expect(String(buffer: part) == "a")
        buffer.consume(8, erasing: true)
        #expect(String(buffer: part) == "a")
    }

    @Test func `what is left at the end is zeroed`() {
        do {
            var buffer = ReadBuffer()
            buffer.append(read, erasing: true)
        }
        #expect(isErased(read))
    }

    @Test func `bytes that are given away stay`() {
        var buffer = ReadBuffer()
        buffer.append(read, erasing: true)
        buffer.consume(2, erasing: false)
        #expect(String(buffer: buffer.take()) == "secret")
        #expect(buffer.count == 0)
    }
}
