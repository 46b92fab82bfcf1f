// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import CSQLite
import Glibc

/// A connection to a database. For a single thread at a time; every call may block on the disk.
///
/// Responsible for: statements, bound values, errors as values.
/// Not responsible for: the choice of files (`JarDatabase`); locks between processes (`StoreLock`).
final class SQLiteDatabase {
    private let handle: OpaquePointer

    /// Opens an existing database, never through a symbolic link.
    ///
    /// - Parameters:
    ///   - isUnwritable: nothing can be written, not even the index of the log. Without a log the file is read directly:
    ///     no other connection may move a log into the file meanwhile.
    ///   - busySeconds: longest wait of a statement for another connection.
    init(
        _ path: String, isReadOnly: Bool = false, isUnwritable: Bool = false, busySeconds: Double = 2
    ) throws(SQLiteFailure) {
        var found: OpaquePointer?
        let access = isReadOnly || isUnwritable ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
        let isStill = isUnwritable && !Self.hasLog(path)
        let flags = access | (isStill ? SQLITE_OPEN_URI : 0) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        let code = sqlite3_open_v2(isStill ? Self.still(path) : path, &found, flags, nil)
        guard code == SQLITE_OK, let found else {
            let failure = SQLiteFailure(code: code, errno: found.map { sqlite3_system_errno($0) } ?? 0, "open")
            sqlite3_close_v2(found)
            throw failure
        }
        handle = found
        sqlite3_extended_result_codes(found, 1)
        sqlite3_busy_timeout(found, CInt(truncatingIfNeeded: Int(busySeconds * 1000)))
    }

    private static func hasLog(_ path: String) -> Bool {
        var info = stat()
        return lstat(path + "-wal", &info) == 0 && info.st_size > 0
    }

    /// The address of a file that does not change while open.
    private static func still(_ path: String) -> String {
        let escaped = path.map { "%?#".contains($0) ? "%" + String($0.asciiValue ?? 0, radix: 16) : String($0) }
        return "file:\(escaped.joined())?immutable=1"
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs a statement to its end.
    func run(_ sql: String) throws(SQLiteFailure) {
        let statement = try prepare(sql)
        while try statement.step() {}
    }

    /// The first column of the first row; nil without a row.
    func integer(_ sql: String) throws(SQLiteFailure) -> Int64? {
        let statement = try prepare(sql)
        return try statement.step() ? statement.integer(0) : nil
    }

    func prepare(_ sql: String) throws(SQLiteFailure) -> SQLiteStatement {
        var found: OpaquePointer?
        let code = sqlite3_prepare_v2(handle, sql, -1, &found, nil)
        guard code == SQLITE_OK, let found else { throw failure(code, "prepare") }
        return SQLiteStatement(found, of: self)
    }

    /// Whether the file was removed, renamed or replaced since it was opened.
    var hasMoved: Bool {
        var moved: CInt = 0
        return sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0
    }

    /// Pages of the log above which a checkpoint cuts the log off: 16 MiB.
    private static let mostFrames: CInt = 4096

    /// Moves the write-ahead log into the database, as far as readers permit.
    func checkpoint() {
        // the next checkpoint makes up for a failure
        var frames: CInt = 0
        _ = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, &frames, nil)
        if frames > Self.mostFrames { _ = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil) }
    }

    /// The same, and cuts the log off: no old page stays in the log.
    func truncate() { _ = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil) }

    fileprivate func failure(_ code: CInt, _ action: String) -> SQLiteFailure {
        SQLiteFailure(code: code, errno: sqlite3_system_errno(handle), action)
    }
}

/// A prepared statement; reset before its values are bound again.
final class SQLiteStatement {
    private let handle: OpaquePointer
    private let database: SQLiteDatabase

    fileprivate init(_ handle: OpaquePointer, of database: SQLiteDatabase) {
        self.handle = handle
        self.database = database
    }

    deinit { sqlite3_finalize(handle) }

