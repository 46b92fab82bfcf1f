// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

/// The kinds of files that a written file may replace.
enum DestinationKind {
    /// Throws `destinationUnsafe` for anything but a regular file.
    static func check(_ info: stat, _ path: String) throws(HTTPFailure) {
        let what =
            switch info.st_mode & S_IFMT {
            case S_IFREG: ""
            case S_IFLNK: "a symbolic link"
            case S_IFDIR: "a directory"
            case S_IFIFO: "a pipe"
            case S_IFSOCK: "a socket"
            default: "a device"
            }
        guard what.isEmpty else {
            throw HTTPFailure(
                .destinationUnsafe, "\(path) is \(what), and no file may take its place: choose another path",
                details: [.path(path)])
        }
    }
}
