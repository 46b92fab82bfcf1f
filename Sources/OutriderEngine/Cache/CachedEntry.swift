// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

package import NIOCore
package import OutriderHTTP

/// What a stored response is found by: the keyed hashes of its URL, its principal and the fields that Vary names.
package struct CacheEntryID: Sendable, Hashable {
    package var key: CacheDigest
    package var principal: CacheDigest
    package var variant: CacheDigest
}

/// A stored response. Never changed: an update is another entry in its place.
package final class CachedEntry: Sendable {
    package enum Body: Sendable, Equatable {
        case memory(ByteBuffer)
        /// A file of the store, complete and synced.
        case file(name: String, size: Int)

        package var size: Int {
            switch self {
            case .memory(let bytes): bytes.readableBytes
            case .file(_, let size): size
            }
        }
    }

    package let id: CacheEntryID
    package let url: String
    package let head: CachedHead
    /// Names of the request fields that select the entry.
    package let vary: [String]
    package let body: Body
    package let tags: [String]
    /// Milliseconds since 1970.
    package let storedAt: Int64
    /// Notes of the client's code: a JSON object as text.
    package let userInfo: String?
    /// The entry does not go to the disk, though the cache has one.
    let isMemoryOnly: Bool
    /// Bytes that the entry takes in memory.
    let cost: Int
    /// Whether the body is JSON.
    let check: JSONCheck

    package init(
        id: CacheEntryID, url: String, head: CachedHead, vary: [String], body: Body, tags: [String], storedAt: Int64,
        userInfo: String? = nil, isMemoryOnly: Bool = false
    ) {
        self.id = id
        self.url = url
        self.head = head
        self.vary = vary
        self.body = body
        self.tags = tags
        self.storedAt = storedAt
        self.userInfo = userInfo
        self.isMemoryOnly = isMemoryOnly
        check = JSONCheck(size: body.size)
        var cost = 512 &+ url.utf8.count &+ (userInfo?.utf8.count ?? 0)
        for field in head.fields.list { cost &+= field.name.utf8.count &+ field.value.utf8.count &+ 64 }
        for text in vary { cost &+= text.utf8.count &+ 64 }
        for text in tags { cost &+= text.utf8.count &+ 64 }
        if case .memory(let bytes) = body { cost &+= bytes.storageCapacity }
        self.cost = cost
    }

    /// Whether the entry has the very tag, as the database compares.
    package func has(_ tag: String) -> Bool { tags.contains { $0.utf8.elementsEqual(tag.utf8) } }

    /// The same response with another head and body.
    func with(_ head: CachedHead, body: Body) -> CachedEntry {
        CachedEntry(
            id: id, url: url, head: head, vary: vary, body: body, tags: tags, storedAt: storedAt, userInfo: userInfo,
            isMemoryOnly: isMemoryOnly)
    }

    /// The same response under another head.
    func with(_ head: CachedHead, at now: Int64) -> CachedEntry {
        CachedEntry(
            id: id, url: url, head: head, vary: vary, body: body, tags: tags, storedAt: now, userInfo: userInfo,
            isMemoryOnly: isMemoryOnly)
    }
}

/// The time as caches count it.
package enum CacheClock {
    /// Milliseconds since 1970.
    package static var now: Int64 {
        let now = WallTime.now
        return Int64(now.seconds) &* 1000 &+ Int64(now.nanoseconds / 1_000_000)  // safe: Int is not wider
    }
}
