// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import Glibc
import OutriderFiles
import OutriderHTTP

/// The database of a jar: a row per cookie. Blocks; for a single thread at a time, with the lock of the store.
final class JarDatabase {
    /// "OutC", so that other programs' databases are recognized.
    private static let applicationID: Int64 = 0x4F75_7443
    /// 1 for plain values, 2 for sealed values.
    private static let version: Int64 = 2
    private static let day = 86_400 * Cookie.second

    private let database: SQLiteDatabase
    private let upsert: SQLiteStatement
    /// Nil if values are plain.
    private let seal: CookieSeal?
    /// Random, made once per file: caches distinguish jars of the same name by it. Nil for an old file that cannot be written.
    let identity: String?
    let isAlone: Bool
    /// The disk or its permissions allow no change.
    let isUnwritable: Bool
    /// The number of the newest row that was read or written here.
    private(set) var lastChange: Int64 = 0

    /// Opens the database, or makes a new one. Throws SQLiteFailure or JarFailure.
    ///
    /// - Parameters:
    ///   - isAlone: no other connection reads or writes meanwhile: the index of the log needs no file.
    ///   - isUnwritable: the cookies can only be read.
    ///   - isSealed: seal plain values now; a sealed database stays sealed.
    ///   - key: returns the key, if needed.
    init(
        _ path: String, isAlone: Bool = false, isUnwritable: Bool = false, isSealed: Bool,
        key: () throws(JarFailure) -> CookieSeal
    ) throws {
        if access(path, F_OK) != 0 {
            do throws(FileFault) {
                // SQLite itself would let the umask decide on permissions
                close(try CheckedFile.open(path, O_RDWR | O_CREAT | O_EXCL, .own))
            } catch {
                throw JarFailure(.unwritable, "\(path) cannot be made: \(error)")
            }
        }
        database = try SQLiteDatabase(path, isUnwritable: isUnwritable)
        self.isAlone = isAlone
        self.isUnwritable = isUnwritable
        if isAlone { try database.run("PRAGMA locking_mode = EXCLUSIVE") }
        let isNew = try Self.inspect(database, path)
        for setting in Self.settings(isNew: isNew) { try database.run("PRAGMA \(setting)") }
        if isNew { try Self.create(in: database) }
        let wasSealed = try database.integer("PRAGMA user_version") == 2
        if isSealed || wasSealed { seal = try key() } else { seal = nil }
        upsert = try database.prepare(Self.upsertText)
        identity = Self.identity(in: database)
        // the tables have their room in the file, if a log without checkpoints fills the disk
        if isNew { database.checkpoint() }
        guard let seal else { return }
        if wasSealed { try Self.check(seal, database, path) } else { try sealAll(seal) }
    }

    private static func check(_ seal: CookieSeal, _ database: SQLiteDatabase, _ path: String) throws {
        let statement = try database.prepare("SELECT mark FROM seal")
        guard try statement.step(), let mark = statement.bytes(0), seal.isKey(of: mark) else {
            throw JarFailure(
                .locked,
                "\(path) is sealed with another key than that of the credential store; choose that key again, or name"
                    + " another jar")
        }
    }

    /// Seals the values of all rows, in one transaction; no plain value stays in the file or its log.
    private func sealAll(_ seal: CookieSeal) throws(SQLiteFailure) {
        guard let mark = seal.check else { throw SQLiteFailure.damage("seal") }
        try database.run("BEGIN IMMEDIATE")
        do throws(SQLiteFailure) {
            try database.run("CREATE TABLE seal (mark BLOB NOT NULL)")
            let insert = try database.prepare("INSERT INTO seal VALUES (?)")
            insert.bind(1, mark)
            _ = try insert.step()
            let statement = try database.prepare("SELECT \(Self.columns) FROM cookie ORDER BY change")
            var rows: [(JarRow, Int64)] = []
            while try statement.step() {
                if let row = Self.row(statement, nil) { rows.append((row, statement.integer(10) ?? 0)) }
            }
            statement.reset()
            for (row, change) in rows { try write(row, change, now: 0) }
            try database.run("PRAGMA user_version = 2")
            try database.run("COMMIT")
        } catch {
            // without a transaction there is nothing to undo
            do throws(SQLiteFailure) { try database.run("ROLLBACK") } catch {}
            throw error
        }
        database.truncate()
    }

    /// Checks the file before any write: whether it is empty; a foreign or newer database is left unchanged.
    private static func inspect(_ database: SQLiteDatabase, _ path: String) throws -> Bool {
        let application = try database.integer("PRAGMA application_id") ?? 0
        let version = try database.integer("PRAGMA user_version") ?? 0
        if application == 0, version == 0, try database.integer("PRAGMA schema_version") == 0 { return true }
        guard application == applicationID else {
            throw JarFailure(.foreign, "\(path) is a database of another program; name another jar, or move it away")
        }
        guard version <= Self.version else {
            throw JarFailure(
                .newer, "\(path) was written by a later version of Outrider; use that version, or name another jar")
        }
        return false
    }

