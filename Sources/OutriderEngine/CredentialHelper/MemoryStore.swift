// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderHTTP
import Synchronization

/// The store of credentials that live as long as this service: files like those on disk, in a directory of its own,
/// sealed with a key that exists only in its memory. Created on first use; files left by a killed service cannot be
/// opened, and the next service removes them.
final class MemoryStore: Sendable {
    private struct State {
        /// The parent directory if only this service uses it.
        var ownParent: String?
        var place: CredentialPlace?
        var lock: CInt = -1
    }

    private let parent: String
    private let state = Mutex(State())

    init() {
        parent = StoreFile.runtime("outrider-memory")
    }

    /// Blocks on first use.
    func place() throws(OAuthFailure) -> CredentialPlace {
        try state.withLock { state throws(OAuthFailure) in
            if let place = state.place { return place }
            let parent = try makeParent()
            state.ownParent = parent == self.parent ? nil : parent
            sweep(parent)
            let (directory, lock) = try claim(in: parent)
            state.lock = lock
            try StoreFile.makeDirectory(directory)
            let key = HexText.encode((0..<KeyRing.keyBytes).map { _ in UInt8.random(in: 0...255) })
            let place = CredentialPlace(directory: directory, key: .raw(Secret(key)))
            state.place = place
            return place
        }
    }

    /// The parent directory of all services of the user; or a directory of our own if another user has taken its name
    /// in /tmp.
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

    /// Creates a unique name and its lock.
    private func claim(in parent: String) throws(OAuthFailure) -> (directory: String, lock: CInt) {
        while true {
            let directory = "\(parent)/\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
            let path = "\(directory).lock"
            let lock = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
            if lock < 0 { throw StoreFile.failure("create", path) }
            // a sweeper may have removed the lock as orphaned between the two calls: then we try again
            if flock(lock, LOCK_EX | LOCK_NB) == 0, Workspace.isSame(lock, path) { return (directory, lock) }
            close(lock)
        }
    }

    /// Removes the store. Blocks.
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

    /// Removes the directories of killed services, and of helpers that outlived their service and have no lock any
    /// more: the lock is made before its directory, and removed after it.
    private func sweep(_ parent: String) {
        Workspace.sweep(parent, prefix: "") { Self.remove($0) }
        for name in DirectoryNames.all(in: parent) where !name.hasSuffix(".lock") {
            let path = "\(parent)/\(name)"
            if access("\(path).lock", F_OK) != 0, errno == ENOENT { Self.remove(path) }
        }
    }

    /// Removes a directory of directories of files.
    private static func remove(_ directory: String) {
        for name in DirectoryNames.all(in: directory) {
            let path = "\(directory)/\(name)"
            if unlink(path) == 0 { continue }
            for file in DirectoryNames.all(in: path) { unlink("\(path)/\(file)") }
            rmdir(path)
        }
        rmdir(directory)
    }
}
