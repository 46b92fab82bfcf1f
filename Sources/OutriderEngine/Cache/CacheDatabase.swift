// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderFiles
import OutriderHTTP

/// The database of one named cache: a row per entry. Blocks; for one thread at a time.
final class CacheDatabase {
    /// "OutH", so that other programs' databases are recognized.
    private static let applicationID: Int64 = 0x4F75_7448
    private static let version: Int64 = 1

    private let database: SQLiteDatabase
    private let select: SQLiteStatement
    private let isReadOnly: Bool

    /// Opens the database, or makes a new one; that under the lock of the store. Throws SQLiteFailure or CacheStoreFailure.
    init(_ path: String, isReadOnly: Bool) throws {
        self.isReadOnly = isReadOnly
        if !isReadOnly, access(path, F_OK) != 0 {
            do throws(FileFault) {
                // SQLite itself would let the umask decide who may read it
                close(try CheckedFile.open(path, O_RDWR | O_CREAT | O_EXCL, .own))
            } catch {
                throw CacheStoreFailure(message: "\(path) cannot be made: \(error)")
            }
        }
        database = try SQLiteDatabase(path, isReadOnly: isReadOnly)
        let isNew = try Self.inspect(database, path)
        if isReadOnly, isNew { throw CacheStoreFailure(message: "\(path) is empty") }
        for setting in Self.settings(isNew: isNew) { try database.run("PRAGMA \(setting)") }
        if isNew { try Self.create(in: database) }
        select = try database.prepare("SELECT \(Self.columns) FROM entry WHERE urlKey = ? AND principal = ?")
    }

    /// Before anything is written: whether the file is empty; a foreign or newer one is left alone.
    private static func inspect(_ database: SQLiteDatabase, _ path: String) throws -> Bool {
        let application = try database.integer("PRAGMA application_id") ?? 0
        let version = try database.integer("PRAGMA user_version") ?? 0
        if application == 0, version == 0, try database.integer("PRAGMA schema_version") == 0 { return true }
        guard application == applicationID else {
            throw CacheStoreFailure(
                message: "\(path) is a database of another program; name another cache, or move the file away")
        }
        guard version <= Self.version else {
            throw CacheStoreFailure(
                message: "\(path) was written by a later version of Outrider; use that version, or name another cache")
        }
        return false
    }

    private static func settings(isNew: Bool) -> [String] {
        // on creation only: a second process that set these again would wait for the first
        (isNew ? ["page_size = 4096", "auto_vacuum = INCREMENTAL", "journal_mode = WAL"] : []) + [
            "synchronous = NORMAL", "wal_autocheckpoint = 0", "journal_size_limit = 4194304", "cache_size = -4096",
            "mmap_size = 0", "trusted_schema = OFF", "cell_size_check = ON", "temp_store = MEMORY",
        ]
    }

    private static func create(in database: SQLiteDatabase) throws {
        try database.run("BEGIN IMMEDIATE")
        try database.run(
            """
            CREATE TABLE entry (id INTEGER PRIMARY KEY, urlKey BLOB NOT NULL, principal BLOB NOT NULL,
            variant BLOB NOT NULL, url TEXT NOT NULL, storedAt INTEGER NOT NULL, usedHour INTEGER NOT NULL,
            size INTEGER NOT NULL, head BLOB NOT NULL, body BLOB, file TEXT, bodySize INTEGER NOT NULL,
            checksum INTEGER NOT NULL)
            """)
        try database.run("CREATE UNIQUE INDEX entryKey ON entry (urlKey, principal, variant)")
        try database.run("CREATE INDEX entryUsed ON entry (usedHour, size)")
        try database.run("CREATE TABLE tag (tag TEXT, entry INTEGER, PRIMARY KEY (tag, entry)) WITHOUT ROWID")
        try database.run("CREATE INDEX tagEntry ON tag (entry)")
        try database.run("CREATE TABLE total (bytes INTEGER NOT NULL, entries INTEGER NOT NULL)")
        try database.run("INSERT INTO total VALUES (0, 0)")
        try database.run("PRAGMA application_id = \(applicationID)")
        try database.run("PRAGMA user_version = \(version)")
        try database.run("COMMIT")
    }

    // MARK: reading

    private static let columns = """
        id, urlKey, principal, variant, url, storedAt, usedHour, head, body, file, bodySize, checksum
        """

