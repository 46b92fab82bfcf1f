// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Outrider authors

import OutriderEngine
import OutriderJSON
import OutriderRPC

/// Lists the entries of a cache.
struct CacheList: Method {
    static let name = "cache.list"

    struct Params: JSONDecodable {
        var cache: CacheReference
        var prefix: String?
        var tag: String?
        var after: Int
        var limit: Int

        init(json: JSONValue) throws(JSONComplaint) {
            var fields = try JSONFields(json)
            cache = try CacheReference(&fields)
            prefix = try fields.optional("prefix")
            tag = try fields.optional("tag")
            after = try fields.integer("after", in: 0...9_007_199_254_740_992) ?? 0
            limit = try fields.integer("limit", in: 1...1000) ?? 100
            try fields.finish()
        }
    }

    struct Result: ObjectShape {
        var entries: [CacheEntryShape] = []
        /// Where the next call goes on; nil after the last entry.
        var next: Int64?

        func encodeMembers(to writer: inout JSONWriter) {
            writer.member("entries", entries)
            writer.member("next", next)
        }
    }

    /// Rows that are read at once.
    private static let slice = 500

    static func call(_ params: Params, _ call: Call<ClientScope>) async throws -> Result {
        let store = try await params.cache.resolved(call)
        let principal = try params.cache.principal(call, in: store)
        var result = Result()
        var number = Int64(params.after)  // safe: Int is not wider
        while !Task.isCancelled {
            let page = await store.list(after: number, most: slice)
            for one in page.entries {
                if let prefix = params.prefix, !one.entry.url.utf8.starts(with: prefix.utf8) { continue }
                if let tag = params.tag, !one.entry.has(tag) { continue }
                result.entries.append(CacheEntryShape(entry: one.entry, principal: principal))
                guard result.entries.count < params.limit else {
                    result.next = one.number
                    return result
                }
            }
            guard let next = page.next else { break }
            number = next
        }
        return result
    }
}
