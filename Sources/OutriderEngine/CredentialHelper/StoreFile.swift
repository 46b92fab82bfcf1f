// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP

/// Reads and writes the files of the store. All calls block: they run in the helper only.
enum StoreFile {
    /// Limit of a file, for reading and writing, in bytes.
    private static let mostBytes = 1 << 20

    /// The bytes of a file; nil if missing. Follows no links, opens only regular files.
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
            guard let piece = FileBytes.read(file, most: 1 << 16) else { throw failure("read", path) }
            if piece.isEmpty { break }
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

    /// Writes a file from its beginning, and syncs it to disk.
    static func write(_ bytes: [UInt8], to path: String) throws(OAuthFailure) {
        // a longer file could not be read back
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
        if !FileBytes.write(bytes, to: file) { throw failure("write", path) }
    }

    /// Replaces a file durably and atomically: writes a temporary file, syncs it, renames it, and syncs the directory.
    static func replace(_ path: String, with bytes: [UInt8]) throws(OAuthFailure) {
        try write(bytes, to: path + ".tmp")
        try move(path + ".tmp", to: path)
    }

    static func move(_ path: String, to other: String) throws(OAuthFailure) {
        if rename(path, other) != 0 { throw failure("write", other) }
        try sync(String(other[..<(other.lastIndex(of: "/") ?? other.startIndex)]))
    }

    /// Removes a file; a missing file is no error.
    static func remove(_ path: String) throws(OAuthFailure) {
        if unlink(path) != 0 && errno != ENOENT { throw failure("remove", path) }
    }

    /// Syncs the names in a directory to disk.
    static func sync(_ path: String) throws(OAuthFailure) {
        let directory = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if directory < 0 { throw failure("sync", path) }
        defer { close(directory) }
        if fsync(directory) != 0 { throw failure("sync", path) }
    }

    /// Makes a directory for its owner only, and its parents; refuses a directory that others may enter.
    static func makeDirectory(_ path: String) throws(OAuthFailure) {
        var info = stat()
        if lstat(path, &info) != 0 {
            guard errno == ENOENT else { throw failure("open", path) }
            if let slash = path.lastIndex(of: "/"), slash != path.startIndex { try makeParents(String(path[..<slash])) }
            if mkdir(path, 0o700) != 0 && errno != EEXIST { throw failure("create", path) }
        }
        try inspectDirectory(path)
    }

    /// Refuses a directory that others may enter, and a link.
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

    /// The path without links; the path itself if the system does not resolve it.
    static func resolved(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }

    private static func makeParents(_ path: String) throws(OAuthFailure) {
        var info = stat()
        if stat(path, &info) == 0 { return }
        if let slash = path.lastIndex(of: "/"), slash != path.startIndex { try makeParents(String(path[..<slash])) }
        if mkdir(path, 0o700) != 0 && errno != EEXIST { throw failure("create", path) }
    }

    /// The disk space of a file in bytes; 0 if missing.
    static func heldBytes(_ path: String) -> Int {
        var info = stat()
        return lstat(path, &info) == 0 ? Int(info.st_blocks) * 512 : 0
    }

    /// The reason for a record that exceeds the limit.
    static let tooLongReason = "too_long"

    /// Whether the path is a directory of this user.
    static func isOurs(_ path: String) -> Bool {
        var info = stat()
        return lstat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR && info.st_uid == geteuid()
    }

    /// A directory that the system made for this user's processes, and removes with them; else a directory in /tmp.
    static func runtime(_ name: String) -> String {
        let runtime = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) } ?? "/run/user/\(geteuid())"
        var info = stat()
        let isOurs = runtime.hasPrefix("/") && stat(runtime, &info) == 0 && info.st_uid == geteuid()
        return isOurs ? "\(runtime)/\(name)" : "/tmp/\(name)-\(geteuid())"
    }

    /// Whether the file belongs to this user or root, and no other user may read it; nil if missing.
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
