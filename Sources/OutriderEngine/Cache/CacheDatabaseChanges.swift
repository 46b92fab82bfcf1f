// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP

/// Writing: changes in transactions.
extension CacheDatabase {
    /// Rows to remove: all rows for which a condition holds.
    struct Selection: Sendable {
        let condition: String
        /// The condition has no index: a transaction looks at a limited number of rows.
        let isScan: Bool
        let bind: @Sendable (SQLiteStatement) -> Void
        /// Rows up to this number were looked at.
        var after: Int64 = 0
        /// The last row when the removal began; nil before.
        var last: Int64?

        init(
            _ condition: String, isScan: Bool = false, _ bind: @escaping @Sendable (SQLiteStatement) -> Void = { _ in }
        ) {
            (self.condition, self.isScan, self.bind) = (condition, isScan, bind)
        }

        init(_ id: CacheEntryID) {
            self.init("urlKey = ?1 AND principal = ?2 AND variant = ?3") { statement in
                statement.bind(1, id.key.bytes)
                statement.bind(2, id.principal.bytes)
                statement.bind(3, id.variant.bytes)
            }
        }

        init(_ id: CacheEntryID, storedUpTo moment: Int64) {
            let all = Selection(id)
            self.init("\(all.condition) AND storedAt <= \(moment)", all.bind)
        }
    }

