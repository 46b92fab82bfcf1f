// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import OutriderHTTP
import OutriderTransport
import Synchronization

/// The cache in front of a store on disk.
protocol DiskCacheOwner: AnyObject, Sendable {
    /// Entries that were used from memory since the last call.
    func takeUsed() -> [CacheEntryID]
    /// So many bytes of bodies do not wait for the disk any more.
    func written(_ bytes: Int)
    /// The entry is not stored after all.
    func lost(_ entry: CachedEntry)
    /// An ended process has left the removal: responses under way are not stored if the removal selects them.
    func adopted(_ change: CacheChange)
}

/// The store of a named cache on disk. A thread reads for all waiting lookups, and another thread writes in batches.
///
/// Responsible for: queues and their bounds, lookups, the treatment of damage and full disks.
/// Not responsible for: batches and eviction (`DiskCacheWriting`, `DiskCacheEviction`); statements (`CacheDatabase`); files
/// (`CacheFiles`).
package final class DiskCache: Sendable {
    /// The threads of all named caches; a cache occupies at most a single thread of each kind.
    private static let reading = BlockingThreads(16, name: "cache reads")
    private static let writing = BlockingThreads(16, name: "cache writes")

    /// A lookup of the response that a request selects.
    struct Lookup {
        var key: CacheDigest
        var principal: CacheDigest
        /// Whether the request selects entries of that variant, with these names in Vary.
        var selects: @Sendable (CacheDigest, [String]) -> Bool
        var completion: @Sendable (CacheFinding) -> Void
    }

    struct State {
        var lookups: [Lookup] = []
        var isReading = false
        var changes = ChangeQueue()
        var isWriting = false
        /// A later attempt to write kept removals is scheduled.
        var isRetrying = false
        /// Bytes of bodies in `changes`.
        var bytes = 0
        /// Entries that are not on the disk yet.
        var pending = PendingEntries()
        /// Entries that were used and whose use is not written yet.
        var used: Set<CacheEntryID> = []
        var waiting: [@Sendable () -> Void] = []
        var limits: CacheLimits
        /// Nothing is stored before this time, in seconds of `Clocks.awake`.
        var retryAt = 0.0
        var problem: String?
        /// The directory was removed or replaced: see `checkPlace`.
        var isLost = false
        /// The counter of the store at which the entries in memory were read.
        var mark: UInt64 = 0
        var evicted = 0
        /// The service ends: stored entries that are not written by then, in seconds of `Clocks.awake`, are dropped.
        var closesBy: Double?
        /// Since when another process holds the lock, in seconds of `Clocks.awake`.
        var busySince: Double?
        var lastUse = 0.0
        /// The epoch of the database in which the reader has found damage.
        var damagedEpoch: UInt64?
        var isWatched = false

        /// Whether nothing is stored at present.
        var isPaused: Bool { Clocks.awake < retryAt }
    }

    /// Limit of the bytes of bodies that wait to be written; beyond, nothing is stored.
    static let mostWaiting = 64 << 20
    /// Limit of waiting changes; beyond, nothing is stored, and all removals become a single removal of every entry.
    static let mostQueued = 10_000
    private static let pauseSeconds = 60.0

    let secretBytes: [UInt8]
    let files: CacheFiles
    let lock: StoreLock
    let state: Mutex<State>
    let reader: Worker
    let writer: Worker
    let reads = StoreQueue(DiskCache.reading)
    let writes = StoreQueue(DiskCache.writing)
    /// Unused connections are closed after so many seconds.
    let idleSeconds: Double
    /// When another process holds the lock for so many seconds, waiting entries are dropped.
    let busySeconds: Double
    /// Distinguishes the removals of this store from other processes' removals.
    let origin = Int64.random(in: 1 ... .max)
    let ownRemovals = RemovalCount()
    /// The count of leftovers that were read.
    let adopted = Mutex<UInt64?>(nil)
    private let owner = Mutex(WeakOwner())

    private struct WeakOwner {
        weak var owner: (any DiskCacheOwner)?
    }

    /// One connection, and the epoch of its opening.
    // proof: used in the pieces of a single `StoreQueue` only.
    final class Worker: @unchecked Sendable {
        var database: CacheDatabase?
        var epoch: UInt64 = 0
        /// Bodies whose checksums were right, with the time of the last change of the file.
        var verified: [String: Int64] = [:]
        /// Files of bodies whose rows are not written yet.
        var bodies: [ObjectIdentifier: BodyFile] = [:]
        var isCleaned = false
        /// The totals were compared with the rows.
        var isCounted = false
        /// Bytes that were written since the last checkpoint.
        var written = 0
        /// Entries were removed: pages of the file may be free.
        var hasFreed = false
        /// Entries were stored or limits changed: the store may be too large.
        var mayExceed = true
        /// The hour in which the use of entries in memory was written last.
        var usedHour: Int64 = 0
    }

    /// Prepares the directory. Blocks for a moment; throws if the directory cannot be used.
    package init(
        _ name: String, in root: String?, _ limits: CacheLimits, idleSeconds: Double = 60, busySeconds: Double = 2
    ) throws(CacheStoreFailure) {
        guard let root = root ?? CacheFiles.usualRoot else {
            throw CacheStoreFailure(message: "the system lists no home for this user; name a directory with --caches")
        }
        (files, secretBytes) = try CacheFiles.prepare("\(root)/\(name)")
        do {
            lock = try StoreLock(files.lock)
        } catch {
            throw CacheStoreFailure(message: "\(files.lock) cannot be opened: \(error)")
        }
        var state = State(limits: limits)
        state.mark = lock.news
        if lock.isReadOnly { state.problem = Self.unwritable(files) }
        self.state = Mutex(state)
        (reader, writer) = (Worker(), Worker())
        (self.idleSeconds, self.busySeconds) = (idleSeconds, busySeconds)
    }

    /// Whether the directory of a cache exists. Blocks.
    package static func exists(_ name: String, in root: String?) -> Bool {
        guard let root = root ?? CacheFiles.usualRoot else { return false }
        return DirectoryNames.all(in: root).contains(name)
    }

    package var secret: CacheSecret { CacheSecret(secretBytes) }
    package var directory: String { files.directory }
    /// The reason why nothing is stored at present; nil if entries are stored.
    package var problem: String? { state.withLock { $0.problem } }
    package var evicted: Int { state.withLock { $0.evicted } }
    /// Whether the directory was removed or replaced during the use: nothing is read or stored any more, and a store
    /// that is opened now takes the place of this store.
    package var isLost: Bool { state.withLock { $0.isLost } }
    var removals: RemovalCount.Mark { ownRemovals.mark(lock) }

    func attach(_ owner: any DiskCacheOwner) { self.owner.withLock { $0.owner = owner } }

    var attached: (any DiskCacheOwner)? { owner.withLock { $0.owner } }

    // MARK: failures

    /// Runs work on the database, which is opened if need be; nil if that failed, which is remembered.
    func attempt<Value>(
        _ worker: Worker, isReadOnly: Bool, _ work: (CacheDatabase) throws -> Value
    ) -> Value? {
        do {
            let epoch = lock.epoch
            if worker.epoch != epoch { worker.database = nil }
            if worker.database?.database.hasMoved == true {
                worker.database = nil
                checkPlace()
            }
            if isLost { return nil }
            worker.epoch = epoch
            if !isReadOnly, lock.isReadOnly {
                pause(Self.unwritable(files))
                return nil
            }
            func open() throws -> CacheDatabase {
                let database = try worker.database ?? opened(isReadOnly: isReadOnly)
                worker.database = database
                watch()
                return database
            }
            return try isReadOnly ? read(Self.patience, work, open) : work(open())
        } catch {
            failed(error, worker, isReadOnly: isReadOnly)
            return nil
        }
    }

    /// Reads a database, also one in a directory that cannot be written; nil if another process keeps the lock for so many
    /// seconds.
    func read<Value>(
        _ patience: Double, _ work: (CacheDatabase) throws -> Value, _ open: () throws -> CacheDatabase
    ) throws -> Value? {
        if lock.isReadOnly { return try still(patience, work) }
        do {
            return try work(open())
        } catch let failure as SQLiteFailure
            where failure.isUnwritable && !failure.isUnfinished && files.hasDatabase
        {
            return try still(patience, work)
        }
    }

    /// Reads a database that cannot be written, while no other process may change it; nil if another process keeps the
    /// lock for so many seconds.
    private func still<Value>(_ patience: Double, _ work: (CacheDatabase) throws -> Value) throws -> Value? {
        // not the lock of the writer, which would be given up with this lock
        guard let own = try? StoreLock(files.lock) else { return nil }
        return try own.hold(patience) { Result { try work(opened(isReadOnly: true, isUnwritable: true)) } }?.get()
    }

    /// Stores again once the disk allows that. In the pieces of the writer only, without the lock.
    func renew() {
        checkPlace()
        guard lock.renew(files.lock) else { return }
        let unwritable = Self.unwritable(files)
        state.withLock { if $0.problem == unwritable { ($0.problem, $0.retryAt) = (nil, 0) } }
    }

    /// Notices that the path of the lock names another file, or none. Another process may have made the directory
    /// anew, with another secret: this store must not write there.
    func checkPlace() {
        guard !lock.isNamed(files.lock) else { return }
        state.withLock { state in
            state.isLost = true
            state.problem = "\(files.directory) was removed or replaced: the next request begins the cache anew"
        }
    }

    private static func unwritable(_ files: CacheFiles) -> String {
        "\(files.directory) cannot be written, as on a read-only disk: what it has is read, and nothing is stored"
    }

    func opened(isReadOnly: Bool, isUnwritable: Bool = false) throws -> CacheDatabase {
        do {
            return try CacheDatabase(files.database, isReadOnly: isReadOnly, isUnwritable: isUnwritable)
        } catch  where isReadOnly && !isUnwritable && CacheDatabase.mustBeWritten(error) {
            // once: after an update of Outrider, or after a kill while the database was made
            let path = files.database
            // a failure is remembered for a while: lookups must not wait for each attempt
            guard !isPaused else { throw error }
            // not the lock of the writer, which would be given up with this lock
            guard let own = try? StoreLock(files.lock) else { throw error }
            let update = own.hold(Self.patience) { Result { _ = try CacheDatabase(path, isReadOnly: false) } }
            if case .failure(let failure)? = update {
                let reason = (failure as? SQLiteFailure)?.text ?? "\(failure)"
                let state = error is CacheDatabase.Outdated ? "has the tables of an earlier version" : "is not finished"
                pause("\(path) \(state) and cannot be updated: \(reason)")
                throw failure
            }
            return try CacheDatabase(path, isReadOnly: true)
        }
    }

    private func failed(_ error: any Error, _ worker: Worker, isReadOnly: Bool) {
        worker.database = nil
        if let failure = error as? CacheStoreFailure {
            // a store that is not there yet is no problem of a reader
            if !isReadOnly { pause(failure.message) }
            return
        }
        guard let failure = error as? SQLiteFailure else { return }
        if failure.isDamage {
            if isReadOnly { return suspect(worker.epoch) }
            // the lock is held; another process may have begun a new database meanwhile
            if worker.epoch == lock.epoch { putAside() }
        } else if !isReadOnly {
            // as with `rm -r` of the directory: the next batch makes the database anew, or the next request the cache
            if failure.isRemoval { return checkPlace() }
            let unwritable = "\(files.directory) cannot be written: no room, or a failing disk (\(failure.text))"
            pause(
                failure.isFull
                    ? "there is no room in \(files.directory)" : failure.isWriting ? unwritable : failure.text)
        }
    }

    /// The reader has found damage: the writer puts the database of that epoch aside.
    func suspect(_ epoch: UInt64) {
        state.withLock { $0.damagedEpoch = epoch }
        enqueue(.wake)
    }

    /// With the lock only.
    private func putAside() {
        if lock.isReadOnly { return }
        files.putAside(now: CacheClock.now)
        lock.raiseEpoch()
        state.withLock { $0.problem = "\(files.database) was damaged: it was put aside, and the cache begins anew" }
    }

    /// Puts the database aside in which the reader has found damage, unless another process has done so. With the lock only.
    func putAsideIfSuspected() {
        let epoch = state.withLock { state in
            defer { state.damagedEpoch = nil }
            return state.damagedEpoch
        }
        if let epoch, epoch == lock.epoch { putAside() }
    }

    private var isPaused: Bool { state.withLock { $0.isPaused } }

    /// Requests continue, and store nothing for a while.
    func pause(_ problem: String) {
        // a directory that was removed during the write is no failing disk
        checkPlace()
        state.withLock { state in
            if state.isLost { return }
            state.problem = problem
            state.retryAt = Clocks.awake + Self.pauseSeconds
        }
    }
}
