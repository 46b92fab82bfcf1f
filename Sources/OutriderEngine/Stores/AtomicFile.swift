// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

/// Writes a file atomically: to a temporary file beside the destination, synced, then moved. Blocks. Replaces only a
/// regular file.
enum AtomicFile {
    static func write(
        to path: String, replace: Bool, from source: () throws(HTTPFailure) -> [UInt8]?
    ) throws(HTTPFailure) {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw HTTPFailure(.fileWriteFailed, "path must be absolute and without U+0000")
        }
        var info = stat()
        if lstat(path, &info) == 0 {
            try DestinationKind.check(info, path)
            if !replace { throw taken(path) }
        }
        let temporary = "\(path).outrider-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        do {
            try fill(temporary, for: path, from: source)
            try move(temporary, to: path, replace: replace)
        } catch {
            unlink(temporary)
            throw error
        }
        syncDirectory(of: path)
    }

    private static func fill(
        _ temporary: String, for path: String, from source: () throws(HTTPFailure) -> [UInt8]?
    ) throws(HTTPFailure) {
        let file = try PosixFile(creating: temporary, for: path)
        while let piece = try source() { try file.write(piece, path: path) }
        try file.sync(path: path)
    }

    static func move(_ temporary: String, to path: String, replace: Bool) throws(HTTPFailure) {
        if replace {
            if rename(temporary, path) != 0 { throw PosixFile.failure("write", path) }
            return
        }
        // link() never replaces, even if other processes write; without hard links, rename() must do
        if link(temporary, path) == 0 {
            unlink(temporary)
        } else if errno == EEXIST {
            throw taken(path)
        } else if rename(temporary, path) != 0 {
            throw PosixFile.failure("write", path)
        }
    }

    /// Makes the new name durable. Ignores errors, since some file systems cannot sync a directory.
    private static func syncDirectory(of path: String) {
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let directory = slash == path.startIndex ? "/" : String(path[..<slash])
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private static func taken(_ path: String) -> HTTPFailure {
        HTTPFailure(.destinationExists, "\(path) exists already; choose another path or set replace")
    }
}
