// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc
import OutriderHTTP

/// The destination of a file: an open directory, and a name in it. The file arrives in that directory even if the path
/// changes meanwhile. All calls block.
final class DownloadPlace: Sendable {
    let directory: String
    let name: String
    let replaces: Bool
    let descriptor: CInt

    var path: String { directory == "/" ? "/\(name)" : "\(directory)/\(name)" }

    /// Throws `downloadedFileMoveFailed` if the directory does not exist, or cannot be made.
    init(directory: String, name: String, replaces: Bool, creating: Bool) throws(HTTPFailure) {
        self.directory = directory
        self.name = name
        self.replaces = replaces
        if creating { Self.make(directory) }
        descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0 {
            let isMissing = errno == ENOENT
            var failure = Self.failure("the directory \(directory) cannot be used", directory)
            if isMissing, !creating { failure.message += " (set createDirectories, or choose another path)" }
            throw failure
        }
    }

    /// - Parameter path: absolute, or below the home directory as `~/…`.
    convenience init(path: String, replaces: Bool, creating: Bool) throws(HTTPFailure) {
        let path = try Self.absolute(path)
        let slash = path.lastIndex(of: "/") ?? path.startIndex
        let name = String(path[path.index(after: slash)...])
        if let fault = FileName.fault(name) {
            throw HTTPFailure(
                .destinationUnsafe, "the name of \(HTTPFailure.excerpt(path)) \(fault)", details: [.path(path)])
        }
        let directory = slash == path.startIndex ? "/" : String(path[..<slash])
        try self.init(directory: directory, name: name, replaces: replaces, creating: creating)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    static func absolute(_ path: String) throws(HTTPFailure) -> String {
        guard var absolute = FilePath.absolute(path, home: homeDirectory()) else {
            throw HTTPFailure(.downloadedFileMoveFailed, FilePath.fault(path), details: [.path(path)])
        }
        while absolute.utf8.count > 1, absolute.hasSuffix("/") { absolute.removeLast() }
        return absolute
    }

    private static func make(_ directory: String) {
        if mkdir(directory, 0o777) == 0 || errno != ENOENT { return }
        guard let slash = directory.lastIndex(of: "/"), slash != directory.startIndex else { return }
        make(String(directory[..<slash]))
        _ = mkdir(directory, 0o777)
    }

    /// Throws `destinationExists`, or `destinationUnsafe` for anything but a regular file.
    func check() throws(HTTPFailure) {
        var info = stat()
        guard fstatat(descriptor, name, &info, AT_SYMLINK_NOFOLLOW) == 0 else { return }
        try DestinationKind.check(info, path)
        if !replaces { throw taken }
    }

    var taken: HTTPFailure {
        HTTPFailure(
            .destinationExists, "\(HTTPFailure.excerpt(path)) exists already; choose another path or set replace",
            details: [.path(path)])
    }

    /// Moves a file of that directory to the destination. Throws `destinationExists`, and `downloadedFileMoveFailed`,
    /// with EXDEV if the file is on another file system.
    func take(_ file: String, from directory: borrowing DownloadPlace) throws(HTTPFailure) {
        let from = directory.descriptor
        if replaces {
            if renameat(from, file, descriptor, name) == 0 { return }
            throw moveFailure(directory, file)
        }
        // RENAME_NOREPLACE: never replaces, even if other processes write
        if renameat2(from, file, descriptor, name, 1) == 0 { return }
        if errno == EEXIST { throw taken }
        guard errno == EINVAL || errno == ENOSYS else { throw moveFailure(directory, file) }
        if linkat(from, file, descriptor, name, 0) == 0 {
            unlinkat(from, file, 0)
        } else if errno == EEXIST {
            throw taken
        } else {
            throw moveFailure(directory, file)
        }
    }

    private func moveFailure(_ directory: borrowing DownloadPlace, _ file: String) -> HTTPFailure {
        var failure = Self.failure("the file could not be moved to \(HTTPFailure.excerpt(path))", path)
        failure.details.append(.source("\(directory.directory)/\(file)"))
        return failure
    }

    /// Makes new names durable. Ignores errors, since some file systems cannot sync a directory.
    func sync() { fsync(descriptor) }

    func remove(_ name: String) { unlinkat(descriptor, name, 0) }

    static func failure(_ what: String, _ path: String) -> HTTPFailure {
        let code = errno
        let reason = String(cString: strerror(code))
        return HTTPFailure(
            .downloadedFileMoveFailed, "\(what): \(reason.lowercased())",
            underlying: HTTPFailure.Underlying(.posix, Int(code), reason), details: [.path(path)])
    }
}
