// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP
import Synchronization

/// The thread's side of a store: the open database, and its repair.
// proof: everything but the place is used on the single thread of all jars only.
final class JarWorker: @unchecked Sendable {
    private struct Place: Sendable {
        let files: JarFiles
        let lock: StoreLock
    }

    private struct Known {
        var epoch: UInt64
        var inode: ino_t?
        var identity: String?
        var change: Int64
    }

    private let wanted: JarFiles
    /// The directory and its lock; nil while the directory cannot be made, which each use tries again.
    private let place = Mutex<Place?>(nil)
    private var database: JarDatabase?
    private var isSealed: Bool
    private let keys: HelperVault?
    private var mark: UInt64?
    private var epoch: UInt64 = 0
    /// The position up to which the last exchange read a database that it has closed.
    private var known: Known?
    /// Tells that a damaged database was set aside.
    private var asideNotice: String?
    /// The cookies were read, and cannot be written.
    private var isUnwritable = false
    /// Commits since the last checkpoint.
    private var commits = 0
    /// The database was removed or replaced, and the jar does not know yet.
    private var isReplaced = false
    /// Rows of other processes were read, and did not reach the jar because of a write that failed.
    private(set) var isBehind = false

    private static let commitsPerCheckpoint = 100
    private static let pauseMicroseconds: useconds_t = 5000

    /// Opens the store or makes a new store. Blocks; throws if the store must not be used at all.
    ///
    /// - Parameter isSealed: seal values from now on.
    init(_ files: JarFiles, isSealed: Bool, keys: HelperVault?) throws(JarFailure) {
        wanted = files
        self.isSealed = isSealed
        self.keys = keys
        do throws(JarFailure) {
            try held { (lock: StoreLock) throws(JarFailure) in try open(lock, now: CookieClock.now) }
        } catch {
            // a full or busy disk, or no directory: each use tries again
            guard error.reason == .unwritable || error.reason == .busy else { throw error }
        }
    }

    var files: JarFiles { place.withLock { $0?.files } ?? wanted }

    /// Nil while the directory cannot be made.
    var lock: StoreLock? { place.withLock { $0?.lock } }

    /// A sentence for users about the state of the jar; nil if all is well.
    var notice: String? {
        isUnwritable
            ? "\(files.database) cannot be written, as on a read-only disk: changes stay in memory" : asideNotice
    }

    /// Whether the rows have been read at least once.
    var hasRead: Bool { mark != nil }

    /// Writes rows and reads those of other processes, in a single step under the lock.
    ///
    /// - Parameter uses: of rows that only tell of a use, and are left out if another process has changed the cookie.
    func sync(_ rows: [JarRow], uses: Set<Cookie.Identity> = [], now: Int64) throws(JarFailure) -> JarNews {
        try held { (lock: StoreLock) throws(JarFailure) in
            do throws(JarFailure) {
                return try exchange(rows, uses, lock, now: now)
            } catch {
                guard error.reason == .damaged else { throw error }
                return try rebuild(rows, lock, now: now)
            }
        }
    }

    /// The cookies on disk; nil if they cannot be read.
    func identities() -> Set<Cookie.Identity>? {
        guard let database else { return nil }
        do throws(SQLiteFailure) { return try database.identities() } catch { return nil }
    }

    /// Leaves the lock to other processes for a moment.
    func pause() { usleep(Self.pauseMicroseconds) }

    func close() {
        // the last connection moves the log into the database: not while another process writes
        _ = lock?.hold { database = nil }
        database = nil
    }

    /// Seals existing and future values.
    func seal() throws(JarFailure) {
        if isSealed { return }
        isSealed = true
        do throws(JarFailure) {
            try held { (lock: StoreLock) throws(JarFailure) in try open(lock, now: CookieClock.now) }
        } catch {
            // a directory that is made later is sealed then
            if lock == nil, error.reason == .unwritable { return }
            isSealed = false
            throw error
        }
    }

