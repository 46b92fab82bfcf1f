// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// Reads the pieces of a body that are there already, in memory and in files, as one sequence of bytes. Blocks.
// proof: one call at a time, which is what its owners see to.
package final class PieceReader: @unchecked Sendable {
    private let pieces: [ComposedBody.Piece]
    private var index = 0
    private var offset: Int64 = 0
    private var file: FileReader?
    private var scratch = ByteBuffer()

    /// Pieces that a client feeds are not among them.
    package init(_ pieces: [ComposedBody.Piece]) { self.pieces = pieces }

    /// An empty buffer whose memory the next bytes go into.
    func lend(_ buffer: ByteBuffer) { scratch = buffer }

    /// Up to so many bytes, or a slice of a file of up to so many; nil at the end. Throws as `read` does.
    func next(most: Int, mostSlice: Int) throws(HTTPFailure) -> BodyPiece? {
        if mostSlice > 0, let slice = try slice(most: mostSlice) { return BodyPiece(slice) }
        return try read(most: most).map { BodyPiece($0) }
    }

    /// The next bytes, if they are in a file that may be sent as it is.
    private func slice(most: Int) throws(HTTPFailure) -> FileSlice? {
        guard index < pieces.count, case .file(let path, let size, let pointer) = pieces[index],
            FileReader.mayShare(offset, of: size)
        else { return nil }
        if file == nil { file = try FileReader(path: path, size: size, partAt: pointer) }
        guard let file, let count = try file.prepare(at: offset, most: most) else { return nil }
        defer { offset += Int64(count) }  // safe: an Int is an Int64
        return FileSlice(file, offset: offset, count: count)
    }

    /// Up to so many bytes; nil at the end. Throws when a file cannot be read or is not what it was.
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
}
