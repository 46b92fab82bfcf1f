// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import NIOCore
import OutriderFiles
import OutriderHTTP

/// The database of a named cache: a row per entry. Blocks; for a single thread at a time.
final class CacheDatabase {
    /// "OutH", so that other programs' databases are recognized.
    private static let applicationID: Int64 = 0x4F75_7448
    private static let version: Int64 = 1

    let database: SQLiteDatabase
    private let select: SQLiteStatement
    private let isReadOnly: Bool

    /// The database has the tables of an earlier version: the first opening for writing adds the new tables.
    struct Outdated: Error {}

    /// Whether a reader failed because the database has to be written first: it is outdated, or a process was killed while it
    /// made the database.
    static func mustBeWritten(_ error: any Error) -> Bool {
        error is Outdated || (error as? SQLiteFailure)?.isUnfinished == true
    }

    /// The database has no tables yet.
    struct Unmade: Error {}

    /// Opens the database. For writing, makes a new database or updates an old database: with the lock of the store.
    /// Throws SQLiteFailure, CacheStoreFailure, Outdated, or Unmade.
    ///
    /// - Parameter isUnwritable: of a database for reading: see `SQLiteDatabase`.
    init(_ path: String, isReadOnly: Bool, isUnwritable: Bool = false) throws {
        self.isReadOnly = isReadOnly
        if !isReadOnly, access(path, F_OK) != 0 {
            do throws(FileFault) {
                // SQLite itself would let the umask decide on permissions
                close(try CheckedFile.open(path, O_RDWR | O_CREAT | O_EXCL, .own))
            } catch {
                throw CacheStoreFailure(message: "\(path) cannot be made: \(error)")
            }
        }
        database = try SQLiteDatabase(path, isReadOnly: isReadOnly, isUnwritable: isUnwritable)
        let isNew = try Self.inspect(database, path)
        if isReadOnly, isNew { throw Unmade() }
        for setting in Self.settings(isNew: isNew) { try database.run("PRAGMA \(setting)") }
        if isNew { try Self.create(in: database) }
        if !isNew, try database.integer(Self.hasChecks) == 0 {
            if isReadOnly { throw Outdated() }
            try Self.update(database)
        }
        if !isNew, !isReadOnly, try database.integer(Self.hasOrder) == 0 { try Self.reorder(database) }
        select = try database.prepare("SELECT \(Self.columns) FROM entry WHERE urlKey = ? AND principal = ?")
    }

