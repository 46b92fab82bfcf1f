// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// Stored responses in memory: found by URL and principal, the least recently used given up first.
struct CacheTable {
    private final class Node {
        let entry: CachedEntry
        /// The use after this one, nil for the latest, and the one before. Neither is owned, or the end of a long list
        /// would end the stack: the dictionary owns all nodes, and a node is unlinked when it leaves the dictionary.
        unowned(unsafe) var newer: Node?
        unowned(unsafe) var older: Node?
        /// Used since `takeUsed`.
        var isUsed = false

        init(_ entry: CachedEntry) { self.entry = entry }
    }

    /// By URL: the entries of all principals, at most `mostVariants` of each.
    private var nodes: [CacheDigest: [Node]] = [:]
    private var newest: Node?
    private var oldest: Node?
    private(set) var bytes = 0
    private(set) var count = 0

    /// Values of the fields that Vary names, for each URL and principal.
    static let mostVariants = 32
    /// Entries of one URL, of all principals: looking for one of them is a search through all.
    static let mostOfURL = 256

    /// The entries for a URL and a principal.
    func entries(_ key: CacheDigest, _ principal: CacheDigest) -> [CachedEntry] {
        guard let found = nodes[key] else { return [] }
        if found.count == 1, let only = found.first?.entry { return only.id.principal == principal ? [only] : [] }
        return found.compactMap { $0.entry.id.principal == principal ? $0.entry : nil }
    }

    func has(_ key: CacheDigest) -> Bool { nodes[key] != nil }

    func entries(_ key: CacheDigest) -> [CachedEntry] { nodes[key]?.map(\.entry) ?? [] }

    /// All entries, the latest first.
    var all: [CachedEntry] {
        var list: [CachedEntry] = []
        var node = newest
        while let next = node {
            list.append(next.entry)
            node = next.older
        }
        return list
    }

    /// Puts the entry in the place of one with the same id.
    mutating func put(_ entry: CachedEntry) {
        _ = remove(entry.id)
        let variants = entries(entry.id.key, entry.id.principal)
        if variants.count >= Self.mostVariants, let last = variants.min(by: { $0.storedAt < $1.storedAt }) {
            _ = remove(last.id)
        }
        if let all = nodes[entry.id.key], all.count >= Self.mostOfURL,
            let last = all.min(by: { $0.entry.storedAt < $1.entry.storedAt })
        {
            _ = remove(last.entry.id)
        }
        let node = Node(entry)
        nodes[entry.id.key, default: []].append(node)
        link(node)
        bytes &+= entry.cost
        count &+= 1
    }

    /// The entry is used now.
    mutating func touch(_ entry: CachedEntry) {
        if let newest, newest.entry === entry {
            newest.isUsed = true
            return
        }
        guard let node = nodes[entry.id.key]?.first(where: { $0.entry === entry }) else { return }
        node.isUsed = true
        unlink(node)
        link(node)
    }

    /// The entries that were used since the last call, those used last at the end.
    func takeUsed() -> [CacheEntryID] {
        var ids: [CacheEntryID] = []
        var node = oldest
        while let next = node {
            if next.isUsed { ids.append(next.entry.id) }
            next.isUsed = false
            node = next.newer
        }
        return ids
    }

    @discardableResult
    mutating func remove(_ id: CacheEntryID) -> CachedEntry? {
        guard var list = nodes[id.key], let index = list.firstIndex(where: { $0.entry.id == id }) else { return nil }
        let node = list.remove(at: index)
        nodes[id.key] = list.isEmpty ? nil : list
        unlink(node)
        bytes &-= node.entry.cost
        count &-= 1
        return node.entry
    }

    /// Removes all entries of a URL, of all principals.
    mutating func remove(_ key: CacheDigest) -> [CachedEntry] {
        let found = entries(key)
        for entry in found { remove(entry.id) }
        return found
    }

    /// Gives up the least recently used entries until the limits hold.
    mutating func evict(bytes most: Int, count mostCount: Int) -> [CachedEntry] {
        var given: [CachedEntry] = []
        while bytes > most || count > mostCount, let last = oldest?.entry {
            remove(last.id)
            given.append(last)
        }
        return given
    }

    mutating func removeAll() -> [CachedEntry] { evict(bytes: -1, count: 0) }

    private mutating func link(_ node: Node) {
        node.older = newest
        newest?.newer = node
        newest = node
        if oldest == nil { oldest = node }
    }

    private mutating func unlink(_ node: Node) {
        if let newer = node.newer { newer.older = node.older } else { newest = node.older }
        if let older = node.older { older.newer = node.newer } else { oldest = node.newer }
        node.newer = nil
        node.older = nil
    }
}
