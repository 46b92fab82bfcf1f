// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderHTTP

/// The place of a request in a cache: what its response is stored under.
struct CachePlace: Sendable {
    let key: CacheDigest
    let principal: CacheDigest
    /// The URL that is shown, and that an invalidation names.
    let url: String
    /// The request carries no credential.
    let isForAll: Bool
    /// Tags of the credential and the jar with which the entry ends.
    let owners: [String]
    private let fields: HTTPFields
    private let coding: String?
    private let secret: CacheSecret

    /// - Parameters:
    ///   - url: what names the URL, and its key.
    ///   - principal: the text from which the principal is made.
    ///   - owners: what the entry ends with, as `oauth:NAME` or `jar:NAME`.
    ///   - coding: the Accept-Encoding that the service itself sends.
    init(
        _ attempt: Attempt, _ spec: CacheSpec, url: (text: String, key: CacheDigest), principal: String,
        isForAll: Bool, owners: [String], coding: String?, secret: CacheSecret
    ) {
        self.owners = owners.map { CacheOwner.tag($0, secret) }
        self.isForAll = isForAll
        self.url = url.text
        fields = attempt.fields
        self.coding = coding
        self.secret = secret
        key = url.key
        var owner = principal
        if !attempt.decodesContent { owner += "raw\n" }
        owner += CacheKey.owner(spec.vary, of: fields)
        self.principal = secret.digest(owner)
    }

    /// The hash of the fields of this request that Vary names.
    func variant(_ names: [String]) -> CacheDigest {
        names.isEmpty ? .empty : secret.digest(CacheKey.variant(names, of: fields, coding: coding) + "\n")
    }

    /// The entry that this request selects; of several the one that was made last.
    func select(of entries: [CachedEntry]) -> CacheFinding {
        if entries.count == 1, let entry = entries.first, entry.vary.isEmpty, entry.id.variant == .empty {
            return CacheFinding(entry: entry, hasVariants: true)
        }
        let matching = entries.filter { $0.id.variant == variant($0.vary) }
        let newest = matching.max { $0.head.respondedAt < $1.head.respondedAt }
        return CacheFinding(entry: newest, hasVariants: !entries.isEmpty)
    }
}

extension CachedEntry {
    /// The same, selected as a new Vary of the head says; nil if that selects no request.
    ///
    /// - Parameter place: of the request whose response has changed the head.
    func with(_ head: CachedHead, at now: Int64, for place: CachePlace) -> CachedEntry? {
        if head.fields.all("Vary") == self.head.fields.all("Vary") { return with(head, at: now) }
        guard case .names(let names) = VaryNames(head.fields) else { return nil }
        let id = CacheEntryID(key: id.key, principal: id.principal, variant: place.variant(names))
        return CachedEntry(
            id: id, url: url, head: head, vary: names, body: body, tags: tags, storedAt: now, userInfo: userInfo,
            isMemoryOnly: isMemoryOnly)
    }
}