    /// Checks before any write whether the file is empty. A foreign or newer database is left unchanged.
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
            checksum INTEGER NOT NULL, bodyCheck INTEGER)
            """)
        try database.run("CREATE UNIQUE INDEX entryKey ON entry (urlKey, principal, variant)")
        try database.run(order)
        try database.run("CREATE TABLE tag (tag TEXT, entry INTEGER, PRIMARY KEY (tag, entry)) WITHOUT ROWID")
        try database.run("CREATE INDEX tagEntry ON tag (entry)")
        try database.run("CREATE TABLE total (bytes INTEGER NOT NULL, entries INTEGER NOT NULL)")
        try database.run("INSERT INTO total VALUES (0, 0)")
        try database.run(removalTable)
        try database.run(removalIndex)
        try database.run("PRAGMA application_id = \(applicationID)")
        try database.run("PRAGMA user_version = \(version)")
        try database.run("COMMIT")
    }

    /// Removals of the last hour: exchanges that began before them store nothing. `prefix` is empty for all entries.
    private static let removalTable = """
        CREATE TABLE removal (number INTEGER PRIMARY KEY, mark INTEGER NOT NULL, at INTEGER NOT NULL, urlKey BLOB,
        tag TEXT, prefix TEXT, before INTEGER, origin INTEGER NOT NULL)
        """

    private static let removalIndex = "CREATE INDEX removalMark ON removal (mark)"

    /// The order of eviction. The size makes the index whole for the sums.
    private static let order = "CREATE INDEX entryAge ON entry (usedHour, storedAt, size)"

    private static let hasOrder = "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name = 'entryAge'"

    private static let hasChecks = "SELECT count(*) FROM pragma_table_info('entry') WHERE name = 'bodyCheck'"

    private static func update(_ database: SQLiteDatabase) throws {
        try database.run("BEGIN IMMEDIATE")
        try database.run("ALTER TABLE entry ADD COLUMN bodyCheck INTEGER")
        try database.run(removalTable)
        try database.run(removalIndex)
        try database.run("COMMIT")
    }

    private static func reorder(_ database: SQLiteDatabase) throws {
        try database.run("BEGIN IMMEDIATE")
        try database.run("DROP INDEX IF EXISTS entryUsed")
        try database.run(order)
        try database.run("COMMIT")
    }

    // MARK: reading

    private static let columns = columns(body: "body")

    private static func columns(body: String) -> String {
        "id, urlKey, principal, variant, url, storedAt, usedHour, head, \(body), file, bodySize, checksum, bodyCheck"
    }

    /// The row of an entry.
    struct Row {
        var number: Int64
        var usedHour: Int64
        /// Nil for a row that is damaged, and for an entry that the request does not select.
        var entry: CachedEntry?
        /// The request does not select the entry, whose body was not read.
        var isOther = false
        /// The checksum of the body; nil in rows of an earlier version.
        var bodyCheck: Int64?
    }

    /// The rows of a URL and a principal.
    ///
    /// - Parameter selects: whether the request selects entries of that variant, with these names in Vary.
    func find(
        _ key: CacheDigest, _ principal: CacheDigest, selects: (CacheDigest, [String]) -> Bool
    ) throws(SQLiteFailure) -> [Row] {
        defer { select.reset() }
        select.bind(1, key.bytes)
        select.bind(2, principal.bytes)
        var rows: [Row] = []
        while try select.step() { rows.append(Self.row(select, selects: selects)) }
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

    /// The rows that follow a number, in order. Without bodies, an entry has the size of its body, but not its bytes.
    func list(after number: Int64, most: Int, isWithBodies: Bool = false) throws(SQLiteFailure) -> [Row] {
        let columns = isWithBodies ? Self.columns : Self.columns(body: "NULL")
        let statement = try database.prepare(
            "SELECT \(columns) FROM entry WHERE id > \(number) ORDER BY id LIMIT \(most)")
        var rows: [Row] = []
        while try statement.step() { rows.append(Self.row(statement, hasBody: isWithBodies)) }
        return rows
    }

    func contains(_ number: Int64) throws(SQLiteFailure) -> Bool {
        try database.integer("SELECT 1 FROM entry WHERE id = \(number)") != nil
    }

    private static func row(
        _ statement: SQLiteStatement, hasBody: Bool = true, selects: (CacheDigest, [String]) -> Bool = { _, _ in true }
    ) -> Row {
        var row = Row(
            number: statement.integer(0) ?? 0, usedHour: statement.integer(6) ?? 0, entry: nil,
            bodyCheck: statement.integer(12))
        guard let key = digest(statement, 1), let principal = digest(statement, 2), let variant = digest(statement, 3),
            let url = statement.text(4), let storedAt = statement.integer(5), let bodySize = statement.integer(10),
            bodySize >= 0, let decoded = statement.withBytes(7, { CachedHeadCoding.decode($0) }), let found = decoded
        else { return row }
        guard selects(variant, found.vary) else {
            row.isOther = true
            return row
        }
        var head = CyclicCheck()
        // in the order of `places`
        for column: CInt in row.bodyCheck != nil ? [1, 2, 3, 4, 7] : [7] {
            _ = statement.withBytes(column) { head.add($0) }
        }
        let size = Int(truncatingIfNeeded: bodySize)
        let file = statement.text(9)
        var body = CachedEntry.Body.file(name: file ?? "", size: size)
        if file == nil, hasBody {
            var check = row.bodyCheck == nil ? head : CyclicCheck()
            let bytes = statement.withBytes(8) { bytes in
                check.add(bytes)
                return ByteBuffer(bytes: bytes)
            }
            guard bytes?.readableBytes ?? 0 == size, check.result == row.bodyCheck ?? statement.integer(11) else {
                return row
            }
            body = .memory(bytes ?? ByteBuffer())
        } else if let file, !CacheFiles.isName(file) {
            return row
        }
        // without its body, a row of an earlier version cannot be checked
        let isChecked = row.bodyCheck != nil || file != nil
        guard !isChecked || head.result == statement.integer(11) else { return row }
        row.entry = CachedEntry(
            id: CacheEntryID(key: key, principal: principal, variant: variant), url: url, head: found.head,
            vary: found.vary, body: body, tags: found.tags, storedAt: storedAt,
            userInfo: found.userInfo)
        return row
    }

    /// The parts of a row that name the URL and the owner of the response.
    static func places(_ key: CacheDigest, _ principal: CacheDigest, _ variant: CacheDigest, _ url: String) -> [UInt8] {
        key.bytes + principal.bytes + variant.bytes + Array(url.utf8)
    }

    private static func digest(_ statement: SQLiteStatement, _ column: CInt) -> CacheDigest? {
        statement.withBytes(column) { CacheDigest(raw: $0) } ?? nil
    }

    typealias Totals = (bytes: Int64, entries: Int64)

    func totals() throws(SQLiteFailure) -> Totals {
        (
            try database.integer("SELECT bytes FROM total") ?? 0, try database.integer("SELECT entries FROM total") ?? 0
        )
    }

    /// The sums of all rows less the counted totals, from a single snapshot. Reads an index as a whole.
    func errorOfTotals() throws(SQLiteFailure) -> Totals {
        let statement = try database.prepare(
            """
            SELECT (SELECT coalesce(sum(size), 0) FROM entry) - (SELECT bytes FROM total),
            (SELECT count(*) FROM entry) - (SELECT entries FROM total)
            """)
        guard try statement.step() else { return (0, 0) }
        return (statement.integer(0) ?? 0, statement.integer(1) ?? 0)
    }

    func fileNames() throws(SQLiteFailure) -> Set<String> {
        let statement = try database.prepare("SELECT file FROM entry WHERE file IS NOT NULL")
        var names: Set<String> = []
        while try statement.step() { if let name = statement.text(0) { names.insert(name) } }
        return names
    }

    /// The numbers of the entries that free so much: unused for longest, and of the same hour those stored first; at most
    /// 32.
    func oldest(freeing bytes: Int64, entries: Int64) throws(SQLiteFailure) -> [Int64] {
        // the order of the index: any other order would sort all entries of an hour
        let statement = try database.prepare("SELECT id, size FROM entry ORDER BY usedHour, storedAt LIMIT 32")
        var freed: Int64 = 0
        var numbers: [Int64] = []
        // safe: Int is not wider
        while numbers.isEmpty || freed < bytes || Int64(numbers.count) < entries, try statement.step() {
            if let number = statement.integer(0) { numbers.append(number) }
            freed &+= max(0, statement.integer(1) ?? 0)
        }
        statement.reset()
        return numbers
    }

    /// A defect that SQLite finds in the file; nil for a sound file. Takes seconds for gigabytes.
    func fault() throws(SQLiteFailure) -> String? {
        let statement = try database.prepare("PRAGMA quick_check(1)")
        guard try statement.step(), let text = statement.text(0), text != "ok" else { return nil }
        return text
    }
}
