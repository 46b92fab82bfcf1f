// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// Reads the pieces of a body that are in memory and in files as a single sequence of bytes. Blocks.
// proof: one call at a time, which is what its owners see to.
package final class PieceReader: @unchecked Sendable {
    private let pieces: [ComposedBody.Piece]
    /// Keeps the memory of the pieces counted.
    private let holder: (any BodyHolder)?
    private var index = 0
    private var offset: Int64 = 0
    private var file: FileReader?
    private var scratch = ByteBuffer()

    /// Without pieces that a client feeds.
    package init(_ pieces: [ComposedBody.Piece], of holder: (any BodyHolder)? = nil) {
        self.pieces = pieces
        self.holder = holder
    }

    /// Lends an empty buffer whose memory the next read reuses.
    func lend(_ buffer: ByteBuffer) { scratch = buffer }

    /// Up to `most` bytes; nil at the end. Throws if a file cannot be read, or has changed.
    package func read(most: Int) throws(HTTPFailure) -> ByteBuffer? {
        var gathered = ByteBuffer()
        swap(&gathered, &scratch)
        while index < pieces.count, gathered.readableBytes < most {
            let room = most - gathered.readableBytes
            let before = gathered.readableBytes
            let size = pieces[index].size ?? 0
            switch pieces[index] {
            case .bytes(let bytes):
                let start = Int(clamping: offset)
                gathered.writeBytes(bytes[start..<min(bytes.count, start + room)])
            case .file(let path, let size, let pointer):
                if file == nil { file = try FileReader(path: path, size: size, partAt: pointer) }
                try file?.read(at: offset, most: room, into: &gathered)
            case .spilt(let part): try Self.read(part, at: Int(clamping: offset), most: room, into: &gathered)
            case .feed: break
            }
            offset += Int64(gathered.readableBytes - before)  // safe: an Int is an Int64
            if offset >= size {
                index += 1
                offset = 0
                file = nil
            }
        }
        return gathered.readableBytes > 0 ? gathered : nil
    }

    private static func read(
        _ part: any SpilledPart, at offset: Int, most: Int, into gathered: inout ByteBuffer
    ) throws(HTTPFailure) {
        let wanted = min(most, part.count - offset)
        var result = Result<Void, HTTPFailure>.success(())
        gathered.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { target in
            let buffer = UnsafeMutableRawBufferPointer(rebasing: target.prefix(wanted))
            result = Result { () throws(HTTPFailure) in try part.read(at: offset, into: buffer) }
            return wanted
        }
        try result.get()
    }
}