    /// An entry, with what its row says beyond it.
    struct Row {
        var number: Int64
        var usedHour: Int64
        /// Nil for a row that is damaged.
        var entry: CachedEntry?
    }

    func find(_ key: CacheDigest, _ principal: CacheDigest) throws(SQLiteFailure) -> [Row] {
        defer { select.reset() }
        select.bind(1, key.bytes)
        select.bind(2, principal.bytes)
        var rows: [Row] = []
        while try select.step() { rows.append(Self.row(select)) }
        return rows
    }

    /// The rows of a URL.
    func find(_ key: CacheDigest) throws(SQLiteFailure) -> [Row] {
        let statement = try database.prepare("SELECT \(Self.columns) FROM entry WHERE urlKey = ?")
        statement.bind(1, key.bytes)
        var rows: [Row] = []
        while try statement.step() { rows.append(Self.row(statement)) }
        return rows
    }

    /// The rows that follow a number, in order, without bodies.
    func list(after number: Int64, most: Int) throws(SQLiteFailure) -> [Row] {
        let statement = try database.prepare(
            "SELECT \(Self.columns) FROM entry WHERE id > \(number) ORDER BY id LIMIT \(most)")
        var rows: [Row] = []
        while try statement.step() { rows.append(Self.row(statement)) }
        return rows
    }

    private static func row(_ statement: SQLiteStatement) -> Row {
        var row = Row(number: statement.integer(0) ?? 0, usedHour: statement.integer(6) ?? 0, entry: nil)
        guard let key = digest(statement, 1), let principal = digest(statement, 2), let variant = digest(statement, 3),
            let url = statement.text(4), let storedAt = statement.integer(5), let packed = statement.bytes(7),
            let bodySize = statement.integer(10), bodySize >= 0, let found = CachedHeadCoding.decode(packed)
        else { return row }
        var check = CyclicCheck()
        check.add(packed)
        let body: CachedEntry.Body
        if let file = statement.text(9), CacheFiles.isName(file) {
            body = .file(name: file, size: Int(truncatingIfNeeded: bodySize))
        } else {
            let bytes = statement.bytes(8) ?? []
            check.add(bytes)
            body = .memory(ByteBuffer(bytes: bytes))
        }
        guard check.result == statement.integer(11) else { return row }
        row.entry = CachedEntry(
            id: CacheEntryID(key: key, principal: principal, variant: variant), url: url, head: found.head,
            vary: found.vary, body: body, tags: found.tags, storedAt: storedAt,
            userInfo: found.userInfo)
        return row
    }

    private static func digest(_ statement: SQLiteStatement, _ column: CInt) -> CacheDigest? {
        statement.bytes(column).flatMap { CacheDigest(bytes: $0) }
    }

    func totals() throws(SQLiteFailure) -> (bytes: Int64, entries: Int64) {
        (
            try database.integer("SELECT bytes FROM total") ?? 0, try database.integer("SELECT entries FROM total") ?? 0
        )
    }

    func fileNames() throws(SQLiteFailure) -> Set<String> {
        let statement = try database.prepare("SELECT file FROM entry WHERE file IS NOT NULL")
        var names: Set<String> = []
        while try statement.step() { if let name = statement.text(0) { names.insert(name) } }
        return names
    }

    /// The number of entries, unused for longest, that free so much; at most 32.
    func oldest(freeing bytes: Int64, entries: Int64) throws(SQLiteFailure) -> Int {
        let statement = try database.prepare("SELECT size FROM entry ORDER BY usedHour, size LIMIT 32")
        var (freed, count) = (Int64(0), 0)
        while freed < bytes || Int64(count) < entries, try statement.step() {
            freed &+= max(0, statement.integer(0) ?? 0)
            count += 1
        }
        statement.reset()
        return max(1, count)
    }

    /// What SQLite finds wrong with the file; nil for nothing. Takes seconds for gigabytes.
    func fault() throws(SQLiteFailure) -> String? {
        let statement = try database.prepare("PRAGMA quick_check(1)")
        guard try statement.step(), let text = statement.text(0), text != "ok" else { return nil }
        return text
    }

    // MARK: writing

