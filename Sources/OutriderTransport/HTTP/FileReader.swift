// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderHTTP

/// A file that is a request's body: open for reading, of the size that was announced. Its methods block.
final class FileReader: Sendable {
    private let path: String
    private let size: Int64
    private let descriptor: CInt

    init(path: String, size: Int64) throws(HTTPFailure) {
        self.path = path
        self.size = size
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadable(path, .errno) }
        try checkSize()
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// So many bytes from there on, fewer at the end of the body. Throws `bodyUnreadable` if the file has changed its size,
    /// since its length has been promised to the server.
    func read(at offset: Int64, most: Int) throws(HTTPFailure) -> ByteBuffer {
        let wanted = Int(clamping: min(Int64(most), size - offset))  // safe: an Int is an Int64
        var piece = ByteBuffer()
        piece.reserveCapacity(wanted)
        while piece.readableBytes < wanted {
            let missing = wanted - piece.readableBytes
            let position = Int(clamping: offset) + piece.readableBytes
            var got = 0
            piece.writeWithUnsafeMutableBytes(minimumWritableBytes: missing) { target in
                got = pread(descriptor, target.baseAddress, missing, position)
                return max(0, got)
            }
            if got == 0 { throw .changed(path) }
            if got < 0, errno != EINTR { throw .unreadable(path, .errno) }
        }
        let end = offset + Int64(wanted)  // safe: an Int is an Int64
        if end >= size { try checkSize() }
        return piece
    }

    private func checkSize() throws(HTTPFailure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unreadable(path, .errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw HTTPFailure(.bodyUnreadable, "the body file \(path) is not a regular file", phase: .request)
        }
        guard Int64(status.st_size) == size else { throw .changed(path) }  // safe: off_t is 64 bits wide
    }
}

extension HTTPFailure {
    static func unreadable(_ path: String, _ underlying: Underlying) -> HTTPFailure {
        let text = "the body file \(path) cannot be read: \(underlying.message)"
        return HTTPFailure(.bodyUnreadable, text, phase: .request, underlying: underlying)
    }

    fileprivate static func changed(_ path: String) -> HTTPFailure {
        HTTPFailure(
            .bodyUnreadable, "the size of the body file \(path) changed while it was being sent", phase: .request)
    }
}

extension HTTPFailure.Underlying {
    fileprivate static var errno: HTTPFailure.Underlying {
        let code = Glibc.errno
        return .init(.file, Int(code), String(cString: strerror(code)))  // safe: CInt is narrower
    }
}
