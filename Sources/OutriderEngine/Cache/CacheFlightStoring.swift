// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import NIOCore
import OutriderHTTP
import OutriderTransport

/// What becomes of a body that has come whole.
extension CacheFlight {
    var store: CacheStore { order.binding.store }

    /// Bytes that a piece takes: small pieces take more than they hold.
    static func cost(of piece: ByteBuffer) -> Int { piece.readableBytes &+ 256 }

    /// No single request holds the exchange up. Once several wait for it, no limit of a single one ends it, either: each has
    /// limits of its own.
    func share() {
        observer.share()
        guard readers.count > 1 else { return }
        observer.lift()
        readers[0]?.limitTime()
    }

    /// Bytes of the body on the wire so far.
    var arrived: Int64 { response?.body.wireBytes?.got ?? Int64(total) }  // safe: an Int is an Int64

    /// Reads a short body to its end, so that its connection can be used again; gives up any other.
    static func discard(_ response: AttemptResponse, of inner: (any LoopAttempt)?) {
        let most = 16 << 10
        guard let inner, (response.body.expectedBytes ?? 0) <= Int64(most) else { return response.body.abandon() }
        discard(response.body, of: inner, most)
    }

    private static func discard(_ body: any AttemptResponseBody, of inner: any LoopAttempt, _ most: Int) {
        var left = most
        while left >= 0 {
            let before = left
            let ready = inner.poll { result in
                guard case .success(let piece?) = result else { return }
                Self.discard(body, of: inner, before &- piece.readableBytes)
            }
            guard case .success(let piece?)? = ready else { return }
            left &-= piece.readableBytes
        }
        body.abandon()
    }

    /// The body is complete and becomes an entry, unchanged or as the client's code changes the draft.
    func complete() {
        guard isStoring, let response, machine.isStorable, !isInvalidated else { return finishUnstored() }
        var body = ByteBuffer()
        body.reserveCapacity(total)
        for piece in pieces { body.writeImmutableBuffer(piece) }
        let spec = order.query.spec
        guard case .modify(let name) = spec.cacher else {
            return commit(response, body, isMemoryOnly: spec.isMemoryOnly)
        }
        guard let watcher = observer.watcher, total <= CacheDraft.mostBytes else { return finishUnstored() }
        let draft = CacheDraft(
            status: response.status, fields: CachedHead.kept(of: response.fields, withCookies: store.keepsCookies),
            body: Array(body.readableBytesView), isMemoryOnly: spec.isMemoryOnly)
        let attempt = order.attempt
        let loop = transport.loop
        decision = Task {
            let changed = await watcher.changed(draft, by: name, for: attempt)
            loop.execute { self.decided(changed) }
        }
    }

    private func decided(_ draft: CacheDraft?) {
        decision = nil
        let isWanted = isStoring && machine.isStorable && !isInvalidated
        if let draft, let response, isWanted, draft.body.count <= store.limits.longestBody,
            case .names(let chosen) = VaryNames(draft.fields)
        {
            var response = response
            response.fields = draft.fields
            // the code says which requests the response is for
            names = chosen
            _ = store.flights.learn(chosen, for: order.place.key)
            return commit(
                response, ByteBuffer(bytes: draft.body), isMemoryOnly: draft.isMemoryOnly, userInfo: draft.userInfo)
        }
        finishUnstored()
    }

    /// The response has come whole, and nothing of it is kept: what is stored for its URL is older.
    private func finishUnstored() {
        // before a reader ends that does not wait for the store
        report?.retract()
        guard let response, CachePolicy.isAboutResource(response.status) else { return finish() }
        outdate { self.finish() }
    }

    /// Stores the response, and ends the exchange: what a client asks for next finds the entry.
    private func commit(
        _ response: AttemptResponse, _ body: ByteBuffer, isMemoryOnly: Bool, userInfo: String? = nil
    ) {
        let head = CachedHead(
            status: response.status, reason: response.reason, version: response.version,
            CachedHead.kept(of: response.fields, withCookies: store.keepsCookies), requestedAt: requestedAt,
            respondedAt: respondedAt, fallback: order.query.spec.maxAge)
        let id = CacheEntryID(
            key: order.place.key, principal: order.place.principal, variant: order.place.variant(names))
        let groups = CacheGroups.names(response.fields.all("Cache-Groups"), of: order.query.url)
        let entry = CachedEntry(
            id: id, url: order.place.url, head: head, vary: names, body: .memory(body),
            tags: order.query.spec.tags + groups + order.place.owners, storedAt: respondedAt, userInfo: userInfo,
            isMemoryOnly: isMemoryOnly)
        if response.status == 206 { return join(entry, body, isMemoryOnly: isMemoryOnly) }
        finish(isKept: put(entry, isMemoryOnly: isMemoryOnly))
    }

