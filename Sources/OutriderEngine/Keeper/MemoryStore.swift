// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import Synchronization

/// Where credentials are that live as long as this service: files like those on disk, in a directory of its own, sealed with
/// a key that only its memory has. Made when first needed; what a killed service leaves cannot be opened, and the next one
/// removes it.
final class MemoryStore: Sendable {
    private struct State {
        /// Of the directory, if it is ours alone.
        var ownParent: String?
        var place: CredentialPlace?
        var lock: CInt = -1
    }

    private let parent: String
    private let state = Mutex(State())

    init() {
        parent = StoreFile.runtime("outrider-memory")
    }

    /// Blocks the first time.
    func place() throws(OAuthFailure) -> CredentialPlace {
        try state.withLock { state throws(OAuthFailure) in
            if let place = state.place { return place }
            let parent = try makeParent()
            state.ownParent = parent == self.parent ? nil : parent
            sweep(parent)
            let (directory, lock) = try claim(in: parent)
            state.lock = lock
            try StoreFile.makeDirectory(directory)
            let key = CredentialFiles.hex((0..<KeyRing.keyBytes).map { _ in UInt8.random(in: 0...255) })
            let place = CredentialPlace(directory: directory, key: .raw(Secret(key)))
            state.place = place
            return place
        }
    }

    /// That of all services of the user; or where another user has taken its name in /tmp, one of our own.
    private func makeParent() throws(OAuthFailure) -> String {
        do throws(OAuthFailure) {
            try StoreFile.makeDirectory(parent)
            return parent
        } catch {
            guard parent.hasPrefix("/tmp/"), !StoreFile.isOurs(parent) else { throw error }
            var template = Array("\(parent)-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw StoreFile.failure("create", "\(parent)-XXXXXX") }
            return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }

    /// A name of our own, and the lock that says so.
    private func claim(in parent: String) throws(OAuthFailure) -> (directory: String, lock: CInt) {
        while true {
            let directory = "\(parent)/\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
            let path = "\(directory).lock"
            let lock = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
            if lock < 0 { throw StoreFile.failure("create", path) }
            // a sweeper may have taken it for an orphan between the two calls: then it is gone, and we try again
            if flock(lock, LOCK_EX | LOCK_NB) == 0, Workspace.isSame(lock, path) { return (directory, lock) }
            close(lock)
        }
    }

    /// Removes it. Blocks.
    func remove() {
        let state = state.withLock { state in
            defer { state = State() }
            return state
        }
        guard let place = state.place else { return }
        Self.remove(place.directory)
        unlink("\(place.directory).lock")
        close(state.lock)
        if let parent = state.ownParent { rmdir(parent) }
    }

    /// What killed services have left; and what a keeper has written that outlived its service, for which no process holds a
    /// lock any more: the lock is made before its directory, and goes after it.
    private func sweep(_ parent: String) {
        Workspace.sweep(parent, prefix: "") { Self.remove($0) }
        for name in Workspace.names(in: parent) where !name.hasSuffix(".lock") {
            let path = "\(parent)/\(name)"
            if access("\(path).lock", F_OK) != 0, errno == ENOENT { Self.remove(path) }
        }
    }

    /// A directory of directories of files.
    private static func remove(_ directory: String) {
        for name in Workspace.names(in: directory) {
            let path = "\(directory)/\(name)"
            if unlink(path) == 0 { continue }
            for file in Workspace.names(in: path) { unlink("\(path)/\(file)") }
            rmdir(path)
        }
        rmdir(directory)
    }
}
