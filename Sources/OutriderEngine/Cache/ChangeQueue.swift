// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The changes of a store on their way to the disk, with an index of their removals.
///
///     append ──▶ waiting ──▶ take ──▶ under way ──▶ finish, putBack or keep
///                   ▲                                              │
///                   └──────────── resume ◀── kept ◀────────────────┘
///
/// Responsible for: the order of changes, and whether one of them removes a row.
/// Not responsible for: limits, and entries that wait (`PendingEntries`).
struct ChangeQueue {
    private(set) var waiting: [CacheChange] = []
    private(set) var underway: [CacheChange] = []
    /// Removals that could not be written: they precede the next changes.
    private(set) var kept: [CacheChange] = []
    private var index = RemovalIndex()
    /// Batches with removals that have ended.
    private(set) var endedRemovals = 0

    mutating func append(_ change: CacheChange) {
        waiting.append(change)
        index.add(change)
    }

    /// Puts changes before all that wait.
    mutating func prepend(_ changes: [CacheChange]) {
        waiting = changes + waiting
        for change in changes { index.add(change) }
    }

    /// The next batch, which is under way from now on.
    mutating func take(_ count: Int) -> [CacheChange] {
        underway = Array(waiting.prefix(count))
        waiting.removeFirst(underway.count)
        return underway
    }

    /// The batch under way has ended.
    mutating func finish() {
        if underway.contains(where: \.isRemoval) { endedRemovals &+= 1 }
        for change in underway { index.remove(change) }
        underway = []
    }

    /// The batch under way waits again.
    mutating func putBack() {
        waiting = underway + waiting
        underway = []
    }

    /// Keeps the removals that wait, drops the other changes, and returns all of them.
    mutating func giveUpWaiting(most: Int) -> [CacheChange] {
        keep(waiting.filter(\.isLasting), most: most)
        return takeWaiting()
    }

    /// Drops all changes that wait, and returns them.
    mutating func takeWaiting() -> [CacheChange] {
        for change in waiting { index.remove(change) }
        defer { waiting = [] }
        return waiting
    }

    /// Keeps removals for a later attempt; more than `most` become a removal of every entry.
    mutating func keep(_ removals: [CacheChange], most: Int) {
        kept += removals
        for change in removals { index.add(change) }
        guard kept.count > most else { return }
        _ = takeKept()
        kept = [.purge(.all)]
        index.add(.purge(.all))
    }

    mutating func takeKept() -> [CacheChange] {
        for change in kept { index.remove(change) }
        defer { kept = [] }
        return kept
    }

    /// Kept removals wait again, before all others.
    mutating func resume() {
        waiting = kept + waiting
        kept = []
    }

    /// Whether an entry that is still on the disk, in a row of that number, is about to be removed.
    func removes(_ entry: CachedEntry, row number: Int64) -> Bool { index.removes(entry, row: number) }
}

/// Removals, counted by what they select. Only removals without a key or a tag are compared one by one.
private struct RemovalIndex {
    private var ids: [CacheEntryID: Int] = [:]
    /// The moments up to which entries are superseded.
    private var superseded: [CacheEntryID: [Int64]] = [:]
    private var keys: [CacheDigest: Int] = [:]
    private var tags: [ByteText: Int] = [:]
    private var others: [Int: CacheChange] = [:]
    /// The numbers of equal lines in `others`.
    private var numbers: [ByteText: [Int]] = [:]
    private var last = 0

    mutating func add(_ change: CacheChange) {
        switch change {
        case .put, .wake, .forget, .purge(.number): break
        case .remove(let id): ids[id, default: 0] += 1
        case .supersede(let id, let moment): superseded[id, default: []].append(moment)
        case .removeKey(let key): keys[key, default: 0] += 1
        case .purge(.tag(let tag)): tags[ByteText(tag), default: 0] += 1
        case .purge, .rest:
            last &+= 1
            others[last] = change
            numbers[Self.name(of: change), default: []].append(last)
        }
    }

    mutating func remove(_ change: CacheChange) {
        switch change {
        case .put, .wake, .forget, .purge(.number): break
        case .remove(let id): Self.countDown(id, &ids)
        case .supersede(let id, let moment):
            guard let index = superseded[id]?.firstIndex(of: moment) else { return }
            superseded[id]?.remove(at: index)
            if superseded[id]?.isEmpty == true { superseded[id] = nil }
        case .removeKey(let key): Self.countDown(key, &keys)
        case .purge(.tag(let tag)): Self.countDown(ByteText(tag), &tags)
        case .purge, .rest:
            let name = Self.name(of: change)
            guard let number = numbers[name]?.popLast() else { return }
            if numbers[name]?.isEmpty == true { numbers[name] = nil }
            others[number] = nil
        }
    }

    func removes(_ entry: CachedEntry, row number: Int64) -> Bool {
        if ids[entry.id] != nil || keys[entry.id.key] != nil { return true }
        if let moments = superseded[entry.id], moments.contains(where: { entry.storedAt <= $0 }) { return true }
        if !tags.isEmpty, entry.tags.contains(where: { tags[ByteText($0)] != nil }) { return true }
        return others.values.contains { $0.removes(entry, row: number) }
    }

    /// Equal for changes that remove the same rows.
    private static func name(of change: CacheChange) -> ByteText {
        guard case .rest(let rows, let first) = change else { return ByteText(change.line ?? "") }
        let name = "\(rows.after) \(rows.last ?? -1) \(first.line ?? "")"
        if case .supersede(_, let moment) = first { return ByteText("\(name) \(moment)") }
        return ByteText(name)
    }

    private static func countDown<Key: Hashable>(_ key: Key, _ counts: inout [Key: Int]) {
        guard let count = counts[key] else { return }
        counts[key] = count > 1 ? count - 1 : nil
    }
}

/// Entries on their way to the disk, by URL.
struct PendingEntries {
    private var entries: [CacheDigest: [CacheEntryID: PendingEntry]] = [:]

    subscript(id: CacheEntryID) -> PendingEntry? {
        get { entries[id.key]?[id] }
        set {
            entries[id.key, default: [:]][id] = newValue
            if entries[id.key]?.isEmpty == true { entries[id.key] = nil }
        }
    }

    /// The entries of a URL.
    func all(of key: CacheDigest) -> [PendingEntry] { entries[key].map { Array($0.values) } ?? [] }

    mutating func remove(_ key: CacheDigest) { entries[key] = nil }

    mutating func removeAll(where condition: (CachedEntry) -> Bool) {
        for (key, list) in entries {
            let rest = list.filter { !condition($0.value.entry) }
            if rest.count < list.count { entries[key] = rest.isEmpty ? nil : rest }
        }
    }

    mutating func removeAll() { entries = [:] }
}

/// An entry on its way to the disk.
struct PendingEntry {
    var entry: CachedEntry
    /// The removals before the exchange began; nil for an entry of the caller's own.
    var since: RemovalCount.Mark?
}