    /// Keeps a confirmed entry, and returns the readers for which its new Vary does not select it.
    func update(_ entry: CachedEntry, to head: CachedHead) -> [CachedAttempt] {
        let updated = entry.with(head, at: respondedAt, for: order.place)
        if machine.isStorable, !isInvalidated, !store.flights.isReplaced(entry) {
            store.replace(entry, with: updated, since: order.found ?? .init(serial: serial, removals: removals))
        }
        let others = readers.filter { number, reader in
            // Vary that selects no request leaves the entry to the request that was sent
            updated.map { reader.place.variant($0.vary) != $0.id.variant } ?? (number != 0)
        }
        for number in others.keys { readers[number] = nil }
        return Array(others.values)
    }

    /// The server has another response, which is not stored: the stored one is not suitable any more (RFC 9111 section
    /// 4.3.3), and each use of it needs the server's word.
    func outdate(then completion: @escaping @Sendable () -> Void = {}) {
        guard let entry = order.entry else { return completion() }
        let store = store
        let moment = CacheStore.Moment(serial: store.flights.begin(), removals: store.disk?.removals)
        store.find(order.place, on: transport.loop) { found in
            defer {
                store.flights.end()
                completion()
            }
            // unless another exchange has replaced the entry
            guard let current = found.entry, current.head == entry.head else { return }
            store.replace(current, with: nil, since: moment)
        }
    }

    /// Whether no other process has removed entries since the exchange began: else its response may be outdated.
    var isCurrent: Bool {
        guard let removals, let disk = store.disk else { return true }
        return !disk.removals.differs(from: removals)
    }

    /// Stores an entry that was not removed since the exchange began.
    @discardableResult
    func keep(_ entry: CachedEntry, isMemoryOnly: Bool = false) -> Bool {
        store.keep(entry, isMemoryOnly: isMemoryOnly, since: .init(serial: serial, removals: removals))
    }

    private func put(_ entry: CachedEntry, isMemoryOnly: Bool) -> Bool {
        // an exchange that was begun later has stored its response already
        guard store.flights.isLatest(entry) else { return false }
        guard keep(entry, isMemoryOnly: isMemoryOnly) else {
            outdate()
            return false
        }
        observer.watcher?.tellStored(entry, in: store)
        return true
    }

    /// Stores a part: joined with the part that is stored, or in its place. A whole response stays, and is refreshed.
    private func join(_ entry: CachedEntry, _ body: ByteBuffer, isMemoryOnly: Bool) {
        guard let part = entry.head.part, part.range.count == body.readableBytes else { return finish() }
        let requestedAt = requestedAt
        let end: @Sendable (CachedEntry?) -> Void = { entry in
            self.finish(isKept: entry.map { self.put($0, isMemoryOnly: isMemoryOnly) } ?? false)
        }
        store.find(order.place, on: transport.loop) { found in
            guard let old = found.entry, old.head.isCombinable(with: entry.head) else { return end(entry) }
            guard let oldPart = old.head.part else {
                guard old.head.status == 200 else { return end(entry) }
                let head = old.head.updated(
                    by: entry.head.fields, requestedAt: requestedAt, respondedAt: entry.head.respondedAt,
                    fallback: entry.head.fallback, withCookies: self.store.keepsCookies)
                let updated = old.with(head, at: entry.storedAt, for: self.order.place)
                end(updated)
                if updated?.id != old.id { self.store.remove(old.id) }
                return
            }
            guard let joined = part.joined(with: oldPart), joined.range.count <= self.store.limits.longestBody else {
                return end(entry)
            }
            self.store.read(old, on: self.transport.loop) { oldBody in
                guard let oldBody else { return end(entry) }
                let bytes = Self.joined(body, at: part.range, oldBody, at: oldPart.range, as: joined.range)
                end(entry.with(entry.head.joined(joined), body: .memory(bytes)))
            }
        }
    }

    /// The new part over the old part.
    private static func joined(
        _ new: ByteBuffer, at place: Range<Int>, _ old: ByteBuffer, at oldPlace: Range<Int>, as whole: Range<Int>
    ) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.reserveCapacity(whole.count)
        var old = old
        let before = max(0, place.lowerBound &- oldPlace.lowerBound)
        if let head = old.readSlice(length: min(before, old.readableBytes)) { bytes.writeImmutableBuffer(head) }
        bytes.writeImmutableBuffer(new)
        let after = max(0, oldPlace.upperBound &- place.upperBound)
        if let tail = old.getSlice(
            at: old.writerIndex &- min(after, old.readableBytes), length: min(after, old.readableBytes))
        {
            bytes.writeImmutableBuffer(tail)
        }
        return bytes
    }
}
