// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
package import OutriderHTTP

/// Methods of users: looking into a cache, and changing a cache by hand.
extension CacheStore {
    /// An entry, and the number behind which a list goes on.
    package typealias Numbered = (number: Int64, entry: CachedEntry)

    /// A part of a list.
    package struct Page: Sendable {
        package var entries: [Numbered]
        /// The number behind which the list continues; nil at its end.
        package var next: Int64?
    }

    /// Entries behind a number: in a store in the order of their arrival, in memory the last used first.
    package func list(after number: Int64, most: Int) async -> Page {
        if let disk { return await disk.list(after: number, most: most) }
        let rest = entries.dropFirst(Int(clamping: number)).prefix(most)
        // safe: Int is not wider
        let found = rest.enumerated().map { (number: number &+ Int64($0.offset) &+ 1, entry: $0.element) }
        return Page(entries: found, next: found.count < most ? nil : found.last?.number)
    }

    /// The entries of a URL, for all principals and values of Vary.
    package func entries(of url: String) async -> [CachedEntry] {
        let key = secret.digest(url)
        let hot = entries(with: key)
        guard let disk else { return hot }
        let found = await disk.entries(key)
        return found + hot.filter { entry in !found.contains { $0.id == entry.id } }
    }

    /// Removes the entries that the purge selects; returns their number.
    package func remove(_ purge: CachePurge) async -> Int {
        let before = await usedNow().entries
        self.purge(purge)
        await disk?.settled()
        return max(0, before &- (await usedNow().entries))
    }

    /// Bytes and entries: of the store on disk, or of a cache in memory.
    package func usedNow() async -> (bytes: Int, entries: Int) {
        guard let disk else { return usage }
        await disk.settled()
        return await disk.totals()
    }

    /// A stored body, or a part of a body; nil if the file is gone.
    package func bytes(of entry: CachedEntry, _ range: Range<Int>) async -> [UInt8]? {
        switch entry.body {
        case .memory(let buffer):
            return buffer.getBytes(at: buffer.readerIndex &+ range.lowerBound, length: range.count)
        case .file(let name, let size):
            guard let disk else { return nil }
            return await withUnsafeContinuation { continuation in
                disk.read(name, size: size, range) { result in
                    if case .success(let found) = result { return continuation.resume(returning: found.bytes) }
                    continuation.resume(returning: nil)
                }
            }
        }
    }

    /// The principal that this store makes of a text; empty for an empty text.
    package func principal(of text: String) -> CacheDigest { secret.digest(text) }

    /// Why a response of the caller's own is not stored.
    package enum PutObstacle: Error, Sendable {
        case longBody(Int)
        case longHead(Int)
        case longURL(Int)
        /// Vary selects no request.
        case vary
        case unwritable(String)
    }

    /// Stores a response of the caller's own, for requests without credentials.
    ///
    /// - Parameters:
    ///   - text: what `CacheKey` makes of the URL.
    ///   - principal: of the requests that the response serves.
    package func put(
        key text: String, principal: CacheDigest = .empty, status: Int, _ fields: HTTPFields, _ body: [UInt8],
        tags: [String]
    ) -> Result<CachedEntry, PutObstacle> {
        guard case .names(let names) = VaryNames(fields) else { return .failure(.vary) }
        guard body.count <= limits.longestBody else { return .failure(.longBody(limits.longestBody)) }
        let now = CacheClock.now
        guard text.utf8.count <= CacheKey.mostBytes else { return .failure(.longURL(CacheKey.mostBytes)) }
        let head = CachedHead(
            status: status, reason: "", version: "1.1", CachedHead.kept(of: fields, withCookies: keepsCookies),
            requestedAt: now, respondedAt: now)
        let variant = names.isEmpty ? CacheDigest.empty : secret.digest("\n")
        let entry = CachedEntry(
            id: CacheEntryID(key: secret.digest(text), principal: principal, variant: variant), url: text, head: head,
            vary: names, body: .memory(ByteBuffer(bytes: body)), tags: tags, storedAt: now)
        guard CachedHeadCoding.encode(head, vary: names, tags: tags) != nil else {
            return .failure(.longHead(CachedHeadCoding.mostBytes))
        }
        guard put(entry) else { return .failure(.unwritable(problem ?? "too many responses wait for the disk")) }
        return .success(entry)
    }

    /// Writes pending changes to the disk, and closes the store.
    package func close() async { await disk?.close() }

    /// What is wrong with the store; nil for nothing.
    package func fault() async -> String? { await disk?.fault() }
}
