// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// Changes how much a cache may hold.
struct CacheConfigure: Method {
    static let name = "cache.configure"

    struct Params: JSONDecodable {
        var cache: CacheReference
        var maxBytes: Int?
        var maxEntries: Int?
        var maxEntryBytes: Int?

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            cache = try CacheReference(&fields)
            maxBytes = try fields.integer("maxBytes", in: 65_536...1_099_511_627_776)
            maxEntries = try fields.integer("maxEntries", in: 1...1_000_000)
            maxEntryBytes = try fields.integer("maxEntryBytes", in: 0...16_777_216)
            try fields.finish()
        }
    }

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> CacheStatsShape {
        let store = try await params.cache.resolved(call, makes: true)
        var limits = store.limits
        if let bytes = params.maxBytes { limits.maxBytes = bytes }
        if let entries = params.maxEntries { limits.maxEntries = entries }
        if let bytes = params.maxEntryBytes { limits.maxEntryBytes = bytes }
        store.change(limits)
        return await CacheStatsShape(store)
    }
}
