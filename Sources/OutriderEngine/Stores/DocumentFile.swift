// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderHTTP

/// Files that people wrote, read whole. All calls block: use them off the event loop, or at start.
package enum DocumentFile {
    /// The content of a regular file of at most `limit` bytes.
    package static func read(_ path: String, limit: Int) throws(HTTPFailure) -> [UInt8] {
        guard let size = try PosixFile.regularSize(of: path) else {
            throw HTTPFailure(.inputFileReadFailed, "\(path) is no regular file", details: [.path(path)])
        }
        guard let size = Int(exactly: size), size <= limit else {
            throw HTTPFailure(.inputFileReadFailed, "\(path) is longer than \(limit) bytes", details: [.path(path)])
        }
        return try PosixFile(reading: path).read(at: 0, count: size, path: path)
    }

    /// Whether the path is a directory; false if missing.
    package static func isDirectory(_ path: String) -> Bool {
        var info = stat()
        return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR
    }

    /// The names in a directory, in alphabetical order, without hidden files.
    package static func names(in directory: String) throws(HTTPFailure) -> [String] {
        guard let names = DirectoryNames.read(directory) else { throw PosixFile.failure("read", directory) }
        return names.filter { !$0.hasPrefix(".") }.sorted()
    }
}
