// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderHTTP

/// A file that is a request's body, or a part of it: open for reading, of the size that was announced, and not written to
/// since it was opened. Its methods block, but for `send`.
final class FileReader: Sendable {
    private let path: String
    private let size: Int64
    /// Where the path stands in the caller's params, if it is that of a part.
    private let pointer: String?
    private let descriptor: CInt
    /// When it was last written to, as it was when it was opened.
    private let written: (seconds: Int, nanoseconds: Int)

    init(path: String, size: Int64, partAt pointer: String? = nil) throws(HTTPFailure) {
        self.path = path
        self.size = size
        self.pointer = pointer
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw .unreadable(path, .errno, pointer) }
        var status = stat()
        let isKnown = fstat(descriptor, &status) == 0
        written = isKnown ? (status.st_mtim.tv_sec, status.st_mtim.tv_nsec) : (0, 0)
        try check()
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// So many bytes from there on are read into the piece, fewer at the end of the body. Throws if the file has changed
    /// its size, since its length has been promised to the server.
    func read(at offset: Int64, most: Int, into piece: inout ByteBuffer) throws(HTTPFailure) {
        let wanted = Int(clamping: min(Int64(most), size - offset))  // safe: an Int is an Int64
        piece.reserveCapacity(minimumWritableBytes: wanted)
        var position = Int(clamping: offset)
        let target = position + wanted
        while position < target {
            let missing = target - position
            var got = 0
            piece.writeWithUnsafeMutableBytes(minimumWritableBytes: missing) { target in
                got = pread(descriptor, target.baseAddress, missing, position)
                return max(0, got)
            }
            if got == 0 { throw changed }
            if got < 0, errno != EINTR { throw .unreadable(path, .errno, pointer) }
            position += max(0, got)
        }
        let end = offset + Int64(wanted)  // safe: an Int is an Int64
        if end >= size { try check() }
    }

    /// Throws if it is not the file that it was when it was opened: its length has been promised to the server, and half
    /// of the one and half of the other content is neither.
    func check() throws(HTTPFailure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unreadable(path, .errno, pointer) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .body("the body file \(path) is not a regular file", nil, pointer)
        }
        guard Int64(status.st_size) == size else { throw changed }  // safe: off_t is 64 bits wide
        guard (status.st_mtim.tv_sec, status.st_mtim.tv_nsec) == written else {
            throw .body("the content of the body file \(path) changed while it was being sent", nil, pointer)
        }
    }

    private var changed: HTTPFailure {
        .body("the size of the body file \(path) changed while it was being sent", nil, pointer)
    }
}

// MARK: without reading it

extension FileReader {
    /// The end of every file is copied, and short files are altogether. What the kernel sends from its cache is not read
    /// before it travels: who writes to the file may still change it. So more than the buffers of a connection hold is
    /// copied behind it, before the file is checked for the last time.
    static let copiedBytes: Int64 = 16 << 20

    /// Whether bytes from there on may be sent as they are in the kernel's cache.
    static func mayShare(_ offset: Int64, of size: Int64) -> Bool { size - offset > copiedBytes }

    /// Where bytes go that only have to be looked at.
    private static let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)

    /// Brings some bytes into the kernel's cache, so that sending them does not wait for the disk. Returns how many; nil if
    /// they have to be read instead.
    func prepare(at offset: Int64, most: Int) throws(HTTPFailure) -> Int? {
        // whole pages, from the second time on
        let page = Int64(4096)
        let wanted = min(Int64(most) - offset % page, size - Self.copiedBytes - offset)  // safe: an Int is an Int64
        guard wanted > 0, let count = Int(exactly: wanted) else { return nil }
        var position = off_t(offset)
        var left = count
        while left > 0 {
            let got = sendfile(Self.nowhere, descriptor, &position, left)
            if got == 0 { throw changed }
            // a file system that cannot do it, or a disk that cannot be read: reading says which
            if got < 0, errno != EINTR { return nil }
            left -= max(0, got)
        }
        return count
    }

    /// Sends some bytes to a socket that does not block. Returns how many it took; none if it takes none now, or if
    /// something is wrong with either.
    func send(_ slice: FileSlice, to socket: CInt) -> Int {
        var position = off_t(slice.offset)
        var sent = 0
        while sent < slice.count {
            let took = sendfile(socket, descriptor, &position, slice.count - sent)
            if took < 0, errno == EINTR { continue }
            if took <= 0 { break }
            sent += took
        }
        return sent
    }
}

extension HTTPFailure {
    static func unreadable(_ path: String, _ underlying: Underlying, _ pointer: String? = nil) -> HTTPFailure {
        body("the body file \(path) cannot be read: \(underlying.message)", underlying, pointer)
    }

    /// Of a part of a form, `inputStreamReadFailed`; of a whole body, `bodyUnreadable`.
    fileprivate static func body(_ text: String, _ underlying: Underlying?, _ pointer: String?) -> HTTPFailure {
        HTTPFailure(
            pointer == nil ? .bodyUnreadable : .inputStreamReadFailed, text, phase: .request, underlying: underlying,
            pointer: pointer)
    }
}

extension HTTPFailure.Underlying {
    fileprivate static var errno: HTTPFailure.Underlying {
        let code = Glibc.errno
        return .init(.file, Int(code), String(cString: strerror(code)))  // safe: CInt is narrower
    }
}
