// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP
import Synchronization

/// A private directory for bodies that are too large for memory: made on first use, removed at the end; the next start
/// removes the directory of a killed service. A locked file beside it shows that the owner lives.
package final class Workspace: Sendable {
    private struct State {
        var directory: String?
        var lock: CInt = -1
        var count = 0
    }

    /// `$TMPDIR`, else `/tmp`.
    private let root: String
    private let state = Mutex(State())

    package init(in directory: String? = nil) {
        let root = directory ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        self.root = root.isEmpty ? "/tmp" : root
    }

    /// A path for a new file. Blocks; the first call makes the directory. So does the first call after a cleaner of
    /// temporary files has removed the directory, as such programs do where nothing happens for days.
    func newPath() throws(HTTPFailure) -> String {
        let root = root
        return try state.withLock { state throws(HTTPFailure) in
            if let directory = state.directory, access(directory, F_OK) != 0, errno == ENOENT {
                unlink("\(directory).lock")
                close(state.lock)
                state.directory = nil
            }
            if state.directory == nil {
                let (directory, lock) = try Self.make(in: WorkspaceParent.make(in: root))
                state.directory = directory
                state.lock = lock
            }
            state.count += 1
            return "\(state.directory ?? root)/\(state.count)"
        }
    }

    /// The directory for downloads without a destination. The directory outlives the service, so that downloads can be
    /// resumed. Blocks.
    func downloads() throws(HTTPFailure) -> String {
        let parent = try WorkspaceParent.make(in: root)
        let directory = "\(parent)/downloads"
        try WorkspaceParent.makePrivate(directory)
        return directory
    }

    /// Removes the directory and its content.
    package func remove() {
        let (directory, lock) = state.withLock { state in
            defer { state = State() }
            return (state.directory, state.lock)
        }
        guard let directory else { return }
        Self.remove(directory)
        unlink("\(directory).lock")
        close(lock)
    }

    /// Removes the directories of killed services. Blocks.
    package func sweep() {
        guard let parent = WorkspaceParent.find(in: root) else { return }
        sweepDownloads(of: parent)
        Self.sweep(parent, prefix: "bodies-") { Self.remove($0) }
    }

    /// Removes every directory of that prefix whose lock is free: a file beside it with the suffix `.lock`. Blocks.
    static func sweep(_ parent: String, prefix: String, _ remove: (String) -> Void) {
        for name in DirectoryNames.all(in: parent) where name.hasPrefix(prefix) && name.hasSuffix(".lock") {
            let path = "\(parent)/\(name)"
            guard let lock = try? CheckedFile.open(path, O_RDWR, .own) else { continue }
            if flock(lock, LOCK_EX | LOCK_NB) == 0 {
                remove(String(path.dropLast(5)))
                unlink(path)
            }
            close(lock)
        }
    }

    /// Seconds after which an abandoned download is removed.
    private static let keptSeconds = 7 * 86400

    private func sweepDownloads(of parent: String) {
        let directory = "\(parent)/downloads"
        guard WorkspaceParent.isPrivate(directory) else { return }
        let oldest = WallTime.now.seconds - Self.keptSeconds
        for name in DirectoryNames.all(in: directory) {
            var info = stat()
            let path = "\(directory)/\(name)"
            if lstat(path, &info) == 0, info.st_mtim.tv_sec < oldest { unlink(path) }
        }
    }

    private static func make(in parent: String) throws(HTTPFailure) -> (String, CInt) {
        while true {
            let directory = "\(parent)/bodies-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
            let lock = try PosixFile.open("create", "\(directory).lock", O_RDWR | O_CREAT | O_EXCL, .own)
            // a sweeper may have removed the lock as orphaned between the two calls: then we try again
            if flock(lock, LOCK_EX | LOCK_NB) == 0, isSame(lock, "\(directory).lock") {
                if mkdir(directory, 0o700) == 0 { return (directory, lock) }
                let failure = PosixFile.failure("create", directory)
                close(lock)
                throw failure
            }
            close(lock)
        }
    }

    /// Whether the path still names the open file.
    static func isSame(_ descriptor: CInt, _ path: String) -> Bool {
        var one = stat()
        var other = stat()
        guard fstat(descriptor, &one) == 0, lstat(path, &other) == 0 else { return false }
        return one.st_ino == other.st_ino && one.st_dev == other.st_dev
    }

    private static func remove(_ directory: String) {
        for name in DirectoryNames.all(in: directory) { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }
}
