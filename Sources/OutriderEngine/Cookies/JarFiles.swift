// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CLinux
import Glibc
import OutriderHTTP

/// The files of a jar: `jar.db` with its `-wal` and `-shm`, `store.lock`, and damaged databases set aside.
struct JarFiles: Sendable {
    let directory: String

    var database: String { "\(directory)/jar.db" }
    var lock: String { "\(directory)/store.lock" }

    private static let mostAside = 2
    private static let asideSeconds = 7 * 86_400

    /// 1 to 64 of letters, digits, dot, hyphen and underscore, no dot in front; nil if the name may be used.
    package static func fault(ofName name: String) -> String? {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: true
            default: false
            }
        }
        guard isPlain, (1...64).contains(name.utf8.count), name.utf8.first != 0x2E else {
            return "must have 1 to 64 letters, digits, dots, hyphens or underscores, and no dot in front"
        }
        return nil
    }

    /// The default directory of all jars of the user.
    static var usualRoot: String? { UserDirectory.data("cookies") }

    /// Makes the directory if missing; refuses a directory that others may enter, or on a network file system. Returns the
    /// files under a path without links, since SQLite follows no link.
    func prepare() throws(JarFailure) -> JarFiles {
        do throws(OAuthFailure) {
            try StoreFile.makeDirectory(directory)
        } catch {
            let isUnsafe = error.reason == "store_unsafe"
            throw JarFailure(
                isUnsafe ? .unsafe : .unwritable,
                isUnsafe ? "\(directory) must be a directory of this user with mode 0700" : error.message)
        }
        guard !StoreRoot.isRemote(directory) else {
            throw JarFailure(
                .unsafe, "\(directory) is on a network file system; name a directory on a local disk with --jars")
        }
        return JarFiles(directory: StoreFile.resolved(directory))
    }

    /// Renames a damaged database; the last two are kept for a week.
    func putAside(now: Int64) {
        let mark = "\(directory)/damaged-\(now / Cookie.second)"
        for end in ["", "-wal", "-shm"] { rename(database + end, "\(mark).db\(end)") }
        let aside = names().filter { $0.hasPrefix("damaged-") && $0.hasSuffix(".db") }.sorted()
        for name in aside.dropLast(Self.mostAside) { remove(name) }
    }

    /// Removes damaged databases that were set aside more than a week ago.
    func clean(now: Int64) {
        for name in names() where name.hasPrefix("damaged-") && name.hasSuffix(".db") {
            let seconds = Int64(name.dropFirst(8).dropLast(3)) ?? 0  // safe: of a text this gives nil
            if seconds < now / Cookie.second - Int64(Self.asideSeconds) { remove(name) }
        }
    }

    private func remove(_ name: String) { for end in ["", "-wal", "-shm"] { unlink("\(directory)/\(name)\(end)") } }

    private func names() -> [String] { DirectoryNames.all(in: directory) }
}
