// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc
import OutriderFiles
import OutriderHTTP

/// An open file descriptor, closed with the value. All calls block: use them off the event loop.
struct PosixFile: ~Copyable {
    private let descriptor: CInt

    /// Opens a regular file for reading. Follows links: the path is the client's own.
    init(reading path: String) throws(HTTPFailure) {
        descriptor = try Self.open("open", path, O_RDONLY, .regular)
    }

    /// Creates a new file that only its owner can read; throws if the path exists.
    ///
    /// - Parameter target: the path for messages, if the file is to be renamed.
    init(creating path: String, for target: String? = nil) throws(HTTPFailure) {
        descriptor = try Self.open("create", path, O_RDWR | O_CREAT | O_EXCL, .own, shown: target)
    }

    /// Creates a file that is gone with its descriptor.
    init(namelessAt path: String) throws(HTTPFailure) {
        descriptor = try Self.open("create", path, O_RDWR | O_CREAT | O_EXCL, .own)
        unlink(path)
    }

    /// A descriptor, which the caller closes.
    static func open(
        _ verb: String, _ path: String, _ flags: CInt, _ rules: CheckedFile.Rules, shown: String? = nil
    ) throws(HTTPFailure) -> CInt {
        do throws(FileFault) {
            return try CheckedFile.open(path, flags, rules)
        } catch {
            throw HTTPFailure(
                .fileWriteFailed, "could not \(verb) \(shown ?? path): \(error)",
                underlying: HTTPFailure.Underlying(.posix, Int(error.code), String(cString: strerror(error.code))))
        }
    }

    deinit { close(descriptor) }

    /// Appends all bytes.
    func write(_ bytes: [UInt8], path: String) throws(HTTPFailure) {
        if !FileBytes.write(bytes, to: descriptor) { throw Self.failure("write", path) }
    }

    /// Writes all bytes at the offset.
    func write(_ bytes: [UInt8], at offset: Int, path: String) throws(HTTPFailure) {
        if !FileBytes.write(bytes, to: descriptor, at: offset) { throw Self.failure("write", path) }
    }

    /// Gives the blocks of a range back, where the file system can.
    func free(at offset: Int, count: Int) {
        // FALLOC_FL_PUNCH_HOLE, FALLOC_FL_KEEP_SIZE
        _ = fallocate(descriptor, 2 | 1, offset, count)
    }

    /// Gives the disk's room back at once, although others may hold the file open.
    func empty() { _ = ftruncate(descriptor, 0) }

    /// Fills the buffer from the offset.
    func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer, path: String) throws(HTTPFailure) {
        let count = FileBytes.read(descriptor, at: offset, into: buffer)
        if let count, count < buffer.count { errno = EIO }
        guard count == buffer.count else { throw Self.failure("read", path) }
    }

    /// Up to `count` bytes from the offset; fewer only at the end.
    func read(at offset: Int, count: Int, path: String) throws(HTTPFailure) -> [UInt8] {
        guard let bytes = FileBytes.read(descriptor, at: offset, most: count) else { throw Self.failure("read", path) }
        return bytes
    }

    /// Syncs the file to disk.
    func sync(path: String) throws(HTTPFailure) {
        if fsync(descriptor) != 0 { throw Self.failure("sync", path) }
    }

    /// The size of a regular file; nil for anything else.
    static func regularSize(of path: String) throws(HTTPFailure) -> Int64? {
        var info = stat()
        if stat(path, &info) != 0 { throw failure("open", path) }
        return info.st_mode & S_IFMT == S_IFREG ? Int64(info.st_size) : nil
    }

    /// Whether a file of size 0 has content all the same, like most files of /proc.
    static func hasHiddenContent(_ path: String) throws(HTTPFailure) -> Bool {
        try !PosixFile(reading: path).read(at: 0, count: 1, path: path).isEmpty
    }

    static func failure(_ verb: String, _ path: String) -> HTTPFailure {
        let code = errno
        let reason = String(cString: strerror(code))
        return HTTPFailure(
            .fileWriteFailed, "could not \(verb) \(HTTPFailure.excerpt(path)): \(reason.lowercased())",
            underlying: HTTPFailure.Underlying(.posix, Int(code), reason)
        )
    }
}

/// Lets closures share a file, which cannot be copied.
final class OpenFile: Sendable {
    let file: PosixFile

    init(_ file: consuming PosixFile) { self.file = file }
}

/// The home directory of the service's user, from the environment.
func homeDirectory() -> String? { getenv("HOME").map { String(cString: $0) } }
