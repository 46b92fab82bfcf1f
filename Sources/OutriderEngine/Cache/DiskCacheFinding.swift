// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP
import OutriderTransport
import Synchronization

/// The reader: lookups of requests, and the bodies that are files.
extension DiskCache {
    package func takeChange() -> Bool {
        // with the directory, its entries in memory go, too
        if lock.isRemoved, !isLost {
            checkPlace()
            return true
        }
        let now = lock.news
        return state.withLock { state in
            defer { state.mark = now }
            return state.mark != now
        }
    }

    func find(_ lookup: Lookup) {
        let begins = state.withLock { state in
            state.lookups.append(lookup)
            defer { state.isReading = true }
            return !state.isReading
        }
        if begins { reads.run { self.lookUp() } }
    }

    private func lookUp() {
        let lookups = state.withLock { state in
            defer { state.lookups = [] }
            return state.lookups
        }
        for lookup in lookups { lookup.completion(found(lookup)) }
        let isMore = state.withLock { state in
            state.isReading = !state.lookups.isEmpty
            return state.isReading
        }
        if isMore { reads.run { self.lookUp() } }
    }

    /// Finds the newest whole entry that the request selects. Bodies of other entries are neither read nor checked.
    private func found(_ lookup: Lookup) -> CacheFinding {
        adoptLeftovers()
        let pending = state.withLock { $0.pending.all(of: lookup.key) }.filter {
            $0.entry.id.principal == lookup.principal
        }
        let waiting = pending.filter { !isDoubtful($0) }.map(\.entry)
        let rows = rows(of: lookup)
        var found = CacheFinding(hasVariants: !waiting.isEmpty)
        let hour = CacheClock.now / 3_600_000
        var candidates = waiting.filter { lookup.selects($0.id.variant, $0.vary) }.map { (entry: $0, row: nil as Row?) }
        for row in rows ?? [] {
            guard !row.isOther else {
                found.hasVariants = true
                continue
            }
            guard let entry = row.entry else {
                drop(row)
                continue
            }
            let isGone = pending.contains { $0.entry.id == entry.id }
            if !isGone { candidates.append((entry, row)) }
        }
        for (entry, row) in candidates.sorted(by: { $0.entry.head.respondedAt > $1.entry.head.respondedAt }) {
            guard let row else {
                found.entry = entry
                break
            }
            guard isWhole(entry, row.bodyCheck) else {
                drop(row)
                continue
            }
            if row.usedHour != hour { use([entry.id]) }
            found.entry = entry
            break
        }
        return found
    }

    /// The rows of a lookup; none if removals keep ending during the read: a row that was read before such a removal
    /// would count as there.
    private func rows(of lookup: Lookup) -> [Row]? {
        for _ in 1...8 {
            let ended = state.withLock { $0.changes.endedRemovals }
            let rows = attempt(reader, isReadOnly: true) { database in
                try database.find(lookup.key, lookup.principal, selects: lookup.selects)
            }
            guard let rows, !rows.isEmpty else { return nil }
            let removed = rows.map { row in row.entry.map { isRemoved($0, row) } ?? false }
            if state.withLock({ $0.changes.endedRemovals }) == ended {
                return zip(rows, removed).compactMap { $1 ? nil : $0 }
            }
        }
        return nil
    }

    /// Whether another process has removed entries since the exchange began: lookups find the entry again once the writer
    /// has found out that its URL is not among them.
    private func isDoubtful(_ pending: PendingEntry) -> Bool {
        guard let since = pending.since else { return false }
        var now = removals
        // a vague mark is one of an instant
        for _ in 1...100 where now.foreign == nil { now = removals }
        return now.differs(from: since)
    }

    typealias Row = CacheDatabase.Row

    func isRemoved(_ entry: CachedEntry, _ row: Row) -> Bool {
        state.withLock { $0.changes.removes(entry, row: row.number) }
    }

    /// A damaged row is removed, and is a miss.
    func drop(_ row: Row) { enqueue(.purge(.number(row.number))) }

    private static let mostVerified = 10_000

    /// Whether a body in a file is there, with the bytes that were stored. The checksum is computed at the first use by this
    /// process, and again if the file has changed since.
    private func isWhole(_ entry: CachedEntry, _ check: Int64?) -> Bool {
        guard case .file(let name, let size) = entry.body else { return true }
        guard let changed = files.changed(name, size: size) else { return false }
        guard let check, reader.verified[name] != changed else { return true }
        guard files.checksum(name, size: size) == check else { return false }
        if reader.verified.count >= Self.mostVerified { reader.verified = [:] }
        reader.verified[name] = changed
        return true
    }

    /// Reads a part of a body on another thread.
    ///
    /// - Parameter open: the body, if already open.
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
}