    private static func settings(isNew: Bool) -> [String] {
        // on creation only: a second process that set these again would wait for the first
        (isNew ? ["page_size = 4096", "auto_vacuum = INCREMENTAL", "journal_mode = WAL"] : []) + [
            "synchronous = FULL", "wal_autocheckpoint = 0", "journal_size_limit = 1048576", "cache_size = -256",
            "mmap_size = 0", "secure_delete = ON", "trusted_schema = OFF", "cell_size_check = ON",
            "temp_store = MEMORY",
        ]
    }

    private static func create(in database: SQLiteDatabase) throws {
        try database.run("BEGIN IMMEDIATE")
        try database.run(
            """
            CREATE TABLE cookie (domain TEXT NOT NULL, path TEXT NOT NULL, name TEXT NOT NULL, hostOnly INTEGER NOT NULL,
            partition TEXT NOT NULL, value BLOB, expires INTEGER, created INTEGER NOT NULL, usedHour INTEGER NOT NULL,
            flags INTEGER NOT NULL, change INTEGER NOT NULL, PRIMARY KEY (domain, path, name, hostOnly, partition))
            WITHOUT ROWID
            """)
        try database.run("CREATE INDEX cookieChange ON cookie (change)")
        try database.run("PRAGMA application_id = \(applicationID)")
        try database.run("PRAGMA user_version = 1")
        try database.run("COMMIT")
    }

