// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
package import OutriderHTTP
import OutriderTransport
import Synchronization

/// The store of one named cache on disk: a thread reads for all waiting lookups at once, another one writes in batches.
///
/// Responsible for: queues and their bounds, eviction, what to do about damage and full disks.
/// Not responsible for: statements (`CacheDatabase`); files (`CacheFiles`).
package final class DiskCache: Sendable {
    /// All named caches share two threads, which end when there is nothing to do.
    static let reading = BlockingThreads(1)
    static let writing = BlockingThreads(1)

    struct Lookup {
        var key: CacheDigest
        var principal: CacheDigest
        var completion: @Sendable ([CachedEntry]) -> Void
    }

    struct State {
        var lookups: [Lookup] = []
        var isReading = false
        var changes: [Change] = []
        /// Removals that could not be written: they come before the next changes.
        var kept: [Change] = []
        /// Changes that are being written.
        var underway: [Change] = []
        var isWriting = false
        /// Bytes of bodies in `changes`.
        var bytes = 0
        /// Entries that are not on the disk yet.
        var pending: [CacheEntryID: CachedEntry] = [:]
        var waiting: [@Sendable () -> Void] = []
        var limits: CacheLimits
        /// Nothing is stored before this time, in milliseconds since 1970.
        var retryAt: Int64 = 0
        var problem: String?
        /// The counter of the store at which the entries in memory were read.
        var mark: UInt64 = 0
        var evicted = 0
        /// The service ends: what is not written by then, in seconds of `Clocks.awake`, is given up.
        var closesBy: Double?
    }

    /// Bytes of bodies that wait to be written; with more, storing ends for a while.
    private static let mostWaiting = 64 << 20
    /// Changes and bytes of one transaction.
    static let mostChanges = 256
    static let mostBatchBytes = 4 << 20
    /// Changes that wait; beyond, nothing is stored, and removals become one of everything.
    static let mostQueued = 10_000
    private static let pauseSeconds: Int64 = 60
    /// Other processes get the lock between two batches.
    static let turnMicroseconds: useconds_t = 5000
    /// Bytes that are written between two checkpoints.
    static let checkpointBytes = 1 << 20
    /// Storing ends when less than this is free, or less than a twentieth of a small disk.
    static let leastFree: UInt64 = 1 << 30

    let secretBytes: [UInt8]
    let files: CacheFiles
    let lock: StoreLock
    let state: Mutex<State>
    let reader: Worker
    let writer: Worker

    /// One connection, and when it was opened.
    // proof: used on one thread only.
    final class Worker: @unchecked Sendable {
        var database: CacheDatabase?
        var epoch: UInt64 = 0
        var isCleaned = false
        /// Bytes that were written since the last checkpoint.
        var written = 0
        /// Entries were removed: pages of the file may be free.
        var hasFreed = false
    }

    /// Prepares the directory. Blocks for a moment; throws if the directory cannot be used.
    package init(_ name: String, in root: String?, _ limits: CacheLimits) throws(CacheStoreFailure) {
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
        state.mark = lock.changes
        self.state = Mutex(state)
        (reader, writer) = (Worker(), Worker())
    }

    package var secret: CacheSecret { CacheSecret(secretBytes) }
    package var directory: String { files.directory }
    /// Why nothing is stored at present; nil if entries are.
    package var problem: String? { state.withLock { $0.problem } }
    package var evicted: Int { state.withLock { $0.evicted } }

    // MARK: reading

    package func takeChange() -> Bool {
        let now = lock.changes
        return state.withLock { state in
            defer { state.mark = now }
            return state.mark != now
        }
    }

    package func find(
        _ key: CacheDigest, _ principal: CacheDigest, _ completion: @escaping @Sendable ([CachedEntry]) -> Void
    ) {
        let begins = state.withLock { state in
            state.lookups.append(Lookup(key: key, principal: principal, completion: completion))
            defer { state.isReading = true }
            return !state.isReading
        }
        if begins { Self.reading.run(for: .service, isOwed: true) { self.lookUp() } }
    }

    private func lookUp() {
        while true {
            let lookups = state.withLock { state in
                defer { state.lookups = [] }
                if state.lookups.isEmpty { state.isReading = false }
                return state.lookups
            }
            if lookups.isEmpty { return }
            for lookup in lookups { lookup.completion(entries(lookup)) }
        }
    }

    private func entries(_ lookup: Lookup) -> [CachedEntry] {
        let (waiting, removals) = state.withLock { state in
            let waiting = state.pending.values.filter { $0.id.key == lookup.key && $0.id.principal == lookup.principal }
            return (Array(waiting), (state.kept + state.underway + state.changes).filter(\.isRemoval))
        }
        let rows = attempt(reader, isReadOnly: true) { try $0.find(lookup.key, lookup.principal) } ?? []
        let hour = CacheClock.now / 3_600_000
        var found: [CachedEntry] = []
        for row in rows {
            guard let entry = row.entry, isWhole(entry) else {
                // a damaged row is removed, and is a miss
                enqueue(.removeWhere(.number(row.number)))
                continue
            }
            if row.usedHour != hour { enqueue(.use(row.number)) }
            if waiting.contains(where: { $0.id == entry.id }) || removals.contains(where: { $0.removes(entry) }) {
                continue
            }
            found.append(entry)
        }
        return waiting + found
    }

    /// Whether a body that is a file is there.
    private func isWhole(_ entry: CachedEntry) -> Bool {
        guard case .file(let name, let size) = entry.body else { return true }
        return files.holds(name, size: size)
    }

    /// Reads a part of a body on another thread.
    ///
    /// - Parameter open: the body, if it is open already.
    func read(
        _ name: String, size: Int, _ range: Range<Int>, from open: CacheFiles.OpenBody? = nil,
        _ completion: @escaping @Sendable (Result<(bytes: [UInt8], body: CacheFiles.OpenBody), HTTPFailure>) -> Void
    ) {
        let files = files
        BlockingThreads.files.run(for: .service, isOwed: true) {
            guard let body = open ?? files.opened(name, size: size), let bytes = body.read(range) else {
                let failure = HTTPFailure(
                    .connectionLost, "the stored body is gone; send the request again", phase: .response,
                    retryable: true)
                return completion(.failure(failure))
            }
            completion(.success((bytes, body)))
        }
    }

    // MARK: changing

    package func put(_ entry: CachedEntry) {
        let size = entry.body.size
        let isTaken = state.withLock { state in
            guard CacheClock.now >= state.retryAt, state.bytes &+ size <= Self.mostWaiting,
                state.changes.count < Self.mostQueued
            else { return false }
            state.bytes &+= size
            state.pending[entry.id] = entry
            return true
        }
        if isTaken { enqueue(.put(entry)) }
    }

    package func remove(_ id: CacheEntryID) {
        state.withLock { _ = $0.pending.removeValue(forKey: id) }
        enqueue(.remove(id))
    }

    package func remove(key: CacheDigest) {
        state.withLock { state in state.pending = state.pending.filter { $0.key.key != key } }
        enqueue(.removeKey(key))
    }

    /// Removes what the purge names.
    package func remove(_ purge: CachePurge) {
        state.withLock { state in state.pending = state.pending.filter { !purge.matches($0.value) } }
        enqueue(.removeWhere(purge))
    }

    package func change(_ limits: CacheLimits) {
        state.withLock { $0.limits = limits }
        enqueue(.use(0))
    }

    private func enqueue(_ change: Change) {
        let begins = state.withLock { state in
            if state.changes.count < 2 * Self.mostQueued {
                state.changes.append(change)
            } else if change.isRemoval {
                // a disk that takes nothing: at the end, everything goes
                state.pending = [:]
                for case .put(let entry) in state.changes { state.bytes &-= entry.body.size }
                state.changes = [.removeWhere(.all)]
            }
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { Self.writing.run(for: .service, isOwed: true) { self.write() } }
    }

    // MARK: what goes wrong

    /// Runs work on the database, which is opened if need be; nil if that failed, which is remembered.
    func attempt<Value>(
        _ worker: Worker, isReadOnly: Bool, _ work: (CacheDatabase) throws -> Value
    ) -> Value? {
        do {
            let epoch = lock.epoch
            if worker.epoch != epoch { worker.database = nil }
            worker.epoch = epoch
            let database = try worker.database ?? CacheDatabase(files.database, isReadOnly: isReadOnly)
            worker.database = database
            return try work(database)
        } catch {
            failed(error, worker, isReadOnly: isReadOnly)
            return nil
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
            if isReadOnly { return enqueue(.use(0)) }
            files.putAside(now: CacheClock.now)
            lock.raiseEpoch()
            state.withLock { $0.problem = "\(files.database) was damaged: it was put aside, and the cache begins anew" }
        } else if !isReadOnly {
            let unwritable = "\(files.directory) cannot be written: no room, or a failing disk (\(failure.text))"
            pause(
                failure.isFull
                    ? "there is no room in \(files.directory)" : failure.isWriting ? unwritable : failure.text)
        }
    }

    /// Requests go on, and store nothing for a while.
    func pause(_ problem: String) {
        state.withLock { state in
            state.problem = problem
            state.retryAt = CacheClock.now + Self.pauseSeconds * 1000
        }
    }
}
