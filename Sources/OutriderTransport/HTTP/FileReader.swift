// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderFiles
import OutriderHTTP

/// A file that is a request's body, or a part of the body: open for reading, of the announced size, and unchanged since
/// it was opened. All methods block.
final class FileReader: Sendable {
    private let path: String
    private let size: Int64
    /// Pointer to the path in the caller's params, if the file is a part of a form; nil for the whole body.
    private let pointer: String?
    private let descriptor: CInt
    /// The time of the last change when the file was opened.
    private let written: (seconds: Int, nanoseconds: Int)

    init(path: String, size: Int64, partAt pointer: String? = nil) throws(HTTPFailure) {
        self.path = path
        self.size = size
        self.pointer = pointer
        do throws(FileFault) {
            descriptor = try CheckedFile.open(path, O_RDONLY, .regular)
        } catch .notRegular {
            throw .body("the body file \(path) is not a regular file", nil, pointer)
        } catch {
            throw .unreadable(path, .file(error.code), pointer)
        }
        var status = stat()
        let isKnown = fstat(descriptor, &status) == 0
        written = isKnown ? (status.st_mtim.tv_sec, status.st_mtim.tv_nsec) : (0, 0)
        try check()
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reads up to `most` bytes at the offset into the piece, fewer at the end of the body. Throws if the size of the
    /// file has changed, since the server was promised its length.
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

    /// Throws if the file has changed since it was opened: the server was promised its length, and a mixture of old and
    /// new content is neither.
    private func check() throws(HTTPFailure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .unreadable(path, .errno, pointer) }
        guard Int64(status.st_size) == size else { throw changed }  // safe: off_t is 64 bits wide
        guard (status.st_mtim.tv_sec, status.st_mtim.tv_nsec) == written else {
            throw .body("the content of the body file \(path) changed while it was being sent", nil, pointer)
        }
    }

    private var changed: HTTPFailure {
        .body("the size of the body file \(path) changed while it was being sent", nil, pointer)
    }
}

extension HTTPFailure {
    static func unreadable(_ path: String, _ underlying: Underlying, _ pointer: String? = nil) -> HTTPFailure {
        body("the body file \(path) cannot be read: \(underlying.message)", underlying, pointer)
    }

    /// `inputStreamReadFailed` for a part of a form, `bodyUnreadable` for a whole body.
    fileprivate static func body(_ text: String, _ underlying: Underlying?, _ pointer: String?) -> HTTPFailure {
        HTTPFailure(
            pointer == nil ? .bodyUnreadable : .inputStreamReadFailed, text, phase: .request, underlying: underlying,
            pointer: pointer ?? "/body/file")
    }
}

extension HTTPFailure.Underlying {
    fileprivate static var errno: HTTPFailure.Underlying { file(Glibc.errno) }

    fileprivate static func file(_ code: CInt) -> HTTPFailure.Underlying {
        .init(.file, Int(code), String(cString: strerror(code)))  // safe: CInt is narrower
    }
}
