// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// What becomes of a body that has come whole.
extension CacheFlight {
    /// The body is there: it becomes an entry.
    func complete() {
        defer { end(cancels: false) }
        guard isStoring, let response, machine.isStorable, !isInvalidated else { return }
        var body = ByteBuffer()
        body.reserveCapacity(total)
        for piece in pieces { body.writeImmutableBuffer(piece) }
        let head = CachedHead(
            status: response.status, reason: response.reason, version: response.version,
            CachedHead.kept(of: response.fields), requestedAt: requestedAt, respondedAt: respondedAt,
            fallback: order.query.spec.maxAge)
        let id = CacheEntryID(
            key: order.place.key, principal: order.place.principal, variant: order.place.variant(names))
        let groups = CacheGroups.names(response.fields.all("Cache-Groups"), of: order.query.url)
        let entry = CachedEntry(
            id: id, url: order.place.url, head: head, vary: names, body: .memory(body),
            tags: order.query.spec.tags + groups, storedAt: respondedAt)
        store.put(entry)
    }
}
