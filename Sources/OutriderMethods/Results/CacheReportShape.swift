// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON

/// The use of a cache for a response: the CacheReport of the contract.
struct CacheReportShape: ObjectShape {
    /// Nil for a request without a cache.
    var report: CacheReport?

    init(_ report: CacheReport?) { self.report = report }

    func encodeMembers(to writer: inout JSONWriter) {
        guard let report else { return writer.member("status", "bypass") }
        writer.member("status", report.status.rawValue)
        writer.member("forward", report.forward?.rawValue)
        if let age = report.age { writer.member("age", Int(age)) }
        if let timeToLive = report.timeToLive { writer.member("ttl", Int(timeToLive)) }
        if report.isStored { writer.member("stored", true) }
        if report.isCollapsed { writer.member("collapsed", true) }
        writer.member("reason", report.reason)
        writer.member("key", report.key)
        if report.isStored || report.isFromStore, let storedAt = report.storedAt {
            writer.member("storedAt", TimeShape(WallTime(milliseconds: storedAt)))
        }
        if !report.upstream.isEmpty { writer.member("upstream", report.upstream.map(CacheStatusShape.init)) }
    }
}

/// The report of a cache on the way: the CacheStatus of the contract.
private struct CacheStatusShape: ObjectShape {
    var status: CacheStatus

    init(_ status: CacheStatus) { self.status = status }

    func encodeMembers(to writer: inout JSONWriter) {
        writer.member("cache", status.cache)
        writer.member("hit", status.isHit)
        writer.member("forward", status.forward)
        writer.member("ttl", status.timeToLive)
        if status.isStored { writer.member("stored", true) }
        writer.member("detail", status.detail)
    }
}
