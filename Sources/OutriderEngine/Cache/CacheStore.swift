// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
package import OutriderHTTP
import Synchronization

/// One cache: stored responses, in memory or on disk behind a table in memory, and the exchanges that fill it.
///
/// Responsible for: finding, storing and removing entries within the limits.
/// Not responsible for: which entry may be used (`CachePolicy`), and what is stored (`StoreDecision`).
package final class CacheStore: Sendable {
    /// Nil for the cache of one session.
    package let name: String?
    /// Whether cookies are stored with their responses: only for a session of a single client.
    let keepsCookies: Bool
    let secret: CacheSecret
    /// Nil if all entries are in memory.
    let disk: DiskCache?
    /// Why there is no disk, though there should be one.
    private let openingProblem: String?
    let state: Mutex<State>
    /// What all caches of the process share.
    let budget: CacheBudget
    /// The exchanges that requests share.
    let flights = CacheFlights()

    struct State {
        var table = CacheTable()
        var limits: CacheLimits
        var counts = CacheCounts()
        /// Bytes of bodies that are on their way into the cache.
        var filling = 0
        /// Entries that gave way, as far as observers know.
        var toldEvicted = 0
        /// Counted up by each removal: what was read before is not kept.
        var removals = 0
        /// The keys of URLs that were looked for lately.
        var keys: [String: CacheDigest] = [:]
    }

    /// Bytes of entries in memory in front of a cache on disk.
    static let hotBytes = 8 << 20
    /// The longest body that stays in memory in front of a cache on disk.
    package static let hotBody = 64 << 10
    /// Bytes of bodies that may be on their way into one cache.
    private static let mostFilling = 64 << 20

    package init(
        name: String? = nil, _ limits: CacheLimits, isShared: Bool = false,
        secret: CacheSecret = CacheStore.randomSecret(),
        disk: DiskCache? = nil, problem: String? = nil, user: Int? = nil, budget: CacheBudget = .process
    ) {
        self.name = name
        keepsCookies = name == nil && !isShared
        self.budget = budget
        self.secret = secret
        self.disk = disk
        openingProblem = problem
        state = Mutex(State(limits: limits))
        budget.join(self, user: user)
        disk?.attach(self)
    }

    deinit { budget.leave(self) }

    package static func randomSecret() -> CacheSecret {
        var generator = SystemRandomNumberGenerator()
        return CacheSecret((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    package var limits: CacheLimits { state.withLock { $0.limits } }

    package var counts: CacheCounts {
        var counts = state.withLock { $0.counts }
        if let disk { counts.evicted = disk.evicted }
        return counts
    }

    /// The directory of the store; nil for a cache in memory.
    package var path: String? { disk?.directory }

    /// Whether the directory of the store was removed or replaced: the cache is to be opened anew.
    package var isLost: Bool { disk?.isLost ?? false }

    /// Why entries do not go to the disk at present; nil if they do.
    package var problem: String? { disk?.problem ?? openingProblem }

    /// Bytes and entries in memory.
    package var usage: (bytes: Int, entries: Int) { state.withLock { ($0.table.bytes, $0.table.count) } }

    /// Entries that gave way since this was asked last.
    func takeEvicted() -> Int {
        let now = counts.evicted
        return state.withLock { state in
            defer { state.toldEvicted = now }
            return now &- state.toldEvicted
        }
    }

    func count(_ change: (inout CacheCounts) -> Void) { state.withLock { change(&$0.counts) } }

    /// Counts a response from the store.
    func count(_ report: CacheReport) {
        count { counts in
            switch report.status {
            case .hit: counts.hits += 1
            case .revalidated: counts.revalidated += 1
            case .stale, .updating: counts.stale += 1
            case .bypass, .miss: break
            }
        }
    }

    /// Other limits from now on; what is too much is given up at once.
    package func change(_ limits: CacheLimits) {
        state.withLock { state in
            state.limits = limits
            evict(&state)
        }
        disk?.change(limits)
    }

    /// Another limit of bytes, with the other limits as they are.
    package func change(maxBytes: Int) {
        var limits = limits
        guard limits.maxBytes != maxBytes else { return }
        limits.maxBytes = maxBytes
        change(limits)
    }

    // MARK: changing

    /// Stores the entry in the place of one with the same id.
    ///
    /// - Parameters:
    ///   - isMemoryOnly: the entry does not go to the disk, though the cache has one.
    ///   - mark: the removals before the exchange began; nil for an entry of the caller's own.
    /// - Returns: whether the entry is stored or on its way.
    @discardableResult
    package func put(_ entry: CachedEntry, isMemoryOnly: Bool = false) -> Bool { put(entry, isMemoryOnly, since: nil) }

    /// How much was removed when an exchange began.
    struct Moment {
        /// Of `flights`.
        var serial: Int
        /// Nil for a cache in memory.
        var removals: RemovalCount.Mark?
    }

    /// Stores an entry that was not removed since its exchange began; whether the entry is stored or on its way.
    @discardableResult
    func keep(_ entry: CachedEntry, isMemoryOnly: Bool = false, since moment: Moment) -> Bool {
        func isRemoved() -> Bool {
            flights.isInvalidated(entry.id.key, since: moment.serial)
                || flights.isPurged(entry, since: moment.serial)
        }
        if isRemoved() { return false }
        let isStored = put(entry, isMemoryOnly, since: moment.removals)
        // another thread may have removed entries between the look and the change
        guard isRemoved() else { return isStored }
        remove(entry.id)
        return false
    }

    /// Stores an entry with a changed head in the place of the old one, which is gone if Vary selects other requests
    /// now, or if the head says no-store.
    ///
    /// - Parameter entry: nil if Vary selects no request, or if the server has another response: each use of the old
    ///   entry then needs the server's word. A response that is being served may still need its file.
    func replace(_ old: CachedEntry, with entry: CachedEntry?, since moment: Moment) {
        let isForbidden = entry.map { StoreDecision.isForbidden($0.head.freshness.control, status: $0.head.status) }
        if isForbidden == true, case .memory = old.body { return remove(old.id) }
        guard let entry, isForbidden == false else {
            var head = old.head
            head.isOutdated = true
            keep(old.with(head, at: old.storedAt), since: moment)
            return
        }
        if entry.vary != old.vary { _ = flights.learn(entry.vary, for: entry.id.key) }
        keep(entry, since: moment)
        if entry.id != old.id { remove(old.id) }
    }

    @discardableResult
    private func put(_ entry: CachedEntry, _ isMemoryOnly: Bool, since mark: RemovalCount.Mark?) -> Bool {
        // another process has removed entries meanwhile: the writer finds out whether of this URL
        let isDoubtful = mark.map { disk?.removals.differs(from: $0) ?? false } ?? false
        let isHot = (disk == nil || entry.body.isHot) && !isDoubtful
        if isHot { state.withLock { heat(entry, &$0) } }
        budget.relieve(0, for: self)
        let isOnDisk = putOnDisk(entry, isMemoryOnly, since: mark)
        if !isHot { cool(entry) }
        let isStored = isOnDisk || isHot
        if !isOnDisk { removeRow(of: entry) }
        if isStored { count { $0.stored += 1 } }
        return isStored
    }

    /// An older response in memory, or one that a lookup under way brings there, would hide the entry.
    private func cool(_ entry: CachedEntry) {
        state.withLock { state in
            state.removals += 1
            let old = state.table.entries(entry.id.key).first { $0.id == entry.id }
            guard let old, old !== entry, old.head.respondedAt <= entry.head.respondedAt else { return }
            state.table.remove(entry.id)
            charge(&state)
        }
    }

    /// An older response on the disk would come back once the entry has left the memory.
    private func removeRow(of entry: CachedEntry) {
        guard let disk else { return }
        // most have none, and a removal is a transaction that all processes hear of
        let lookup = DiskCache.Lookup(key: entry.id.key, principal: entry.id.principal) { variant, _ in
            variant == entry.id.variant
        } completion: { found in
            guard let row = found.entry, entry.supersedes(row) else { return }
            disk.supersede(row)
            self.cool(entry)
        }
        disk.find(lookup)
    }

    private func putOnDisk(_ entry: CachedEntry, _ isMemoryOnly: Bool, since mark: RemovalCount.Mark?) -> Bool {
        guard let disk, !isMemoryOnly, !entry.isMemoryOnly else { return false }
        // the store has a limit of its own for bodies that wait
        let size = entry.body.size
        guard budget.take(size, for: self) else { return false }
        if disk.put(entry, since: mark) { return true }
        budget.giveBack(size, by: self)
        return false
    }

    func evict(_ state: inout State) {
        let most = disk == nil ? state.limits.maxBytes : min(Self.hotBytes, state.limits.maxBytes)
        let given = state.table.evict(bytes: most, count: state.limits.maxEntries).count
        charge(&state)
        if disk == nil { state.counts.evicted += given }
    }

    /// Tells the budget of the process what the table holds now.
    func charge(_ state: inout State) { budget.hold(state.table.bytes, by: self) }

    package func remove(_ id: CacheEntryID) {
        disk?.remove(id)
        state.withLock { state in
            state.removals += 1
            _ = state.table.remove(id)
            charge(&state)
        }
    }

    /// Removes what a response makes invalid. Exchanges under way for these URLs store nothing.
    func invalidate(_ invalidation: Invalidation, ignoring names: [String] = []) {
        for url in invalidation.urls {
            remove(url: CacheKey.text(url))
            if !names.isEmpty { remove(url: CacheKey.text(url, ignoring: names)) }
        }
        for group in invalidation.groups { remove(tag: group) }
    }

    /// Removes all entries with a tag. Exchanges under way store no entry with the tag.
    package func remove(tag: String) { purge(.tag(tag)) }

    /// Removes the entries that the purge selects, also those of exchanges under way.
    func purge(_ purge: CachePurge) {
        flights.purge(purge)
        // the disk first: a lookup meanwhile would bring an entry from there back into memory
        disk?.remove(purge)
        _ = removeAll { purge.matches($0) }
    }

    /// Removes all entries of a URL; returns how many were in memory.
    @discardableResult
    package func remove(url: String) -> Int {
        let key = secret.digest(url)
        flights.unkey(key)
        disk?.remove(key: key)
        return state.withLock { state in
            state.removals += 1
            let count = state.table.remove(key).count
            charge(&state)
            state.counts.invalidated += count
            return count
        }
    }

    /// Removes the entries in memory for which the condition holds.
    package func removeAll(where condition: (CachedEntry) -> Bool) -> Int {
        state.withLock { state in
            state.removals += 1
            let found = state.table.all.filter(condition)
            for entry in found { state.table.remove(entry.id) }
            charge(&state)
            return found.count
        }
    }

    /// The entries in memory with that key.
    func entries(with key: CacheDigest) -> [CachedEntry] { state.withLock { $0.table.entries(key) } }

    /// All entries in memory, the last used first.
    package var entries: [CachedEntry] { state.withLock { $0.table.all } }

    // MARK: filling

    /// Whether so many bytes more may be on their way into the cache.
    func reserve(_ bytes: Int) -> Bool {
        let fits = state.withLock { state in
            guard state.filling &+ bytes <= Self.mostFilling else { return false }
            state.filling &+= bytes
            return true
        }
        guard fits else { return false }
        if budget.take(bytes, for: self) { return true }
        state.withLock { $0.filling &-= bytes }
        return false
    }

    func release(_ bytes: Int) {
        state.withLock { $0.filling &-= bytes }
        budget.giveBack(bytes, by: self)
    }
}

extension CacheStore: DiskCacheOwner {
    func takeUsed() -> [CacheEntryID] { state.withLock { $0.table.takeUsed() } }

    func written(_ bytes: Int) { budget.giveBack(bytes, by: self) }

    func lost(_ entry: CachedEntry) { removeRow(of: entry) }

    func adopted(_ change: CacheChange) {
        switch change {
        case .removeKey(let key): flights.unkey(key)
        case .purge(let purge): flights.purge(purge)
        case .put, .remove, .supersede, .rest, .forget, .wake: break
        }
    }
}

extension CacheStore {
    /// Gives up entries of at least so many bytes, if there are so many; returns the bytes that are free now.
    func giveUp(_ bytes: Int) -> Int {
        state.withLock { state in
            let before = state.table.bytes
            let given = state.table.evict(bytes: max(0, before &- bytes), count: .max).count
            if disk == nil { state.counts.evicted += given }
            charge(&state)
            return before &- state.table.bytes
        }
    }
}

extension CachedEntry {
    /// Whether an entry that is in memory only, or nowhere, ends the row of its place on the disk.
    fileprivate func supersedes(_ row: CachedEntry) -> Bool {
        // stored later
        if row.head.respondedAt > head.respondedAt { return false }
        if isMemoryOnly || head.isOutdated || row.body != body { return true }
        // the same response, confirmed: its row is of use unless it stays fresh for longer than the server now says
        let now = CacheClock.now
        return row.head.isFresh(at: now) && !head.isFresh(at: now)
    }
}

extension CachedEntry.Body {
    /// Whether the body may stay in memory in front of a store on disk.
    var isHot: Bool {
        if case .memory(let bytes) = self { return bytes.readableBytes <= CacheStore.hotBody }
        return false
    }
}
