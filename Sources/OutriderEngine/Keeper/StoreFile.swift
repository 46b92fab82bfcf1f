// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP

/// The few ways in which files of the store are read and written. All calls block: they run in the keeper only.
enum StoreFile {
    /// The longest file that is read, and so the longest that is written, in bytes.
    private static let mostBytes = 1 << 20

    /// Nil if it is not there. Never follows a link, never opens what is no regular file.
    static func read(_ path: String) throws(OAuthFailure) -> [UInt8]? {
        let file: CInt
        do throws(FileFault) {
            file = try CheckedFile.open(path, O_RDONLY, [.regular, .noLink])
        } catch .system(ENOENT) {
            return nil
        } catch .notRegular(let kind) where kind != S_IFLNK {
            throw damaged(path)
        } catch {
            throw failure("read", path, error)
        }
        defer { close(file) }
        var info = stat()
        guard fstat(file, &info) == 0, info.st_size <= off_t(mostBytes) else { throw damaged(path) }
        var bytes: [UInt8] = []
        while bytes.count <= mostBytes {
            var count = 0
            let piece = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, used in
                count = Glibc.read(file, buffer.baseAddress, buffer.count)
                used = max(0, count)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0 { throw failure("read", path) }
            if count == 0 { break }
            bytes += piece
        }
        return bytes
    }

    private static func damaged(_ path: String) -> OAuthFailure {
        OAuthFailure(.store, "store_damaged", "\(path) is no file of ours; remove it")
    }

    /// A descriptor of a regular file of this user, which the caller closes.
    static func open(_ path: String, _ flags: CInt, _ verb: String) throws(OAuthFailure) -> CInt {
        do throws(FileFault) {
            return try CheckedFile.open(path, flags, [.regular, .owned, .noLink])
        } catch {
            throw failure(verb, path, error)
        }
    }

    /// Writes a file from its beginning, and waits until it is on the medium.
    static func write(_ bytes: [UInt8], to path: String) throws(OAuthFailure) {
        // nobody would read it again
        guard bytes.count <= mostBytes else {
            throw OAuthFailure(
                .config, tooLongReason, "\(path) would be longer than the \(mostBytes) bytes that are read")
        }
        let file = try open(path, O_WRONLY | O_CREAT | O_TRUNC, "write")
        defer { close(file) }
        try append(bytes, to: file, path)
        if fsync(file) != 0 { throw failure("sync", path) }
    }

    static func append(_ bytes: [UInt8], to file: CInt, _ path: String) throws(OAuthFailure) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { raw in
                Glibc.write(file, raw.baseAddress.map { $0 + written }, raw.count - written)
            }
            if count < 0 && errno == EINTR { continue }
            if count <= 0 { throw failure("write", path) }
            written += count
        }
    }

    /// The file appears whole or not at all, and stays: beside its place, synced, moved, and the move synced.
    static func replace(_ path: String, with bytes: [UInt8]) throws(OAuthFailure) {
        try write(bytes, to: path + ".tmp")
        try move(path + ".tmp", to: path)
    }

    static func move(_ path: String, to other: String) throws(OAuthFailure) {
        if rename(path, other) != 0 { throw failure("write", other) }
        try sync(String(other[..<(other.lastIndex(of: "/") ?? other.startIndex)]))
    }

    /// It is not there any more; whether or not it was.
    static func remove(_ path: String) throws(OAuthFailure) {
        if unlink(path) != 0 && errno != ENOENT { throw failure("remove", path) }
    }

    /// What names a directory has is on the medium.
    static func sync(_ path: String) throws(OAuthFailure) {
        let directory = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if directory < 0 { throw failure("sync", path) }
        defer { close(directory) }
        if fsync(directory) != 0 { throw failure("sync", path) }
    }

    /// Makes a directory for its owner only, and those above it; refuses one that others may enter.
    static func makeDirectory(_ path: String) throws(OAuthFailure) {
        var info = stat()
        if lstat(path, &info) != 0 {
            guard errno == ENOENT else { throw failure("open", path) }
            if let slash = path.lastIndex(of: "/"), slash != path.startIndex { try makeParents(String(path[..<slash])) }
            if mkdir(path, 0o700) != 0 && errno != EEXIST { throw failure("create", path) }
        }
        try inspectDirectory(path)
    }

    /// Refuses one that others may enter, or that leads elsewhere.
    static func inspectDirectory(_ path: String) throws(OAuthFailure) {
        var info = stat()
        if lstat(path, &info) != 0 { throw failure("open", path) }
        guard info.st_mode & S_IFMT == S_IFDIR, info.st_uid == geteuid(), info.st_mode & 0o077 == 0 else {
            throw OAuthFailure(
                .store, "store_unsafe",
                "\(path) must be a directory of our own with mode 0700; correct it, or name another: with --credentials for a "
                    + "store, with XDG_RUNTIME_DIR for what lives in memory")
        }
    }

    private static func makeParents(_ path: String) throws(OAuthFailure) {
        var info = stat()
        if stat(path, &info) == 0 { return }
        if let slash = path.lastIndex(of: "/"), slash != path.startIndex { try makeParents(String(path[..<slash])) }
        if mkdir(path, 0o700) != 0 && errno != EEXIST { throw failure("create", path) }
    }

    /// How much of the medium it has; nothing if it is not there.
    static func heldBytes(_ path: String) -> Int {
        var info = stat()
        return lstat(path, &info) == 0 ? Int(info.st_blocks) * 512 : 0
    }

    /// Of what is too long to be kept.
    static let tooLongReason = "too_long"

    /// Whether it is a directory of our own, with no file of another user in it.
    static func isOurs(_ path: String) -> Bool {
        var info = stat()
        return lstat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR && info.st_uid == geteuid()
    }

    /// A directory that the system made for this user's processes, and that goes with them; else one in /tmp.
    static func runtime(_ name: String) -> String {
        let runtime = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? "/run/user/\(geteuid())"
        var info = stat()
        let isOurs = runtime.hasPrefix("/") && stat(runtime, &info) == 0 && info.st_uid == geteuid()
        return isOurs ? "\(runtime)/\(name)" : "/tmp/\(name)-\(geteuid())"
    }

    /// The file is ours, or root's, and no other user may read it; nil if it is not there.
    static func isPrivate(_ path: String) -> Bool? {
        var info = stat()
        guard stat(path, &info) == 0 else { return nil }
        return (info.st_uid == geteuid() || info.st_uid == 0) && info.st_mode & 0o077 == 0
    }

    static func failure(_ verb: String, _ path: String) -> OAuthFailure { failure(verb, path, .system(errno)) }

    static func failure(_ verb: String, _ path: String, _ fault: FileFault) -> OAuthFailure {
        let code = fault.code
        let isRoom = code == ENOSPC || code == EDQUOT || code == EROFS || code == EFBIG || code == EACCES
        return OAuthFailure(
            .store, isRoom ? "store_unwritable" : "store_failed",
            "could not \(verb) \(path): \(fault)")
    }
}
