// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderHTTP
import OutriderJSON
import OutriderRPC

/// Which cache a call is about: one with a name, or that of a session; the client's own without both.
struct CacheReference {
    private var name: String?
    private var session: SessionReference?

    init(_ fields: inout JSONFields) throws(JSONComplaint) {
        name = try fields.optional("cache", check: CacheChoice.fault)
        session = try fields.optional("session")
        if name != nil, session != nil {
            throw JSONComplaint(
                "cache and session exclude each other: name the cache or its session",
                at: JSONPointer(member: "session"))
        }
    }

    /// The parameters of a query that the key of the session leaves out.
    func ignoredQuery(_ call: Call<ClientScope>) throws(RPCError) -> [String] {
        try session?.resolved(call.scope)?.settings.cache?.spec.ignoredQuery ?? []
    }

    /// The principal of requests of the session without credentials: with the session's own word for the principal, and
    /// its own values of the fields that its key names.
    func principal(_ call: Call<ClientScope>, in store: CacheStore) throws(RPCError) -> CacheDigest {
        guard let settings = try session?.resolved(call.scope)?.settings, let cache = settings.cache else {
            return .empty
        }
        let named = cache.spec.principal.map { CachePrincipal.text(named: $0) } ?? ""
        return store.principal(of: named + CacheKey.owner(cache.spec.vary, of: settings.spec.fields))
    }

    /// - Parameter makes: makes a named cache that does not exist; else an empty cache stands for it.
    func resolved(_ call: Call<ClientScope>, makes: Bool = false) async throws(RPCError) -> CacheStore {
        let scope = call.scope
        let record = try session?.resolved(scope)
        let root = scope.service.engine.settings.caches
        if let name, !makes, await !scope.share.caches.exists(name, in: root) {
            return scope.share.caches.empty(name)
        }
        if let name = name ?? record?.settings.cache?.name { await scope.share.caches.prepare(name, in: root) }
        if let name { return scope.staged(scope.share.caches.store(name, maxBytes: nil, in: root), of: nil) }
        if let choice = record?.settings.cache {
            let store = scope.cache(named: choice.name, maxBytes: choice.maxBytes, of: record)
            return scope.staged(store, of: record)
        }
        return (record?.cache ?? scope.cache).store(maxBytes: nil, of: scope.share.user)
    }
}

/// URLs of calls about a cache.
enum CacheURL {
    /// Called after `finish`, so that misspelt names are found first.
    static func required(_ text: String?) throws(JSONComplaint) -> HTTPURL {
        try parse(try JSONFields.need("url", text))
    }

    static func parse(_ text: String) throws(JSONComplaint) -> HTTPURL {
        do throws(HTTPFailure) {
            return try HTTPURL(parsing: text)
        } catch {
            throw JSONComplaint(error.message, at: JSONPointer(member: "url"))
        }
    }

    static var missing: RPCError {
        RPCError(
            .wrongState, "no response without credentials is stored for this URL",
            data: ["pointer": .string("/url"), "state": .string("missing")])
    }
}

/// The params of a method that is about one cache.
struct CacheParams: JSONDecodable {
    var cache: CacheReference

    init(json: JSONValue) throws(JSONComplaint) {
        var fields = try JSONFields(json)
        cache = try CacheReference(&fields)
        try fields.finish()
    }
}
