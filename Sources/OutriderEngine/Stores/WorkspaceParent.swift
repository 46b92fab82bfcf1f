// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP

/// The directory of temporary files that all services of this user share: `outrider-UID` in `$TMPDIR`. If another user
/// owns that name, `outrider-UID-` and six random characters, which the next service finds again. All calls block.
enum WorkspaceParent {
    /// The private directory of this user in the root; nil if missing.
    static func find(in root: String) -> String? {
        let usual = usual(in: root)
        if !isForeign(usual) { return isPrivate(usual) ? usual : nil }
        return others(in: root).first
    }

    /// Finds or makes the directory. Throws `fileWriteFailed`, also if the user's own directory is open to others.
    static func make(in root: String) throws(HTTPFailure) -> String {
        let usual = usual(in: root)
        if mkdir(usual, 0o700) != 0 && errno != EEXIST { throw PosixFile.failure("create", usual) }
        if !isForeign(usual) {
            guard isPrivate(usual) else { throw notPrivate(usual) }
            return usual
        }
        if let other = others(in: root).first { return other }
        var template = Array("\(usual)-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw PosixFile.failure("create", "\(usual)-XXXXXX") }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Makes a directory for this user only; throws `fileWriteFailed` if others may enter an existing directory.
    static func makePrivate(_ path: String) throws(HTTPFailure) {
        if mkdir(path, 0o700) != 0 && errno != EEXIST { throw PosixFile.failure("create", path) }
        guard isPrivate(path) else { throw notPrivate(path) }
    }

    /// Whether the path is a directory, not a link, that only this user may enter.
    static func isPrivate(_ path: String) -> Bool {
        var info = stat()
        guard lstat(path, &info) == 0 else { return false }
        return info.st_mode & S_IFMT == S_IFDIR && info.st_uid == getuid() && info.st_mode & 0o077 == 0
    }

    private static func usual(in root: String) -> String { "\(root)/outrider-\(getuid())" }

    /// Whether another user has taken the name.
    private static func isForeign(_ path: String) -> Bool {
        var info = stat()
        return lstat(path, &info) == 0 && info.st_uid != getuid()
    }

    private static func others(in root: String) -> [String] {
        let prefix = "outrider-\(getuid())-"
        let names = DirectoryNames.all(in: root).filter { $0.hasPrefix(prefix) }
        return names.sorted().map { "\(root)/\($0)" }.filter(isPrivate)
    }

    private static func notPrivate(_ path: String) -> HTTPFailure {
        HTTPFailure(
            .fileWriteFailed, "\(path) must be a directory of our own with mode 0700; remove it or set TMPDIR")
    }
}