    /// Runs changes in one transaction; returns the files that no row has any more.
    func change(_ work: (inout Changes) throws(SQLiteFailure) -> Void) throws(SQLiteFailure) -> [String] {
        try database.run("BEGIN IMMEDIATE")
        do throws(SQLiteFailure) {
            var changes = Changes(database: database)
            try work(&changes)
            try database.run(
                "UPDATE total SET bytes = max(0, bytes + \(changes.bytes)), entries = max(0, entries + \(changes.entries))"
            )
            try database.run("COMMIT")
            return changes.files
        } catch {
            // without a transaction there is nothing to undo
            do throws(SQLiteFailure) { try database.run("ROLLBACK") } catch {}
            throw error
        }
    }

    func checkpoint() { database.checkpoint() }

    /// Gives pages back when a quarter of the file is free.
    func shrink() throws(SQLiteFailure) {
        let free = try database.integer("PRAGMA freelist_count") ?? 0
        guard free > 256, free > (try database.integer("PRAGMA page_count") ?? 0) / 4 else { return }
        try database.run("PRAGMA incremental_vacuum(256)")
    }

    /// The changes of one transaction.
    struct Changes {
        fileprivate let database: SQLiteDatabase
        fileprivate(set) var bytes: Int64 = 0
        fileprivate(set) var entries: Int64 = 0
        /// Files of rows that were removed.
        fileprivate(set) var files: [String] = []

        mutating func put(_ entry: CachedEntry, file: String?, hour: Int64) throws(SQLiteFailure) {
            guard
                let head = CachedHeadCoding.encode(
                    entry.head, vary: entry.vary, tags: entry.tags, userInfo: entry.userInfo)
            else { return }
            try remove("urlKey = ? AND principal = ? AND variant = ?") { statement in
                statement.bind(1, entry.id.key.bytes)
                statement.bind(2, entry.id.principal.bytes)
                statement.bind(3, entry.id.variant.bytes)
            } keeping: {
                $0 == file
            }
            var check = CyclicCheck()
            check.add(head)
            let statement = try database.prepare(
                """
                INSERT INTO entry (urlKey, principal, variant, url, storedAt, usedHour, size, head, body, file, bodySize,
                checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
                """)
            let size = Int64(entry.body.size)  // safe: Int is not wider
            if file == nil, case .memory(let buffer) = entry.body {
                let body = Array(buffer.readableBytesView)
                check.add(body)
                statement.bind(9, body)
                statement.bind(10, nil)
            } else {
                statement.bind(9, nil)
                statement.bind(10, file ?? "")
            }
            statement.bind(1, entry.id.key.bytes)
            statement.bind(2, entry.id.principal.bytes)
            statement.bind(3, entry.id.variant.bytes)
            statement.bind(4, entry.url)
            statement.bind(5, entry.storedAt)
            statement.bind(6, hour)
            let cost = size &+ Int64(head.count &+ entry.url.utf8.count &+ 256)  // safe: as above
            statement.bind(7, cost)
            statement.bind(8, head)
            statement.bind(11, size)
            statement.bind(12, check.result)
            guard try statement.step(), let number = statement.integer(0) else { return }
            while try statement.step() {}
            bytes &+= cost
            entries &+= 1
            for tag in entry.tags {
                let insert = try database.prepare("INSERT OR IGNORE INTO tag VALUES (?, \(number))")
                insert.bind(1, tag)
                _ = try insert.step()
            }
        }

        /// Removes the rows for which the condition holds; returns how many.
        @discardableResult
        mutating func remove(
            _ condition: String, _ bind: (SQLiteStatement) -> Void = { _ in },
            keeping isKept: (String) -> Bool = { _ in false }
        ) throws(SQLiteFailure) -> Int {
            let find = try database.prepare("SELECT id, size, file FROM entry WHERE \(condition)")
            bind(find)
            var numbers: [Int64] = []
            while try find.step() {
                guard let number = find.integer(0) else { continue }
                numbers.append(number)
                bytes &-= find.integer(1) ?? 0
                if let file = find.text(2), CacheFiles.isName(file), !isKept(file) { files.append(file) }
            }
            find.reset()
            for number in numbers {
                try database.run("DELETE FROM tag WHERE entry = \(number)")
                try database.run("DELETE FROM entry WHERE id = \(number)")
            }
            entries &-= Int64(numbers.count)  // safe: as above
            return numbers.count
        }

        func use(_ number: Int64, hour: Int64) throws(SQLiteFailure) {
            try database.run("UPDATE entry SET usedHour = \(hour) WHERE id = \(number)")
        }
    }
}
