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
    ///   - url: the key of the URL, if known.
    ///   - principal: the text from which the principal is made.
    ///   - owners: what the entry ends with, as `oauth:NAME` or `jar:NAME`.
    ///   - coding: the Accept-Encoding that the service itself sends.
    init(
        _ attempt: Attempt, _ spec: CacheSpec, url known: (text: String, key: CacheDigest)? = nil, principal: String,
        isForAll: Bool, owners: [String], coding: String?, of store: CacheStore
    ) {
        let secret = store.secret
        self.owners = owners.map { CacheOwner.tag($0, secret) }
        self.isForAll = isForAll
        url = known?.text ?? CacheKey.text(attempt.url, ignoring: spec.ignoredQuery)
        fields = attempt.fields
        self.coding = coding
        self.secret = secret
        key = known?.key ?? store.key(of: url)
        var owner = principal
        if !attempt.decodesContent { owner += "raw\n" }
        if !spec.vary.isEmpty {
            owner += "vary\n" + CacheKey.variant(spec.vary.map { $0.lowercased() }.sorted(), of: fields)
        }
        self.principal = secret.digest(owner)
    }

    /// The hash of the fields of this request that Vary names.
    func variant(_ names: [String]) -> CacheDigest {
        names.isEmpty ? .empty : secret.digest(CacheKey.variant(names, of: fields, coding: coding) + "\n")
    }

    /// The entry that this request selects; of several the one that was made last.
    func select(of entries: [CachedEntry]) -> CacheStore.Found {
        if entries.count == 1, let entry = entries.first, entry.vary.isEmpty, entry.id.variant == .empty {
            return CacheStore.Found(entry: entry, hasVariants: true)
        }
        let matching = entries.filter { $0.id.variant == variant($0.vary) }
        let newest = matching.max { $0.head.respondedAt < $1.head.respondedAt }
        return CacheStore.Found(entry: newest, hasVariants: !entries.isEmpty)
    }
}