    /// The identity of the file. A file of an earlier version gets an identity now.
    private static func identity(in database: SQLiteDatabase) -> String? {
        do throws(SQLiteFailure) {
            try database.run("CREATE TABLE IF NOT EXISTS identity (value TEXT NOT NULL)")
            let known = try database.prepare("SELECT value FROM identity")
            if try known.step(), let text = known.text(0) { return text }
            known.reset()
            let fresh = (0..<2).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }.joined()
            let insert = try database.prepare("INSERT INTO identity VALUES (?)")
            insert.bind(1, fresh)
            _ = try insert.step()
            return fresh
        } catch {
            return nil
        }
    }

    // MARK: reading

    private static let columns = """
        domain, path, name, hostOnly, partition, value, expires, created, usedHour, flags, change
        """

    /// Rows changed since the last read.
    func read(into rows: inout [JarRow]) throws(SQLiteFailure) {
        let statement = try database.prepare(
            "SELECT \(Self.columns) FROM cookie WHERE change > \(lastChange) ORDER BY change")
        while try statement.step() {
            if let row = Self.row(statement, seal) { rows.append(row) }
            lastChange = max(lastChange, try Self.sound(statement.integer(10) ?? 0))
        }
    }

    /// The cookies of the database, without their deletions.
    func identities() throws(SQLiteFailure) -> Set<Cookie.Identity> {
        let statement = try database.prepare("SELECT \(Self.columns) FROM cookie WHERE value IS NOT NULL")
        var found: Set<Cookie.Identity> = []
        // values are not read, so that no key is needed
        while try statement.step() {
            if let row = Self.row(statement, nil) { found.insert(row.identity) }
        }
        return found
    }

    /// The rows of a damaged database before the first broken page and behind the last one. The index of changes leads to all
    /// pages in turn, so the rows are read in their own order.
    func salvage() -> [JarRow] {
        var found: [Cookie.Identity: JarRow] = [:]
        for way in ["ASC", "DESC"] {
            do throws(SQLiteFailure) {
                let order = ["domain", "path", "name", "hostOnly", "partition"].map { "\($0) \(way)" }
                let statement = try database.prepare(
                    "SELECT \(Self.columns) FROM cookie NOT INDEXED ORDER BY \(order.joined(separator: ", "))")
                while try statement.step() {
                    if let row = Self.row(statement, seal) { found[row.identity] = row }
                }
            } catch {
                // the other way leads to the rows behind the broken page
            }
        }
        return Array(found.values)
    }

    /// Makes the next read return the rows behind that change; all rows without one.
    func rewind(to change: Int64 = 0) { lastChange = change }

    /// Checks the number of a change: only damage makes the number so large. Throws `SQLITE_CORRUPT`.
    private static func sound(_ change: Int64) throws(SQLiteFailure) -> Int64 {
        guard change < 1 << 62 else { throw SQLiteFailure.damage("the number of a change is out of range") }
        return change
    }

    private static func row(_ statement: SQLiteStatement, _ seal: CookieSeal?) -> JarRow? {
        guard let domain = statement.text(0), let path = statement.text(1), let name = statement.text(2),
            let hostOnly = statement.integer(3), let partition = statement.text(4), let flags = statement.integer(9)
        else { return nil }
        var cookie = Cookie(name: name, value: "", domain: domain)
        cookie.path = path
        cookie.isHostOnly = hostOnly != 0
        cookie.partition = partition.isEmpty ? nil : String(partition.dropFirst())
        guard var value = statement.bytes(5) else { return .gone(cookie.identity) }
        if let seal {
            let row = associated(
                cookie.identity, statement.integer(6), statement.integer(7) ?? 0, statement.integer(8) ?? 0, flags,
                statement.integer(10) ?? 0)
            guard let opened = seal.open(value, row) else { return nil }
            value = opened
        }
        cookie.value = String(decoding: value, as: UTF8.self)
        cookie.expires = statement.integer(6)
        cookie.created = statement.integer(7) ?? 0
        cookie.used = (statement.integer(8) ?? 0).multipliedReportingOverflow(by: CookieJar.hour).partialValue
        cookie.isSecure = flags & 1 != 0
        cookie.isHTTPOnly = flags & 2 != 0
        cookie.isLatin1 = flags & 16 != 0
        switch flags >> 2 & 3 {
        case 1: cookie.sameSite = Cookie.SameSite.none
        case 2: cookie.sameSite = .lax
        case 3: cookie.sameSite = .strict
        default: break
        }
        return .cookie(cookie)
    }

    // MARK: writing

    private static let upsertText = """
        INSERT INTO cookie (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (domain, path, name, hostOnly, partition) DO UPDATE SET value = excluded.value,
        expires = excluded.expires, created = excluded.created, usedHour = excluded.usedHour, flags = excluded.flags,
        change = excluded.change
        """

    /// Writes all rows or none; they are on the disk when the call returns.
    func write(_ rows: [JarRow], now: Int64) throws(SQLiteFailure) {
        try database.run("BEGIN IMMEDIATE")
        do throws(SQLiteFailure) {
            let newest = try database.integer("SELECT max(change) FROM cookie") ?? 0
            var change = max(lastChange, try Self.sound(newest))
            for row in rows {
                change += 1
                try write(row, change, now: now)
            }
            try database.run("COMMIT")
            lastChange = change
        } catch {
            // without a transaction there is nothing to undo
            do throws(SQLiteFailure) { try database.run("ROLLBACK") } catch {}
            throw error
        }
    }

    private func write(_ row: JarRow, _ change: Int64, now: Int64) throws(SQLiteFailure) {
        defer { upsert.reset() }
        let identity = row.identity
        upsert.bind(1, identity.domain)
        upsert.bind(2, identity.path)
        upsert.bind(3, identity.name)
        upsert.bind(4, identity.isHostOnly ? 1 : 0)
        // "" means no partition; ":" marks a partition without a site
        upsert.bind(5, identity.partition.map { ":" + $0 } ?? "")
        upsert.bind(11, change)
        switch row {
        case .gone:
            upsert.bind(8, now)
            upsert.bind(9, now / CookieJar.hour)
            upsert.bind(10, 0)
        case .cookie(let cookie):
            let (hour, flags) = (cookie.used / CookieJar.hour, Self.flags(cookie))
            var value = Array(cookie.value.utf8)
            if let seal {
                let row = Self.associated(identity, cookie.expires, cookie.created, hour, flags, change)
                guard let closed = seal.close(value, row) else { throw SQLiteFailure.damage("seal") }
                value = closed
            }
            upsert.bind(6, value)
            upsert.bind(7, cookie.expires)
            upsert.bind(8, cookie.created)
            upsert.bind(9, hour)
            upsert.bind(10, flags)
        }
        _ = try upsert.step()
    }

    /// All columns but the value: a sealed value opens in its own row only.
    private static func associated(
        _ identity: Cookie.Identity, _ expires: Int64?, _ created: Int64, _ hour: Int64, _ flags: Int64, _ change: Int64
    ) -> [UInt8] {
        let texts = [
            identity.domain, identity.path, identity.name, identity.isHostOnly ? "1" : "0",
            identity.partition.map { ":" + $0 } ?? "", expires.map(String.init) ?? "", String(created), String(hour),
            String(flags), String(change),
        ]
        return texts.flatMap { Array($0.utf8) + [0] }
    }

    private static func flags(_ cookie: Cookie) -> Int64 {
        let sameSite: Int64 =
            switch cookie.sameSite {
            case nil: 0
            case Cookie.SameSite.none?: 1
            case .lax?: 2
            case .strict?: 3
            }
        return (cookie.isSecure ? 1 : 0) | (cookie.isHTTPOnly ? 2 : 0) | sameSite << 2 | (cookie.isLatin1 ? 16 : 0)
    }

    /// Removes deletions older than a day, expired cookies, and cookies of a session that were unused for 30 days.
    func clean(now: Int64) throws(SQLiteFailure) {
        try database.run(
            """
            DELETE FROM cookie WHERE value IS NULL AND created < \(now - Self.day) OR expires <= \(now)
            OR value IS NOT NULL AND expires IS NULL AND usedHour < \((now - 30 * Self.day) / CookieJar.hour)
            """)
    }

    func checkpoint() { database.checkpoint() }

    /// Whether the values are sealed.
    var isSealed: Bool { seal != nil }

    /// Whether the file was removed, renamed or replaced since it was opened.
    var hasMoved: Bool { database.hasMoved }
}
