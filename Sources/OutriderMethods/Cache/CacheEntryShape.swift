// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// An entry of a cache: the CacheEntry of the contract.
struct CacheEntryShape: ObjectShape {
    var entry: CachedEntry
    /// Of requests without credentials, with the key of the session.
    var principal = CacheDigest.empty
    var now = CacheClock.now
    var showsHeaders = false

    func encodeMembers(to writer: inout JSONWriter) {
        let head = entry.head
        writer.member("url", Redaction.masked.url(entry.url))
        writer.member("status", head.status)
        writer.member("size", entry.body.size)
        writer.member("age", head.freshness.age(at: now))
        writer.member("ttl", head.freshness.timeToLive(at: now))
        writer.member("fresh", head.needsNoServer(at: now))
        writer.member("storedAt", TimeShape(WallTime(milliseconds: entry.storedAt)))
        writer.member("forAll", entry.id.principal == .empty || entry.id.principal == principal)
        if !entry.vary.isEmpty { writer.member("vary", entry.vary) }
        let tags = CacheOwner.shown(entry.tags)
        if !tags.isEmpty { writer.member("tags", tags) }
        if let info = entry.userInfo { writer.member("userInfo", try? JSONParser.parse(Array(info.utf8))) }
        if showsHeaders { writer.member("headers", FieldsShape(Redaction.masked.fields(head.fields))) }
    }
}