    private func openDatabase(isAlone: Bool = false, isUnwritable: Bool = false) throws -> JarDatabase {
        let path = files.database
        let seals = isSealed || lock?.isSealed == true
        return try JarDatabase(path, isAlone: isAlone, isUnwritable: isUnwritable, isSealed: seals) {
            () throws(JarFailure) in
            guard let keys else { throw JarFailure(.locked, "\(path) is sealed, and this service has no key") }
            do throws(OAuthFailure) {
                let name = files.directory.split(separator: "/").last.map(String.init) ?? ""
                return CookieSeal(try keys.jarKey(), jar: name)
            } catch {
                throw JarFailure(.locked, "\(path) is sealed or to be sealed: \(error.message)")
            }
        }
    }

    // MARK: with the lock

    private func held<Value>(_ work: (StoreLock) throws(JarFailure) -> Value) throws(JarFailure) -> Value {
        let lock = try settled()
        let result = lock.hold { Result { () throws(JarFailure) in try work(lock) } }
        guard let result else {
            throw JarFailure(.busy, "another process has used \(files.directory) for seconds without a pause")
        }
        return try result.get()
    }

    /// The lock of the directory, which is made if missing.
    private func settled() throws(JarFailure) -> StoreLock {
        if let lock {
            _ = lock.renew(self.files.lock)
            if lock.isNamed(self.files.lock) { return lock }
            // removed or replaced with its directory
            database = nil
            place.withLock { $0 = nil }
            (mark, known, isReplaced) = (nil, nil, true)
        }
        let files = try wanted.prepare()
        do throws(FileFault) {
            let lock = try StoreLock(files.lock)
            place.withLock { $0 = Place(files: files, lock: lock) }
            return lock
        } catch {
            throw JarFailure(.unwritable, "\(files.lock) cannot be opened: \(error)")
        }
    }

    private func open(_ lock: StoreLock, now: Int64) throws(JarFailure) {
        isUnwritable = false
        do {
            let opened = try openDatabase(isUnwritable: lock.isReadOnly)
            if !opened.isUnwritable { try opened.clean(now: now) }
            remember(opened, lock)
            database = opened
            isUnwritable = opened.isUnwritable
        } catch let failure as SQLiteFailure where failure.isDamage {
            _ = try rebuild([], lock, now: now)
            // saved rows are not in memory yet: the next read returns them
            database?.rewind()
        } catch let failure as JarFailure {
            throw failure
        } catch {
            guard let opened = try openedForReading(after: error) else { throw self.failure(error) }
            remember(opened, lock)
            database = opened
            isUnwritable = opened.isUnwritable
        }
        epoch = lock.epoch
        goOn()
        files.clean(now: now)
    }

    /// Continues to read a database that was closed meanwhile; another database is read from the beginning.
    private func goOn() {
        defer { known = nil }
        guard let known, known.epoch == epoch, let database else { return mark = nil }
        let isSame = known.inode == inode && (known.identity == nil || known.identity == database.identity)
        if isSame { database.rewind(to: known.change) } else { (mark, isReplaced) = (nil, true) }
    }

    private var inode: ino_t? {
        var info = stat()
        return lstat(files.database, &info) == 0 ? info.st_ino : nil
    }

    /// The database on a disk that has no room for the index of the log, or that takes no change: its cookies can be read
    /// all the same. Nil if not.
    private func openedForReading(after error: any Error) throws(JarFailure) -> JarDatabase? {
        guard let failure = error as? SQLiteFailure, failure.isFull || failure.isUnwritable else { return nil }
        do {
            return try openDatabase(isAlone: failure.isFull, isUnwritable: failure.isUnwritable)
        } catch let failure as JarFailure {
            throw failure
        } catch {
            return nil
        }
    }

    /// A sealed jar stays sealed, whatever becomes of its database.
    private func remember(_ opened: JarDatabase, _ lock: StoreLock) {
        guard opened.isSealed else { return }
        isSealed = true
        lock.markSealed()
    }