    /// Runs changes in a transaction.
    func change(_ work: (inout Changes) throws(SQLiteFailure) -> Void) throws(SQLiteFailure) -> Changes {
        try database.run("BEGIN IMMEDIATE")
        do throws(SQLiteFailure) {
            var changes = Changes(database: database)
            try work(&changes)
            try database.run(
                "UPDATE total SET bytes = max(0, bytes + \(changes.bytes)), entries = max(0, entries + \(changes.entries))"
            )
            try database.run("COMMIT")
            return changes
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

    /// The changes of a transaction.
    struct Changes {
        fileprivate let database: SQLiteDatabase
        /// By how much the totals change.
        var bytes: Int64 = 0
        var entries: Int64 = 0
        /// Files that no row names any more.
        var files: [String] = []
        /// Selections with more rows than the transaction removed.
        fileprivate(set) var rest: [(selection: Selection, change: CacheChange)] = []
        /// Removals were recorded.
        fileprivate(set) var removes = false

        /// Values of the fields that Vary names, for each URL and principal.
        private static let mostVariants = CacheTable.mostVariants
        /// Limit of the rows that a transaction reads without an index.
        private static let scan: Int64 = 4096
        /// Limit of the removals without an index that go on in a transaction.
        private static let mostScans = 4
        private static let recordSeconds: Int64 = 3600
        private static let mostRecords: Int64 = 10_000
        /// Old records that a transaction looks at: twice the number that a transaction adds.
        private static let prune = 512

        /// Rows that removals have taken away.
        private var removed = 0
        private var scans = 0

        fileprivate init(database: SQLiteDatabase) { self.database = database }

        /// Stores an entry in the place of an entry with the same id.
        ///
        /// - Parameters:
        ///   - file: the file of the body; nil for a body in the row.
        ///   - check: the checksum of the file, nil for the file that the row has.
        mutating func put(_ entry: CachedEntry, file: String?, check: Int64?, hour: Int64) throws(SQLiteFailure) {
            guard
                let head = CachedHeadCoding.encode(
                    entry.head, vary: entry.vary, tags: entry.tags, userInfo: entry.userInfo)
            else {
                // the place of an entry with a longer head stays empty: what was stored there is older
                if let file, check != nil { files.append(file) }
                try remove(Selection(entry.id), most: 1)
                return
            }
            var (bodyCheck, body) = (check, [UInt8]?.none)
            if file == nil, case .memory(let buffer) = entry.body {
                let bytes = Array(buffer.readableBytesView)
                var sum = CyclicCheck()
                sum.add(bytes)
                (bodyCheck, body) = (sum.result, bytes)
            } else if let file, check == nil {
                let known = try database.prepare("SELECT bodyCheck FROM entry WHERE file = ?1 AND urlKey = ?2")
                known.bind(1, file)
                known.bind(2, entry.id.key.bytes)
                // evicted meanwhile, with its file
                guard try known.step() else { return }
                bodyCheck = known.integer(0)
                known.reset()
                // its row had another Vary, perhaps
                let row = Selection("urlKey = ?1 AND file = ?2") { statement in
                    statement.bind(1, entry.id.key.bytes)
                    statement.bind(2, file)
                }
                try remove(row, most: 1) { $0 == file }
            }
            try remove(Selection(entry.id), most: 1) { $0 == file }
            let id = entry.id
            var sum = CyclicCheck()
            if bodyCheck != nil { sum.add(CacheDatabase.places(id.key, id.principal, id.variant, entry.url)) }
            sum.add(head)
            try insert(entry, head, file, body, hour: hour, sum.result, bodyCheck)
            guard id.variant != .empty else { return }
            let old = Selection(
                """
                id IN (SELECT id FROM entry WHERE urlKey = ?1 AND principal = ?2 ORDER BY storedAt DESC, id DESC
                LIMIT -1 OFFSET \(Self.mostVariants))
                """
            ) { statement in
                statement.bind(1, id.key.bytes)
                statement.bind(2, id.principal.bytes)
            }
            try remove(old, most: DiskCache.mostRows)
        }

        private mutating func insert(
            _ entry: CachedEntry, _ head: [UInt8], _ file: String?, _ body: [UInt8]?, hour: Int64, _ check: Int64,
            _ bodyCheck: Int64?
        ) throws(SQLiteFailure) {
            let statement = try database.prepare(
                """
                INSERT INTO entry (urlKey, principal, variant, url, storedAt, usedHour, size, head, body, file, bodySize,
                checksum, bodyCheck) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
                """)
            if let body { statement.bind(9, body) } else { statement.bind(9, nil) }
            if let file { statement.bind(10, file) } else { statement.bind(10, nil) }
            statement.bind(1, entry.id.key.bytes)
            statement.bind(2, entry.id.principal.bytes)
            statement.bind(3, entry.id.variant.bytes)
            statement.bind(4, entry.url)
            statement.bind(5, entry.storedAt)
            statement.bind(6, hour)
            let size = Int64(entry.body.size)  // safe: Int is not wider
            let cost = size &+ Int64(head.count &+ entry.url.utf8.count &+ 256)  // safe: as above
            statement.bind(7, cost)
            statement.bind(8, head)
            statement.bind(11, size)
            statement.bind(12, check)
            statement.bind(13, bodyCheck)
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

        /// Removes selected rows up to the limit of the transaction; `rest` gets the selection if there may be more rows.
        mutating func remove(for change: CacheChange) throws(SQLiteFailure) {
            guard let rows = change.rows else { return }
            if rows.isScan { scans += 1 }
            if scans > Self.mostScans, rows.isScan { return try postpone(rows, change) }
            guard let rest = try remove(rows, most: max(0, DiskCache.mostRows - removed)) else { return }
            self.rest.append((rest, change))
        }

        /// Leaves all rows of a removal to the next transactions.
        private mutating func postpone(_ rows: Selection, _ change: CacheChange) throws(SQLiteFailure) {
            var rows = rows
            // entries that are stored from now on stay
            if rows.last == nil { rows.last = try database.integer("SELECT max(id) FROM entry") ?? 0 }
            rest.append((rows, change))
        }

        /// Removes selected rows.
        ///
        /// - Parameter most: the limit of rows.
        /// - Returns: the selection of the rows that were not looked at; nil if all were.
        @discardableResult
        mutating func remove(
            _ selection: Selection, most: Int, keeping isKept: (String) -> Bool = { _ in false }
        ) throws(SQLiteFailure) -> Selection? {
            var last = selection.last ?? 0
            if selection.last == nil { last = try database.integer("SELECT max(id) FROM entry") ?? 0 }
            var end = last
            if selection.isScan {
                let next = try database.integer("SELECT min(id) FROM entry WHERE id > \(selection.after)") ?? last
                end = min(last, next.addingReportingOverflow(Self.scan).partialValue)
            }
            let find = try database.prepare(
                """
                SELECT id, size, file FROM entry WHERE id > \(selection.after) AND id <= \(end) AND (\(selection.condition))
                ORDER BY id LIMIT \(most)
                """)
            selection.bind(find)
            var numbers: [Int64] = []
            while try find.step() {
                guard let number = find.integer(0) else { continue }
                numbers.append(number)
                bytes &-= find.integer(1) ?? 0
                if let file = find.text(2), CacheFiles.isName(file), !isKept(file) { files.append(file) }
            }
            find.reset()
            if !numbers.isEmpty {
                let list = numbers.map(String.init).joined(separator: ",")
                try database.run("DELETE FROM tag WHERE entry IN (\(list))")
                try database.run("DELETE FROM entry WHERE id IN (\(list))")
            }
            entries &-= Int64(numbers.count)  // safe: Int is not wider
            removed &+= numbers.count
            var next = selection
            next.last = last
            next.after = numbers.count < most ? end : numbers.last ?? selection.after
            return next.after < last ? next : nil
        }

        func use(_ id: CacheEntryID, hour: Int64) throws(SQLiteFailure) {
            let statement = try database.prepare(
                """
                UPDATE entry SET usedHour = \(hour)
                WHERE urlKey = ?1 AND principal = ?2 AND variant = ?3 AND usedHour < \(hour)
                """)
            Selection(id).bind(statement)
            _ = try statement.step()
        }

        // MARK: removals, for exchanges under way

        /// Records a removal for the exchanges of other processes.
        ///
        /// - Parameters:
        ///   - mark: the count of removals with this transaction.
        ///   - origin: the number of the writing store.
        mutating func record(_ change: CacheChange, mark: UInt64, origin: Int64) throws(SQLiteFailure) {
            let statement = try database.prepare(
                "INSERT INTO removal (mark, at, urlKey, tag, prefix, before, origin) VALUES (?, ?, ?, ?, ?, ?, ?)")
            statement.bind(7, origin)
            switch change {
            case .put, .rest, .forget, .wake, .purge(.number): return
            case .remove(let id), .supersede(let id, _): statement.bind(3, id.key.bytes)
            case .removeKey(let key): statement.bind(3, key.bytes)
            case .purge(.all): statement.bind(5, "")
            case .purge(.prefix(let text)): statement.bind(5, text)
            case .purge(.tag(let tag)): statement.bind(4, tag)
            case .purge(.storedBefore(let moment)): statement.bind(6, moment)
            }
            let now = CacheClock.now / 1000
            statement.bind(1, Int64(truncatingIfNeeded: mark))
            statement.bind(2, now)
            _ = try statement.step()
            guard !removes else { return }
            removes = true
            // without a scan: the oldest records have the lowest numbers
            try database.run(
                "DELETE FROM removal WHERE number <= (SELECT max(number) FROM removal) - \(Self.mostRecords)")
            try database.run(
                """
                DELETE FROM removal WHERE number IN (SELECT number FROM removal ORDER BY number LIMIT \(Self.prune))
                AND at < \(now - Self.recordSeconds)
                """)
        }

        /// Whether another process has removed the entry since its exchange began.
        ///
        /// - Parameters:
        ///   - since: the count of removals then.
        ///   - origin: the number of this store, whose own removals are known without the table.
        func isRemoved(_ entry: CachedEntry, since: UInt64, origin: Int64) throws(SQLiteFailure) -> Bool {
            let start = Int64(truncatingIfNeeded: since)
            // older records are gone: the entry may have been removed
            let first = "SELECT mark FROM removal ORDER BY number LIMIT 1"
            guard let oldest = try database.integer(first), oldest <= start &+ 1 else { return true }
            let statement = try database.prepare(
                """
                SELECT tag, prefix, before, urlKey IS NOT NULL FROM removal
                WHERE mark > ?1 AND origin <> ?3 AND (urlKey = ?2 OR urlKey IS NULL)
                """)
            statement.bind(1, start)
            statement.bind(2, entry.id.key.bytes)
            statement.bind(3, origin)
            while try statement.step() {
                if statement.integer(3) == 1 { return true }
                if let tag = statement.text(0), entry.has(tag) { return true }
                if let prefix = statement.text(1), entry.url.utf8.starts(with: prefix.utf8) { return true }
                if let moment = statement.integer(2), entry.storedAt < moment { return true }
            }
            return false
        }
    }
}