    /// Whether there is a row.
    func step() throws(SQLiteFailure) -> Bool {
        let code = sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw database.failure(code, "step")
        }
    }

    /// Drops the bound values, ready for others.
    func reset() {
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    // MARK: values, from 1

    func bind(_ index: CInt, _ value: Int64?) {
        if let value { sqlite3_bind_int64(handle, index, value) } else { sqlite3_bind_null(handle, index) }
    }

    func bind(_ index: CInt, _ value: String) {
        var value = value
        value.withUTF8 { bytes in
            guard let start = UnsafeRawPointer(bytes.baseAddress), !bytes.isEmpty else {
                // a null pointer would mean NULL
                _ = sqlite3_bind_text(handle, index, "", 0, Self.copied)
                return
            }
            let text = start.assumingMemoryBound(to: CChar.self)
            _ = sqlite3_bind_text(handle, index, text, CInt(clamping: bytes.count), Self.copied)
        }
    }

    func bind(_ index: CInt, _ value: [UInt8]) {
        guard !value.isEmpty else {
            sqlite3_bind_zeroblob(handle, index, 0)
            return
        }
        value.withUnsafeBytes { bytes in
            _ = sqlite3_bind_blob(handle, index, bytes.baseAddress, CInt(clamping: bytes.count), Self.copied)
        }
    }

    /// SQLITE_TRANSIENT: the value is copied before the call returns.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    // MARK: columns, from 0

    func integer(_ column: CInt) -> Int64? {
        sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : sqlite3_column_int64(handle, column)
    }

    /// Nil for NULL.
    func bytes(_ column: CInt) -> [UInt8]? { withBytes(column) { Array($0) } }

    func text(_ column: CInt) -> String? { withBytes(column) { String(decoding: $0, as: UTF8.self) } }

    /// Lends the bytes of a column; nil for NULL.
    func withBytes<Value>(_ column: CInt, _ work: (UnsafeRawBufferPointer) -> Value) -> Value? {
        guard sqlite3_column_type(handle, column) != SQLITE_NULL else { return nil }
        let start = sqlite3_column_blob(handle, column)
        let count = Int(sqlite3_column_bytes(handle, column))
        return work(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }

}

/// A failed call of SQLite.
struct SQLiteFailure: Error {
    /// An extended result code.
    var code: CInt
    /// Of the system; 0 if unknown.
    var errno: CInt
    /// The attempted action.
    var action: String

    init(code: CInt, errno: CInt, _ action: String) {
        self.code = code
        self.errno = errno
        self.action = action
    }

    /// For a value that SQLite reads but that is invalid.
    static func damage(_ action: String) -> SQLiteFailure { SQLiteFailure(code: SQLITE_CORRUPT, errno: 0, action) }

    private var primary: CInt { code & 0xFF }

    /// The file is not a database, or is damaged.
    var isDamage: Bool { primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB }
    /// The disk is full.
    var isFull: Bool {
        // ENOSPC, EDQUOT, and EFBIG: the process may write no longer files
        primary == SQLITE_FULL || primary == SQLITE_IOERR && [28, 122, 27].contains(errno)
    }
    /// Nothing can be written in the directory: a file beside the database cannot be made, or the database cannot be changed.
    var isUnwritable: Bool { primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY && !isRemoval }
    /// A file of the database cannot be opened or made.
    var isOpening: Bool { primary == SQLITE_CANTOPEN }
    var isBusy: Bool { primary == SQLITE_BUSY || primary == SQLITE_LOCKED }

    /// The operating system refused a write; the reason may be lost by now.
    var isWriting: Bool { code == SQLITE_IOERR | 3 << 8 }
    /// A file of the database was removed during the action, as `rm -r` of its directory does: SQLITE_READONLY_DBMOVED,
    /// or SQLITE_IOERR_DELETE_NOENT.
    var isRemoval: Bool { code == SQLITE_READONLY | 4 << 8 || code == SQLITE_IOERR | 23 << 8 }
    /// A killed process has left a journal, which only a connection for writing rolls back.
    var isUnfinished: Bool { primary == SQLITE_READONLY && [1, 3].contains(code >> 8) }

    /// For people; never holds a value that was stored.
    var text: String { "\(String(cString: sqlite3_errstr(code))) (\(code), \(action))" }
}
