// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import Synchronization

/// The file `store.lock` of a store that several processes use: a lock for writing (flock(2)), and counters.
///
/// Each commit raises `changes`, so that other processes know that their copy in memory is old; setting a database
/// aside raises `epoch`, so that they open the new database. Counters are read without the lock.
final class StoreLock: Sendable {
    private let file: CInt
    /// The file can be locked and read, but its disk or its permissions allow no change: the counters stay as they are.
    var isReadOnly: Bool { isFixed.load(ordering: .relaxed) }
    private let isFixed: Atomic<Bool>

    /// Longest wait for another process, in seconds.
    static let patience = 2.0

    /// - Parameter path: of a file that is created if missing and never removed.
    init(_ path: String) throws(FileFault) {
        do throws(FileFault) {
            file = try CheckedFile.open(path, O_RDWR | O_CREAT, .own)
            isFixed = Atomic(false)
        } catch {
            guard [.system(EROFS), .system(EACCES)].contains(error),
                let found = try? CheckedFile.open(path, O_RDONLY, .own)
            else { throw error }
            file = found
            isFixed = Atomic(true)
        }
    }

    /// Takes a file for writing that could only be read, if that is possible by now; whether it was taken. Not with the
    /// lock, which would be given up.
    func renew(_ path: String) -> Bool {
        guard isReadOnly, isNamed(path), let fresh = try? CheckedFile.open(path, O_RDWR, .own) else { return false }
        defer { close(fresh) }
        // the same number: a reader of counters notices nothing
        guard dup2(fresh, file) >= 0 else { return false }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        isFixed.store(false, ordering: .relaxed)
        return true
    }

    deinit { close(file) }

    var changes: UInt64 { counter(at: 0) }
    var epoch: UInt64 { counter(at: 8) }
    /// Of a jar: counts its `cookies.clear`.
    var generation: UInt64 { counter(at: 16) }
    /// Of a cache: counts transactions that remove entries on behalf of a client or a server.
    var removals: UInt64 { counter(at: 24) }
    /// Of a cache: counts files of removals that ended processes have left.
    var leftovers: UInt64 { counter(at: 32) }
    /// Of a cache: `changes` and `leftovers` together, from a single read.
    var news: UInt64 {
        var values: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)
        // what a short file lacks stays 0
        _ = pread(file, &values, 40, 0)
        return values.0 &+ values.4
    }

    /// Of a jar: whether its values are sealed, which a damaged database does not tell. In the place of `removals`.
    var isSealed: Bool { counter(at: 24) > 0 }

    /// With the lock only.
    func markSealed() { if !isSealed { raise(at: 24) } }
    func raiseChanges() { raise(at: 0) }
    func raiseEpoch() { raise(at: 8) }
    /// Whether the file was written.
    func raiseRemovals() -> Bool { raise(at: 24) }
    /// Also without the lock: two calls at once may count as a single call.
    func raiseGeneration() -> Bool { raise(at: 16) }
    func raiseLeftovers() { raise(at: 32) }

    /// Whether the file was removed, as with its directory.
    var isRemoved: Bool {
        var info = stat()
        return fstat(file, &info) == 0 && info.st_nlink == 0
    }

    /// Whether the path still names this file; false if its directory was removed or replaced. True if that is not
    /// known.
    func isNamed(_ path: String) -> Bool {
        var (own, named) = (stat(), stat())
        guard fstat(file, &own) == 0 else { return true }
        guard lstat(path, &named) == 0 else { return errno != ENOENT && errno != ENOTDIR }
        return own.st_ino == named.st_ino && own.st_dev == named.st_dev
    }

    /// Runs work with the lock; nil if another process keeps the lock for so many seconds. Blocks.
    func hold<Value>(_ patience: Double = StoreLock.patience, _ work: () -> Value) -> Value? {
        let end = Clocks.awake + patience
        var wait: useconds_t = 500
        while flock(file, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR, Clocks.awake < end else { return nil }
            usleep(wait)
            wait = min(wait * 2, 5000)
        }
        defer { flock(file, LOCK_UN) }
        return work()
    }

    private func counter(at offset: off_t) -> UInt64 {
        var value: UInt64 = 0
        let count = pread(file, &value, 8, offset)
        return count == 8 ? value : 0
    }

    @discardableResult
    private func raise(at offset: off_t) -> Bool {
        var value = counter(at: offset) &+ 1
        // a full disk: other processes notice with the next change
        return pwrite(file, &value, 8, offset) == 8
    }
}