    private func exchange(
        _ given: [JarRow], _ uses: Set<Cookie.Identity>, _ lock: StoreLock, now: Int64
    ) throws(JarFailure) -> JarNews {
        if epoch == lock.epoch, database?.hasMoved == true {
            database = nil
            isReplaced = true
        }
        // an unwritable database is open for a single exchange
        if database?.isUnwritable != false || epoch != lock.epoch { try open(lock, now: now) }
        guard let database else { throw JarFailure(.unwritable, "\(files.database) is not open") }
        // other processes have their turn
        defer { if database.isAlone || database.isUnwritable { leave(database) } }
        let before = (mark: mark, change: database.lastChange)
        var news = JarNews(mark: lock.changes, isFirst: mark == nil, identity: database.identity)
        var rows = given
        do throws(SQLiteFailure) {
            if mark != news.mark { try database.read(into: &news.rows) }
            (mark, isBehind) = (news.mark, false)
            news.isReplaced = isReplaced
            if !uses.isEmpty {
                let changed = Set(news.rows.map(\.identity))
                rows.removeAll { uses.contains($0.identity) && (isReplaced || changed.contains($0.identity)) }
            }
            guard !rows.isEmpty else {
                isReplaced = false
                return news
            }
            let own = Set(rows.map(\.identity))
            news.rows.removeAll { own.contains($0.identity) }
            try write(rows, to: database, now: now)
        } catch {
            // these rows do not reach the jar: the next exchange reads them again
            database.rewind(to: before.change)
            (mark, isBehind) = (before.mark, !news.rows.isEmpty)
            throw failure(error)
        }
        if isReplaced { news.rows += rows }
        isReplaced = false
        lock.raiseChanges()
        news.mark = lock.changes
        mark = news.mark
        commits += 1
        if commits >= Self.commitsPerCheckpoint {
            database.checkpoint()
            commits = 0
        }
        return news
    }

    private func leave(_ database: JarDatabase) {
        known = Known(epoch: epoch, inode: inode, identity: database.identity, change: database.lastChange)
        self.database = nil
    }

    /// Writes rows. On a full disk the log is moved into the database, which frees room, and the rows are written again.
    private func write(_ rows: [JarRow], to database: JarDatabase, now: Int64) throws(SQLiteFailure) {
        do throws(SQLiteFailure) {
            try database.write(rows, now: now)
        } catch {
            guard error.isFull else { throw error }
            database.checkpoint()
            try database.write(rows, now: now)
        }
    }

    /// Reads the intact rows of a damaged database, sets the database aside, and makes a new database.
    private func rebuild(_ rows: [JarRow], _ lock: StoreLock, now: Int64) throws(JarFailure) -> JarNews {
        guard !lock.isReadOnly else {
            throw JarFailure(.unwritable, "\(files.database) is damaged, and cannot be repaired: its disk is read-only")
        }
        var salvaged: [JarRow] = []
        database = nil
        do {
            salvaged = try openDatabase().salvage()
        } catch {
            // not even the first page is intact
        }
        files.putAside(now: now)
        isReplaced = false
        asideNotice = "\(files.database) was damaged: it was put aside, and what could be read of it is in a new one"
        lock.raiseEpoch()
        epoch = lock.epoch
        let identity: String?
        do {
            let fresh = try openDatabase()
            remember(fresh, lock)
            identity = fresh.identity
            let newer = Set(rows.map(\.identity))
            try fresh.write(salvaged.filter { !newer.contains($0.identity) } + rows, now: now)
            database = fresh
        } catch {
            throw failure(error)
        }
        lock.raiseChanges()
        mark = lock.changes
        return JarNews(rows: salvaged, mark: lock.changes, isFirst: true, isRebuilt: true, identity: identity)
    }

    private func failure(_ error: any Error) -> JarFailure {
        if let failure = error as? JarFailure { return failure }
        guard let failure = error as? SQLiteFailure else {
            return JarFailure(.unwritable, "\(files.database) cannot be used: \(error)")
        }
        // the next exchange makes the directory anew
        if failure.isRemoval || database?.hasMoved == true || lock?.isNamed(files.lock) == false {
            return JarFailure(.busy, "\(files.database) was removed while it was used: \(failure.text)")
        }
        if failure.isDamage { return JarFailure(.damaged, "\(files.database) is damaged: \(failure.text)") }
        if failure.isBusy { return JarFailure(.busy, "\(files.database) is used by another program: \(failure.text)") }
        let use = failure.isOpening ? "read or written" : "written"
        let room = failure.isFull ? "there is no room for \(files.database)" : "\(files.database) cannot be \(use)"
        return JarFailure(.unwritable, "\(room): \(failure.text)")
    }
}
